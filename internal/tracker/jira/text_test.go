package jira

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDocumentsAreReadAsText(t *testing.T) {
	for doc, want := range map[string]string{
		`null`:    "",
		`"plain"`: "plain",
		`{"type":"doc","version":1,"content":[]}`: "",
		`{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"a"},{"type":"hardBreak"},{"type":"text","text":"b"}]},{"type":"paragraph","content":[{"type":"text","text":"c"}]}]}`:                                                                                     "a\nb\n\nc",
		`{"type":"doc","content":[{"type":"heading","attrs":{"level":2},"content":[{"type":"text","text":"h"}]},{"type":"rule"}]}`:                                                                                                                                                               "## h\n\n---",
		`{"type":"doc","content":[{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"x"}]},{"type":"bulletList","content":[{"type":"listItem","content":[{"type":"paragraph","content":[{"type":"text","text":"y"}]}]}]}]}]}]}`: "- x\n\n  - y",
		`{"type":"doc","content":[{"type":"codeBlock","attrs":{"language":"go"},"content":[{"type":"text","text":"x := 1"}]}]}`:                                                                                                                                                                  "```go\nx := 1\n```",
		`{"type":"doc","content":[{"type":"paragraph","content":[{"type":"mention","attrs":{"text":"@ann"}},{"type":"text","text":" see "},{"type":"inlineCard","attrs":{"url":"https://e.org"}}]}]}`:                                                                                            "@ann see https://e.org",
		`{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"here","marks":[{"type":"link","attrs":{"href":"https://e.org"}}]}]}]}`:                                                                                                                                   "here (https://e.org)",
		`{"type":"doc","content":[{"type":"table","content":[{"type":"tableRow","content":[{"type":"tableCell","content":[{"type":"paragraph","content":[{"type":"text","text":"1"}]}]},{"type":"tableCell","content":[{"type":"paragraph","content":[{"type":"text","text":"2"}]}]}]}]}]}`:      "| 1 | 2 |",
		`{"type":"doc","content":[{"type":"new thing","content":[{"type":"paragraph","content":[{"type":"text","text":"kept"}]}]}]}`:                                                                                                                                                             "kept",
	} {
		var got words
		if err := json.Unmarshal([]byte(doc), &got); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", doc, got, err, want)
		}
	}
}

// FuzzDocument: whatever a document is, it is read or refused, and what Forge writes
// is read as it was written.
func FuzzDocument(f *testing.F) {
	f.Add(`{"type":"doc","content":[{"type":"paragraph","content":[{"type":"text","text":"a"}]}]}`)
	f.Add("two\n\nparts\nand a line")
	f.Fuzz(func(t *testing.T, s string) {
		var got words
		_ = json.Unmarshal([]byte(s), &got) // it is refused or read, and ends
		if !utf8.ValidString(s) || strings.Contains(s, "\n\n\n") {
			return
		}
		data, err := json.Marshal(document(s))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil || string(got) != strings.TrimSpace(s) {
			t.Errorf("%q was written and read as %q, %v", s, got, err)
		}
	})
}

// Nothing of a text ends the block in which it does not act.
func TestABlockIsNotEndedFromInside(t *testing.T) {
	got := block("a {noformat} b {NoFormat:x} !image.png!")
	if strings.Count(strings.ToLower(got), "{noformat") != 2 || !strings.HasPrefix(got, "{noformat}\n") || !strings.HasSuffix(got, "\n{noformat}") {
		t.Errorf("%q", got)
	}
}
