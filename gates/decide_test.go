package gates

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
)

var _ = pace.OnlyBeside("the core begins nothing")

func TestDecideLine(t *testing.T) {
	tests := []struct{ kind, in, want string }{
		{"stale", `{"threshold":3,"mode":"autonomous","iterations":[]}`, `{"decisions":[],"stopped":false,"pivots":0}`},
		{
			"stale", `{"threshold":2,"mode":"autonomous","iterations":[{"changed":false},{"changed":false},{"changed":true},{"changed":false},{"changed":false},{"changed":true}]}`,
			`{"decisions":["continue","pivot","continue","continue","stop"],"stopped":true,"pivots":1}`,
		},
		{
			"stale", `{"threshold":1,"mode":"interactive","iterations":[{"changed":false},{"changed":false},{"changed":true}]}`,
			`{"decisions":["ask","ask","continue"],"stopped":false,"pivots":0}`,
		},
		{
			"stale", `{"threshold":1,"mode":"autonomous","iterations":[{"changed":false,"progress":0.5},{"changed":false,"progress":0.5},{"changed":false,"progress":0},{"changed":true}]}`,
			`{"decisions":["continue","pivot","stop"],"stopped":true,"pivots":1}`,
		},
		{"stale", `{"threshold":1,"mode":"autonomous","iterations":[{"changed":false,"progress":0}]}`, `{"decisions":["pivot"],"stopped":false,"pivots":1}`},
		{"stale", `{"threshold":0,"mode":"autonomous","iterations":[{"changed":false},{"changed":false}]}`, `{"decisions":["continue","continue"],"stopped":false,"pivots":0}`},
		{
			"stale", ` {"id":null,"name":[1],"note":{"x":{}},"threshold":1.0,"mode":"autonomous","iterations":[{"changed":true,"note":"y","id":1,"name":"z","progress":1e2}]} `,
			`{"decisions":["continue"],"stopped":false,"pivots":0}`,
		},
		{"subphase", `{"requested":2,"remaining":2}`, `{"decision":"approve"}`},
		{"subphase", `{"requested":3,"remaining":2}`, `{"decision":"reject"}`},
		{"subphase", `{"requested":0,"remaining":2,"note":"x"}`, `{"decision":"reject"}`},
		{"subphase", `{"requested":-5,"remaining":-5}`, `{"decision":"reject"}`},
		{"signals", `{"text":""}`, `{"promises":[],"progress":[],"blockers":[],"pivots":[],"subphases":[],"request_decomposition":false}`},
		{
			"signals", `{"text":"<promise>A & B</promise> <progress>40</progress>"}`,
			`{"promises":["A & B"],"progress":[40],"blockers":[],"pivots":[],"subphases":[],"request_decomposition":false}`,
		},
	}
	for _, tt := range tests {
		got, err := DecideLine(tt.kind, []byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s %s\n got %s, %v\nwant %s", tt.kind, tt.in, got, err, tt.want)
		}
	}
}

