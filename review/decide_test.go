package review

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

const (
	arbiterLine = `{"severities":["minor"],"confidence":0.8,"threshold":0.7,"attempts_used":0,"max_fix_attempts":2,"sensitive":false,"fix_path":true,"mode":"autonomous"}`
	promoteLine = `{"pipeline":"completed","reviews":"passed","arbiter_proceeds":0,"fix_attempts":0,"autonomy_enabled":true,"auto_promote_enabled":true,"promote_on_clean":true}`
)

// but is a line with replacements.
func but(line string, oldnew ...string) string { return strings.NewReplacer(oldnew...).Replace(line) }

func TestDecideLine(t *testing.T) {
	tests := []struct{ kind, in, want string }{
		{"arbiter", arbiterLine, `{"verdict":"Proceed","effective_max":2,"reason":"minor_confident"}`},
		{"arbiter", but(arbiterLine, `0.8`, `0.6`), `{"verdict":"Fix","effective_max":2,"reason":"fix_budget"}`},
		{"arbiter", but(arbiterLine, `0.8`, `null`), `{"verdict":"Fix","effective_max":2,"reason":"fix_budget"}`},
		{"arbiter", but(arbiterLine, `["minor"]`, `[]`), `{"verdict":"Proceed","effective_max":2,"reason":"no_findings"}`},
		{"arbiter", but(arbiterLine, `"minor"`, `"critical"`, `"sensitive":false`, `"sensitive":true`), `{"verdict":"Fix","effective_max":4,"reason":"fix_budget"}`},
		{"arbiter", but(arbiterLine, `"minor"`, `"critical"`, `"sensitive":false`, `"sensitive":true,"extra_fix_attempts":1`), `{"verdict":"Fix","effective_max":3,"reason":"fix_budget"}`},
		{"arbiter", but(arbiterLine, `"minor"`, `"critical"`, `"sensitive":false`, `"sensitive":true,"extra_fix_attempts":null`), `{"verdict":"Fix","effective_max":4,"reason":"fix_budget"}`},
		{"arbiter", but(arbiterLine, `"minor"`, `"major"`, `"fix_path":true`, `"fix_path":false`), `{"verdict":"FailPhase","effective_max":2,"reason":"no_fix_path"}`},
		{"arbiter", but(arbiterLine, `"minor"`, `"major"`, `"attempts_used":0`, `"attempts_used":2`), `{"verdict":"FailPhase","effective_max":2,"reason":"attempts_exhausted"}`},
		{"arbiter", but(arbiterLine, `"minor"`, `"major"`, `"attempts_used":0`, `"attempts_used":2`, `autonomous`, `interactive`), `{"verdict":"AskHuman","effective_max":2,"reason":"attempts_exhausted"}`},
		{"arbiter", but(arbiterLine, `["minor"]`, `[]`, `"mode"`, `"unknown":true,"mode"`), `{"verdict":"FailPhase","effective_max":2,"reason":"review_unknown"}`},
		{"arbiter", but(arbiterLine, `["minor"]`, `[]`, `"mode"`, `"unknown":false,"id":7,"name":null,"note":[],"mode"`), `{"verdict":"Proceed","effective_max":2,"reason":"no_findings"}`},
		{"promote", promoteLine, `{"decision":"Done","column_moves":true,"hold_reason":[]}`},
		{"promote", but(promoteLine, `"passed"`, `"none"`, `"arbiter_proceeds":0`, `"arbiter_proceeds":false`), `{"decision":"Done","column_moves":true,"hold_reason":[]}`},
		{"promote", but(promoteLine, `completed`, `failed`), `{"decision":"Failed","column_moves":false,"hold_reason":[]}`},
		{"promote", but(promoteLine, `completed`, `cancelled`, `"passed"`, `"warnings"`), `{"decision":"Failed","column_moves":false,"hold_reason":[]}`},
		{"promote", but(promoteLine, `"fix_attempts":0`, `"fix_attempts":1`), `{"decision":"InReview","column_moves":true,"hold_reason":["fix_attempts"]}`},
		{"promote", but(promoteLine, `"arbiter_proceeds":0`, `"arbiter_proceeds":true`), `{"decision":"InReview","column_moves":true,"hold_reason":["arbiter_proceeded"]}`},
		{"promote", but(promoteLine, `"arbiter_proceeds":0`, `"arbiter_proceeds":["a"]`), `{"decision":"InReview","column_moves":true,"hold_reason":["arbiter_proceeded"]}`},
		{
			"promote", but(promoteLine, `true`, `false`, `passed`, `warnings`, `"arbiter_proceeds":0`, `"arbiter_proceeds":2,"unverified":true`, `"fix_attempts":0`, `"fix_attempts":3`),
			`{"decision":"InReview","column_moves":true,"hold_reason":["autonomy_disabled","auto_promote_disabled","promote_on_clean_disabled","review_warnings","arbiter_proceeded","fix_attempts","unverified"]}`,
		},
		{"sensitive", `{"patterns":["auth-*"],"name":"auth-login"}`, `{"sensitive":true}`},
		{"sensitive", `{"patterns":["auth-*"],"name":"AUTH-login","note":1}`, `{"sensitive":false}`},
		{"sensitive", `{"patterns":[],"name":""}`, `{"sensitive":false}`},
	}
	for _, tt := range tests {
		got, err := DecideLine(tt.kind, []byte(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s %s\n got %s, %v\nwant %s", tt.kind, tt.in, got, err, tt.want)
		}
	}
}

func TestDecideLineRefuses(t *testing.T) {
	tests := []struct{ kind, in, code, says string }{
		{"review", `{}`, "unknown_kind", "arbiter, promote, sensitive"},
		{"arbiter", ``, CodeBadJSON, ""},
		{"arbiter", `[]`, CodeBadJSON, "not a JSON object"},
		{"arbiter", arbiterLine + `{}`, CodeBadJSON, ""},
		{"arbiter", but(arbiterLine, `"mode"`, `"mode":"autonomous","mode"`), CodeBadJSON, "mode is there twice"},
		{"arbiter", but(arbiterLine, `"mode"`, `"x":1,"mode"`), CodeUnknownField, `"x"`},
		{"arbiter", but(arbiterLine, `"severities"`, `"Severities"`), CodeUnknownField, `"Severities"`},
		{"arbiter", but(arbiterLine, `"minor"`, `"Minor"`), CodeBadValue, "severities[0]"},
		{"arbiter", but(arbiterLine, `"minor"`, `"minor",null`), CodeBadValue, "severities[1]"},
		{"arbiter", but(arbiterLine, `["minor"]`, `null`), CodeBadValue, "severities is null"},
		{"arbiter", but(arbiterLine, `"confidence":0.8,`, ``), CodeMissingField, "confidence"},
		{"arbiter", but(arbiterLine, `0.8`, `1.1`), CodeBadValue, "confidence is 1.1"},
		{"arbiter", but(arbiterLine, `0.8`, `"0.8"`), CodeBadValue, "confidence"},
		{"arbiter", but(arbiterLine, `0.7`, `null`), CodeBadValue, "threshold"},
		{"arbiter", but(arbiterLine, `0.7`, `-1`), CodeBadValue, "threshold"},
		{"arbiter", but(arbiterLine, `"attempts_used":0`, `"attempts_used":-1`), CodeBadValue, "attempts_used"},
		{"arbiter", but(arbiterLine, `"max_fix_attempts":2`, `"max_fix_attempts":1.5`), CodeBadValue, "max_fix_attempts"},
		{"arbiter", but(arbiterLine, `"max_fix_attempts":2,`, ``), CodeMissingField, "max_fix_attempts"},
		{"arbiter", but(arbiterLine, `"mode"`, `"extra_fix_attempts":-1,"mode"`), CodeBadValue, "extra_fix_attempts"},
		{"arbiter", but(arbiterLine, `"mode"`, `"unknown":null,"mode"`), CodeBadValue, "unknown is null"},
		{"arbiter", but(arbiterLine, `"fix_path":true`, `"fix_path":null`), CodeBadValue, "fix_path"},
		{"arbiter", but(arbiterLine, `"sensitive":false,`, ``), CodeMissingField, "sensitive"},
		{"arbiter", but(arbiterLine, `autonomous`, `ask`), CodeBadValue, "mode"},
		{"promote", but(promoteLine, `completed`, `Completed`), CodeBadValue, "pipeline"},
		{"promote", but(promoteLine, `"passed"`, `null`), CodeBadValue, "reviews"},
		{"promote", but(promoteLine, `"arbiter_proceeds":0`, `"arbiter_proceeds":-1`), CodeBadValue, "arbiter_proceeds is -1"},
		{"promote", but(promoteLine, `"arbiter_proceeds":0`, `"arbiter_proceeds":null`), CodeBadValue, "arbiter_proceeds"},
		{"promote", but(promoteLine, `"arbiter_proceeds":0,`, ``), CodeMissingField, "arbiter_proceeds"},
		{"promote", but(promoteLine, `"fix_attempts":0`, `"fix_attempts":true`), CodeBadValue, "fix_attempts"},
		{"promote", but(promoteLine, `"autonomy_enabled":true,`, ``), CodeMissingField, "autonomy_enabled"},
		{"promote", but(promoteLine, `"pipeline"`, `"unverified":1,"pipeline"`), CodeBadValue, "unverified"},
		{"sensitive", `{"name":"x"}`, CodeMissingField, "patterns"},
		{"sensitive", `{"patterns":["*"]}`, CodeMissingField, "name"},
		{"sensitive", `{"patterns":["*"],"name":null}`, CodeBadValue, "name"},
		{"sensitive", `{"patterns":["*",1],"name":"x"}`, CodeBadValue, "patterns[1]"},
		{"sensitive", `{"patterns":["*","{a"],"name":"x"}`, CodeBadValue, `read pattern "{a"`},
		{"sensitive", `{"patterns":"*","name":"x"}`, CodeBadValue, "patterns"},
	}
	for _, tt := range tests {
		got, err := DecideLine(tt.kind, []byte(tt.in))
		var refused *ValueError
		if !errors.As(err, &refused) || got != nil {
			t.Errorf("%s %s: %s, %v, want %s", tt.kind, tt.in, got, err, tt.code)
			continue
		}
		if refused.Code != tt.code || !strings.Contains(refused.Message, tt.says) {
			t.Errorf("%s %s: %v, want %s saying %q", tt.kind, tt.in, err, tt.code, tt.says)
		}
	}
}

func FuzzDecideLine(f *testing.F) {
	for i, line := range []string{arbiterLine, promoteLine, `{"patterns":["a*","{b,c}"],"name":"b"}`} {
		f.Add(uint8(i), []byte(line))
		f.Add(uint8(i), []byte(`null`))
	}
	codes := []string{CodeBadJSON, CodeUnknownField, CodeMissingField, CodeBadValue}
	f.Fuzz(func(t *testing.T, which uint8, line []byte) {
		kind := DecideKinds()[int(which)%len(DecideKinds())]
		got, err := DecideLine(kind, line)
		if err != nil {
			var refused *ValueError
			if !errors.As(err, &refused) || !slices.Contains(codes, refused.Code) || refused.Message == "" || got != nil {
				t.Fatalf("refused with %#v beside %q", err, got)
			}
			return
		}
		if !json.Valid(got) || strings.Contains(string(got), "\n") {
			t.Fatalf("the answer is no line of JSON: %q", got)
		}
		if kind == "arbiter" && strings.Contains(string(line), `"critical"`) && strings.Contains(string(got), `"Proceed"`) && !strings.Contains(string(line), "note") {
			var in struct{ Severities []string }
			if json.Unmarshal(line, &in) == nil && slices.Contains(in.Severities, "critical") {
				t.Fatalf("%s answers %s", line, got)
			}
		}
	})
}
