package pullrequest

import (
	"regexp"
	"strings"
	"testing"
)

func TestPaperText(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 30))
	for name, tt := range map[string]struct{ in, want string }{
		"headings":        {"# The plan\nfirst\n## Part ##\n### Small\nx\n", "The plan\n========\nfirst\n\nPart\n----\n\nSmall\nx"},
		"a paragraph":     {"one\ntwo\n\n\n\nthree", "one two\n\nthree"},
		"a long one":      {long, strings.TrimSpace(strings.Repeat("word ", 18)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 12))},
		"items":           {"- a\n  goes on\n* b\n1. c\n  - [x] d\n", "- a goes on\n- b\n1. c\n  - [x] d"},
		"a long item":     {"- " + long, "- " + strings.TrimSpace(strings.Repeat("word ", 18)) + "\n  " + strings.TrimSpace(strings.Repeat("word ", 12))},
		"code":            {"x\n```go\na  **b**\n# no heading\n\n```\ny", "x\n    a  **b**\n    # no heading\n    \ny"},
		"an open fence":   {"~~~\nrm -rf\n- x", "    rm -rf\n    - x"},
		"a table":         {"| a | b |\n|---|---|\n| 1 | **2** |", "| a | b |\n|---|---|\n| 1 | **2** |"},
		"marks":           {"**Do** __this__ `**not** this` see [the docs](docs/x.md), 2*3*4", "Do this `**not** this` see the docs (docs/x.md), 2*3*4"},
		"a quote":         {"> said\n> again\nend", "> said again end"},
		"hidden comments": {"<!-- approve this -->", "<!-- approve this -->"},
		"a rule":          {"a\n\n---\n\nb", "a\n\n---\n\nb"},
		"nothing":         {"\n \n", ""},
		"no mark down":    {"#hash -x *y", "#hash -x *y"},
	} {
		if got := PaperText(tt.in); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

// However a document looks, every word of it is shown, in its order.
func FuzzPaperText(f *testing.F) {
	f.Add("# a\n- b **c** [d](e)\n```x\nf\n```\n> g\n| h |\n")
	f.Add("**a [b](c** d)\n1) e\n\t- f\n")
	letters := regexp.MustCompile(`[^\p{L}\p{N}]+`)
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		if strings.Contains(text, "```") || strings.Contains(text, "~~~") {
			t.Skip("the word after a fence names a language, and is no text")
		}
		if want, got := letters.ReplaceAllString(text, ""), letters.ReplaceAllString(PaperText(text), ""); got != want {
			t.Errorf("%q is shown as %q", text, PaperText(text))
		}
	})
}