func TestDecideLineRefuses(t *testing.T) {
	stale := func(threshold, mode, iterations string) string {
		return `{"threshold":` + threshold + `,"mode":` + mode + `,"iterations":` + iterations + `}`
	}
	const m = `"autonomous"`
	tests := []struct{ kind, in, code, says string }{
		{"", `{}`, CodeUnknownKind, "signals, stale, subphase"},
		{"subphases", `{}`, CodeUnknownKind, `did you mean "subphase"`},
		{"stale", ``, CodeBadJSON, ""},
		{"stale", `{`, CodeBadJSON, ""},
		{"stale", `[]`, CodeBadJSON, "not a JSON object"},
		{"stale", `null`, CodeBadJSON, "not a JSON object"},
		{"stale", stale("3", m, "[]") + `{}`, CodeBadJSON, ""},
		{"stale", stale("3", m, "[],"), CodeBadJSON, ""},
		{"stale", stale("NaN", m, "[]"), CodeBadJSON, ""},
		{"stale", `{"threshold":3,"threshold":3,"mode":"autonomous","iterations":[]}`, CodeBadJSON, "threshold is there twice"},
		{"subphase", "{\"requested\":1,\"remaining\":1,\"note\":\"\xff\"}", CodeBadJSON, "UTF-8"},
		{"stale", `{"threshold":3,"mode":"autonomous","iterations":[],"treshold":3}`, CodeUnknownField, `did you mean "threshold"`},
		{"stale", `{"Threshold":3,"mode":"autonomous","iterations":[]}`, CodeUnknownField, `"Threshold"`},
		{"stale", stale("3", m, `[{"changed":true,"files":2}]`), CodeUnknownField, "iterations[0].files"},
		{"stale", `{"mode":"autonomous","iterations":[]}`, CodeMissingField, "threshold"},
		{"stale", `{"threshold":3,"iterations":[]}`, CodeMissingField, "mode"},
		{"stale", `{"threshold":3,"mode":"autonomous"}`, CodeMissingField, "iterations"},
		{"stale", stale("3", m, `[{"changed":true},{"progress":1}]`), CodeMissingField, "iterations[1].changed"},
		{"stale", stale("-1", m, "[]"), CodeBadValue, "threshold"},
		{"stale", stale("1.5", m, "[]"), CodeBadValue, "threshold"},
		{"stale", stale(`"3"`, m, "[]"), CodeBadValue, "threshold"},
		{"stale", stale("1e99", m, "[]"), CodeBadValue, "threshold"},
		{"stale", stale("1e999", m, "[]"), CodeBadValue, "threshold"},
		{"stale", stale("null", m, "[]"), CodeBadValue, "threshold is null"},
		{"stale", stale("3", `"Autonomous"`, "[]"), CodeBadValue, "mode"},
		{"stale", stale("3", "null", "[]"), CodeBadValue, "mode is null"},
		{"stale", stale("3", "true", "[]"), CodeBadValue, "mode"},
		{"stale", stale("3", m, "null"), CodeBadValue, "iterations is null"},
		{"stale", stale("3", m, "{}"), CodeBadValue, "iterations"},
		{"stale", stale("3", m, "[null]"), CodeBadValue, "iterations[0] is not an object"},
		{"stale", stale("3", m, `[{"changed":1}]`), CodeBadValue, "iterations[0].changed"},
		{"stale", stale("3", m, `[{"changed":null}]`), CodeBadValue, "iterations[0].changed"},
		{"stale", stale("3", m, `[{"changed":true,"progress":101}]`), CodeBadValue, "iterations[0].progress"},
		{"stale", stale("3", m, `[{"changed":true,"progress":-0.1}]`), CodeBadValue, "iterations[0].progress"},
		{"stale", stale("3", m, `[{"changed":true,"progress":"40"}]`), CodeBadValue, "iterations[0].progress"},
		{"stale", stale("3", m, `[{"changed":true,"progress":null}]`), CodeBadValue, "iterations[0].progress"},
		// Also behind the stop: a line is used whole or not at all.
		{"stale", stale("1", m, `[{"changed":false},{"changed":false},{"changed":"?"}]`), CodeBadValue, "iterations[2].changed"},
		{"subphase", `{"requested":1}`, CodeMissingField, "remaining"},
		{"subphase", `{"remaining":1}`, CodeMissingField, "requested"},
		{"subphase", `{"requested":1,"remaining":null}`, CodeBadValue, "remaining"},
		{"subphase", `{"requested":1.5,"remaining":2}`, CodeBadValue, "requested"},
		{"subphase", `{"requested":true,"remaining":2}`, CodeBadValue, "requested"},
		{"signals", `{}`, CodeMissingField, "text"},
		{"signals", `{"text":null}`, CodeBadValue, "text"},
		{"signals", `{"text":["a"]}`, CodeBadValue, "text"},
	}
	for _, tt := range tests {
		got, err := DecideLine(tt.kind, []byte(tt.in))
		var refused *DecideError
		if !errors.As(err, &refused) || got != nil {
			t.Errorf("%s %s: %s, %v, want %s", tt.kind, tt.in, got, err, tt.code)
			continue
		}
		if refused.Code != tt.code || !strings.Contains(refused.Message, tt.says) {
			t.Errorf("%s %s: %v, want %s saying %q", tt.kind, tt.in, err, tt.code, tt.says)
		}
	}
}

