package review

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"forge/internal/work"
)

const finding = `{"file":"a","line":1,"end_line":null,"severity":"major","issue":"i","failure":"f","suggestion":"s","repro":null}`

func TestReadAnswer(t *testing.T) {
	a, err := readAnswer([]byte(`{"verdict":"fail","confidence":0.5,"more":1,"findings":[` + finding +
		`,{"file":"b","line":7.0,"end_line":9,"severity":"minor","issue":" x\u202e ","failure":"","suggestion":"","repro":"go test"}],"need":[{"file":"c","from":0,"to":1000}]}`))
	if err != nil || a.verdict != work.VerdictFail || a.confidence == nil || *a.confidence != 0.5 || len(a.findings) != 2 {
		t.Fatalf("%+v, %v", a, err)
	}
	if want := (work.Finding{Severity: work.SeverityMinor, File: "b", Line: 7, EndLine: 9, Issue: "x⟦U+202E⟧", Repro: "go test"}); !same(a.findings[1], want) {
		t.Errorf("%+v", a.findings[1])
	}
	if len(a.need) != 1 || a.need[0] != (span{"c", 1, 200}) {
		t.Errorf("%+v", a.need)
	}
	if a, err := readAnswer([]byte(`{"verdict":"pass","findings":[]}`)); err != nil || a.confidence != nil {
		t.Errorf("%+v, %v", a, err)
	}
}

func same(a, b work.Finding) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func TestReadAnswerRefuses(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(finding, old, new, 1) }
	for _, bad := range []string{
		``, `null`, `[]`, `"pass"`, `{}`, `{"verdict":"pass"}`, `{"findings":[]}`, `{"verdict":"pass","findings":null}`, `{"verdict":"pass","findings":{}}`,
		`{"verdict":"Pass","findings":[]}`, `{"verdict":"unknown","findings":[]}`, `{"verdict":"","findings":[]}`, `{"verdict":null,"findings":[]}`,
		`{"verdict":["pass"],"findings":[]}`, `{"Verdict":"pass","findings":[]}`, `{"verdict":"fail","verdict":"pass","findings":[]}`,
		`{"verdict":"pass","findings":[]} {}`, `{"verdict":"pass","findings":[]`, "{\"verdict\":\"pass\",\"findings\":[],\"x\":\"\xff\"}",
		`{"verdict":"pass","findings":[],"confidence":1.1}`, `{"verdict":"pass","findings":[],"confidence":-0.1}`, `{"verdict":"pass","findings":[],"confidence":"high"}`,
		`{"verdict":"pass","findings":[],"confidence":1e999}`, `{"verdict":"pass","findings":[null]}`, `{"verdict":"pass","findings":[[]]}`,
		`{"verdict":"pass","findings":[],"need":{}}`, `{"verdict":"pass","findings":[],"need":[{"file":"a","from":5,"to":4}]}`, `{"verdict":"pass","findings":[],"need":[{"from":5,"to":6}]}`,
		`{"verdict":"fail","findings":[` + with(`"major"`, `"blocker"`) + `]}`, `{"verdict":"fail","findings":[` + with(`"major"`, `"Major"`) + `]}`,
		`{"verdict":"fail","findings":[` + with(`"major"`, `null`) + `]}`, `{"verdict":"fail","findings":[` + with(`"line":1`, `"line":"1"`) + `]}`,
		`{"verdict":"fail","findings":[` + with(`"line":1`, `"line":1.5`) + `]}`, `{"verdict":"fail","findings":[` + with(`"line":1`, `"line":-1`) + `]}`,
		`{"verdict":"fail","findings":[` + with(`"line":1,`, ``) + `]}`, `{"verdict":"fail","findings":[` + with(`"file":"a"`, `"file":""`) + `]}`,
		`{"verdict":"fail","findings":[` + with(`"issue":"i"`, `"issue":" "`) + `]}`, `{"verdict":"fail","findings":[` + with(`"failure":"f"`, `"failure":{}`) + `]}`,
		`{"verdict":"fail","findings":[` + with(`"line":1`, `"line":1,"line":2`) + `]}`,
		`{"verdict":"fail","findings":[` + strings.Repeat(finding+",", maxFindings) + finding + `]}`,
		`{"verdict":"pass","findings":[],"x":"` + strings.Repeat("x", maxAnswerBytes) + `"}`,
	} {
		if a, err := readAnswer([]byte(bad)); err == nil {
			t.Errorf("%.200s was read as %+v", bad, a)
		}
	}
}

