package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"forge/internal/text/texttest"
)

// places are how words of others come onto a page, and the elements that this
// may make of it; "*" repeats the last one.
var places = []struct {
	name  string
	make  func(string) Markdown
	want  []string
	empty []string // where there is nothing to see in the words
	code  bool
}{
	{"in a line", func(s string) Markdown { return Format("Said: %s.", s) }, []string{"p"}, nil, false},
	{"as a line", func(s string) Markdown { return Format("%s", s) }, []string{"p"}, []string{}, false},
	{"in a heading", func(s string) Markdown { return Format("### %s", s) }, []string{"h3"}, nil, false},
	{"bold and between signs", func(s string) Markdown { return Format("**x** %s _(%s)_", s, s) }, []string{"p", "strong", "em"}, []string{"p", "strong"}, false},
	{"in a list", func(s string) Markdown { return Join("", Item(Format("%s", s)), Item(Format("x %s", Code(s)))) }, nil, nil, true},
	{"in a table", func(s string) Markdown {
		return Format("| a | b |\n|---|---|\n| %s | %s |\n", s, Code(s))
	}, nil, nil, true},
	{"as a quotation", Quote, nil, nil, false},
	{"as code in a line", func(s string) Markdown { return Format("At %s: x", Code(s)) }, []string{"p", "code"}, []string{"p"}, true},
	{"as a block of code", CodeBlock, []string{"pre", "code"}, []string{}, true},
}

// allowed are the elements of the places that are not told one by one.
var allowed = map[string][]string{
	"in a list":      {"ul", "li", "code"},
	"in a table":     {"table", "thead", "tbody", "tr", "th", "td", "code"},
	"as a quotation": {"blockquote", "p"},
}

func inert(t testing.TB, words string) {
	t.Helper()
	blank := PlainLine(words) == ""
	for _, p := range places {
		made := p.make(words)
		source := Join("", Section("Before", Own("a")), Join("", Section("Words", made)), Section("After", Own("b"))).String()
		if !utf8.ValidString(source) || strings.ContainsAny(source, "\r\u2028\u2029\u0085") {
			t.Fatalf("%s: %q", p.name, source)
		}
		for _, r := range source {
			if Invisible(r) && r != '\n' && r != '\t' && string(r) != gap {
				t.Fatalf("%s: %q holds %U", p.name, source, r)
			}
		}
		elements, said := texttest.Shown(t, source)
		head, tail := []string{"h2", "p"}, []string{"h2", "p"}
		if !made.Empty() {
			head = append(head, "h2")
		}
		if len(elements) < len(head)+len(tail) || !slices.Equal(elements[:len(head)], head) || !slices.Equal(elements[len(elements)-2:], tail) {
			t.Fatalf("%s: %q broke the page around it: %q\n%s", p.name, words, elements, source)
		}
		within := elements[len(head) : len(elements)-2]
		want := p.want
		if blank && p.empty != nil {
			want = p.empty
		}
		switch some, listed := allowed[p.name]; {
		case listed && slices.ContainsFunc(within, func(e string) bool { return !slices.Contains(some, e) }), !listed && want != nil && !blank && !slices.Equal(within, want):
			t.Fatalf("%s: %q became %q\n%s", p.name, words, within, source)
		}
		if p.code {
			continue // hosts act on nothing there
		}
		for _, a := range texttest.Acts() {
			if found := a.FindString(said); found != "" {
				t.Fatalf("%s: %q is shown with %q: %q", p.name, words, found, said)
			}
		}
		// It reads the same.
		plain := strings.Join(strings.Fields(strings.ReplaceAll(said, gap, "")), "")
		if as := strings.ReplaceAll(PlainLine(strings.Join(splitLines(words), " ")), " ", ""); !strings.Contains(plain, as) {
			t.Fatalf("%s: %q reads as %q", p.name, words, plain)
		}
	}
	line(t, words)
}

// line holds what stands where nobody knows how it is rendered.
func line(t testing.TB, words string) {
	t.Helper()
	got := Line(words)
	elements, said := texttest.Shown(t, got)
	if got != Titled("%s", words).String() || strings.ContainsAny(got, "\n\r\u2028\u2029<>") || len(elements) > 1 || len(elements) == 1 && elements[0] != "p" {
		t.Fatalf("Line(%q) = %q is shown as %q", words, got, elements)
	}
	for _, a := range texttest.Acts() {
		if found := a.FindString(got + "\n" + said); found != "" && !strings.HasPrefix(found, "&") {
			t.Fatalf("Line(%q) = %q holds %q", words, got, found)
		}
	}
}

func TestWordsOfOthersAreTextOnAPage(t *testing.T) {
	t.Parallel()
	for _, words := range texttest.Pages() {
		inert(t, words)
	}
	// Of several, none makes sense of another's.
	inert(t, strings.Join(texttest.Pages(), "\n"))
	inert(t, strings.Join(texttest.Pages(), " "))
}

func FuzzWordsOfOthers(f *testing.F) {
	for _, words := range texttest.Pages() {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		if len(words) < 2000 {
			inert(t, words)
		}
	})
}

// What a reader sees of it in the source is little: text of people is changed no
// more than it has to be.
func TestPlainTextStaysPlain(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"I wrote the second line in capitals.": "I wrote the second line in capitals.",
		"fixed the parser, closed the file":    "fixed the parser, closed the file",
		"main.go:12 is (not) so; 50 = 50":      "main.go:12 is (not) so; 50 = 50",
		"a\n  b":                               "a b",
		"<b>":                                  "&lt;b&gt;",
	} {
		if got := Inline(words).String(); got != want {
			t.Errorf("Inline(%q) = %q, want %q", words, got, want)
		}
	}
	if got, want := Quote(" why\n\n\n## How to answer\nnot at all\n").String(), "> why\n>\n> \\#\\# How to answer\n> not at all"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := CodeBlock("a\n```\n  b").String(), "````\na\n```\n  b\n````"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