func TestDecideErrorIsTheAnswer(t *testing.T) {
	_, err := DecideLine("subphase", []byte(`{"requested":1}`))
	if line, _ := json.Marshal(err); string(line) != `{"error":"missing_field","message":"remaining is missing"}` {
		t.Errorf("as a line: %s", line)
	}
}

func TestDecideKinds(t *testing.T) {
	for _, kind := range DecideKinds() {
		var refused *DecideError
		if _, err := DecideLine(kind, nil); !errors.As(err, &refused) || refused.Code != CodeBadJSON {
			t.Errorf("%s: %v, want it to be known", kind, err)
		}
	}
	if !slices.IsSorted(DecideKinds()) {
		t.Errorf("kinds %v", DecideKinds())
	}
}

func FuzzDecideLine(f *testing.F) {
	for _, line := range []string{
		`{"threshold":2,"mode":"autonomous","iterations":[{"changed":false},{"changed":true,"progress":40}]}`,
		`{"requested":1,"remaining":2,"note":"x"}`, `{"text":"<promise>done</promise>"}`,
		`{"level":null,"phase_type":"strategic","phase_number":1,"job_complete":false}`, `{"freeze_context":"tactical","decision":"feedback"}`,
		`{"framework":"partial","expert":"debugger","override":null}`, `{"level":"semi_supervised","type":"x","checkpoint_types":["x"]}`,
		`{"preset":"full","override":{"auto_advance":["intent"],"gates":{"final":"human"}},"target":"action","proposal":{"confidence":0.9,"kind":"standard","intrinsic":{"irreversibility":"low"}}}`,
		`{"parent":"guided","child":"<inherit>","child_override":{"budget_usd":1e-3,"contexts":[]}}`,
		`{"chain":["full",{"preset":"guided","on_stale":"ask"}]}`,
		`{"requested":1,"requested":2}`, `{"threshold":1e999}`, "{\"text\":\"\xff\"}", `[]`, `null`, ``,
	} {
		for _, kind := range DecideKinds() {
			f.Add(kind, []byte(line))
		}
	}
	codes := []string{CodeBadJSON, CodeUnknownField, CodeMissingField, CodeBadValue}
	f.Fuzz(func(t *testing.T, kind string, line []byte) {
		got, err := DecideLine(kind, line)
		if !slices.Contains(DecideKinds(), kind) {
			var refused *DecideError
			if !errors.As(err, &refused) || refused.Code != CodeUnknownKind {
				t.Fatalf("kind %q: %v", kind, err)
			}
			return
		}
		if err != nil {
			var refused *DecideError
			if !errors.As(err, &refused) || !slices.Contains(codes, refused.Code) || refused.Message == "" || got != nil {
				t.Fatalf("refused with %#v beside %q", err, got)
			}
			return
		}
		if !json.Valid(got) || strings.Contains(string(got), "\n") {
			t.Fatalf("the answer is no line of JSON: %q", got)
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(line, &fields) != nil {
			t.Fatalf("%q was answered and is no object", line)
		}
		// What is allowed everywhere changes nothing, and nothing else is let in.
		for extra, allowed := range map[string]bool{"note": true, "zz": false} {
			if _, there := fields[extra]; there {
				continue
			}
			fields[extra] = json.RawMessage("null")
			longer, _ := json.Marshal(fields)
			again, err := DecideLine(kind, longer)
			if allowed && (err != nil || string(again) != string(got)) {
				t.Fatalf("with a note %q answers %q, %v; without %q", longer, again, err, got)
			}
			if !allowed && err == nil {
				t.Fatalf("%q was answered", longer)
			}
			delete(fields, extra)
		}
	})
}
