package lessons

import (
	"slices"
	"testing"

	"forge/internal/text/texttest"
	"forge/internal/work"
)

// What a run said stands in the prompt as data.
func TestTheRecordOfARunIsData(t *testing.T) {
	t.Parallel()
	for _, hostile := range texttest.Prompts() {
		texttest.Fenced(t, Prompt(hostile, []work.Lesson{{Text: hostile}}))
		texttest.Fenced(t, Repair([]string{hostile}))
	}
}

func TestParseReply(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]string{
		`{"lessons": []}`: nil,
		`{"lessons": [{"text": " Run make\n gen. ", "file": "Makefile"}]}`:                                        nil,
		`{"lessons": [{"text": "", "file": "/etc/passwd"}]}`:                                                      {"lesson 1: it has no text"},
		`{"lessons": [{"text": "a", "file": "/etc/passwd"}]}`:                                                     {`lesson 1: "/etc/passwd" is no file of the repository`},
		`{"lessons": [{"text": "a"}, {"text": "b"}, {"text": "c"}, {"text": "d"}, {"text": "e"}, {"text": "f"}]}`: {"6 lessons, at most 5"},
		`{"lessons": []} and more`: {"it is not the JSON object that was asked for: text after the object"},
		`{"keep": true}`:           {`it is not the JSON object that was asked for: json: unknown field "keep"`},
	} {
		if _, got := ParseReply([]byte(body)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	if got, _ := ParseReply([]byte(`{"lessons": [{"text": " Run make\n gen. ", "file": "Makefile"}]}`)); len(got) != 1 || got[0] != (work.Lesson{Text: "Run make gen.", File: "Makefile"}) {
		t.Errorf("read %+v", got)
	}
}

func FuzzParseReply(f *testing.F) {
	f.Add([]byte(`{"lessons": [{"text": "a", "file": "b"}]}`))
	f.Add([]byte(`{"lessons": [{"text": "<!-- a -->"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		found, problems := ParseReply(body)
		if len(problems) > 0 {
			return
		}
		for _, l := range found {
			if err := l.Check(); err != nil || len(found) > MaxLearned {
				t.Fatalf("kept %+v: %v", l, err)
			}
		}
	})
}