// TestSchemas: an answer with all that a schema requires is read, and the
// schemas say so of themselves: they are JSON, and closed.
func TestSchemas(t *testing.T) {
	for _, raw := range []json.RawMessage{Schema(true), Schema(false), JudgeSchema()} {
		var s struct {
			Required   []string
			Properties map[string]json.RawMessage
			Additional *bool `json:"additionalProperties"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		if s.Additional == nil || *s.Additional || len(s.Required) != len(s.Properties) {
			t.Errorf("not closed: %s", raw)
		}
		for _, name := range s.Required {
			if s.Properties[name] == nil {
				t.Errorf("%s is required and not there", name)
			}
		}
	}
	if strings.Contains(string(Schema(false)), "need") || !strings.Contains(string(Schema(true)), "need") {
		t.Error("need is in the wrong schema")
	}
}

func TestLastObject(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"a":1}`, `{"a":1}`},
		{"Well.\n```json\n{\n  \"a\": {\n    \"b\": \"```\"\n  }\n}\n```\nDone.", "{\n  \"a\": {\n    \"b\": \"```\"\n  }\n}"},
		{"{\"a\":1}\n{\"b\":2}", `{"b":2}`},
		{"{\"a\":1}\nfirst {\"b\":2}", `{"a":1}`},
		{"{ not }\n  {\"a\":1}  trailing", `{"a":1}`},
		{"{\"a\":1", ""}, {"", ""}, {"[1]", ""}, {strings.Repeat("{\n", 1000) + "{}", ""},
	} {
		got, err := LastObject([]byte(tt.in))
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%.60q: %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add([]byte(`{"verdict":"fail","confidence":0.5,"findings":[` + finding + `],"need":[]}`))
	f.Add([]byte("text\n```json\n{\"verdict\":\"pass\",\"confidence\":null,\"findings\":[]}\n```"))
	f.Add([]byte(`{"verdict":"pass","verdict":"fail","findings":[]}`))
	f.Add([]byte(`{"verdict":"Fix","confidence":0.9,"fix_path":true,"reason":"r","instructions":"i"}`))
	c := Change{Files: []File{added("a", "1", "2", "3")}}
	f.Fuzz(func(t *testing.T, text []byte) {
		if o, err := LastObject(text); err == nil && (!json.Valid(o) || o[0] != '{' || !bytes.Contains(text, o)) {
			t.Fatalf("%q is no object of %q", o, text)
		}
		if r, err := readRuling(text); err == nil && Ruling(r.Verdict) != Proceed && Ruling(r.Verdict) != Fix && Ruling(r.Verdict) != FailPhase {
			t.Fatalf("ruling %+v", r)
		}
		a, err := readAnswer(text)
		if err != nil {
			return
		}
		if a.verdict != work.VerdictPass && a.verdict != work.VerdictWarn && a.verdict != work.VerdictFail {
			t.Fatalf("verdict %q", a.verdict)
		}
		placed, dropped := place(c, a.findings, "s")
		if len(placed)+dropped != len(a.findings) {
			t.Fatalf("%d placed, %d dropped of %d", len(placed), dropped, len(a.findings))
		}
		for _, p := range placed {
			if p.File != "a" || p.Line < 1 || p.Line > 3 || p.EndLine > 3 || !p.Severity.Known() || p.Issue == "" {
				t.Fatalf("placed %+v", p)
			}
		}
	})
}
