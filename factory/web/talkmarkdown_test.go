package web

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func talkLinks() lineLinks {
	return lineLinks{at: "/p/demo/checkpoints/r.1/blob", exact: true, files: map[string]bool{"main.go": true, "a/b-c.go": true, `x"y.go`: true}}
}

func TestTalkMarkdown(t *testing.T) {
	for _, c := range []struct{ in, want, not string }{
		{"See main.go:12 and `a/b-c.go:3`.", `<a href="/p/demo/checkpoints/r.1/blob?path=main.go#L12">main.go:12</a> and <a href="/p/demo/checkpoints/r.1/blob?path=a%2Fb-c.go#L3"><code>a/b-c.go:3</code></a>.`, ""},
		{"other.go:1 main.go", "<p>other.go:1 main.go</p>", "href"},
		{"a\nmain.go:1\nb", "a\n<a href", ""},
		{"[x](https://evil.example/?q=secret)", "x (https://evil.example/?q=secret)", "href"},
		{"[x](/p/demo/checkpoints/r.1/answer)", "x (/p/demo", "href"},
		{"![x](https://evil.example/p.png)", "(picture: https://evil.example/p.png)", "<img"},
		{"[![a](https://a.example/p.png)](https://b.example)", "https://a.example/p.png", "href"},
		{"<https://evil.example> https://evil.example www.evil.example a@b.example", "https://evil.example", "href"},
		{"[r]: https://evil.example\n\n[r]", "https://evil.example", "href"},
		{"[main.go:3](https://evil.example)", "blob?path=main.go#L3", `href="https`},
		{"<img src=https://evil.example onerror=x> <a href=https://evil.example>x</a>", "&lt;img", "<img"},
		{"<form action=/p/demo><button>Confirm</button></form>", "&lt;form", "<form"},
		{"# One", "<h3>One</h3>", "<h1"},
		{"javascript:1 data:2", "javascript:1", "href"},
	} {
		got := string(talkMarkdown(c.in, talkLinks()))
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%q becomes %q: want %q, not %q", c.in, got, c.want, c.not)
		}
	}
	if got := string(talkMarkdown("main.go:12", lineLinks{})); strings.Contains(got, "href") {
		t.Errorf("without files there is %q", got)
	}
}

// FuzzTalkMarkdown: whatever a model writes, nothing of it is loaded, runs, or leads
// anywhere but to the lines of the files that are shown.
func FuzzTalkMarkdown(f *testing.F) {
	for _, s := range []string{
		"main.go:1 [x](https://e.example) ![y](//e.example/p) <https://e.example>", "[main.go:2]: x\n\n[main.go:2]", "| main.go:3 | <img src=x> |\n|--|--|\n| [a](b) | ![c](d) |",
		"<a href=\"x\">main.go:4</a>\n\n<script>\n", "`main.go:5` **main.go:6**main.go:7main.go:8", "> - [ ] [![a](b)](c) a/b-c.go:9", "\\[x\\](y) &lt;img&gt; main.go:99999999999",
	} {
		f.Add(s)
	}
	own := regexp.MustCompile(`^/p/demo/checkpoints/r\.1/blob\?path=(main\.go|a%2Fb-c\.go)#L[0-9]+$`)
	f.Fuzz(func(t *testing.T, in string) {
		doc, err := html.Parse(strings.NewReader(string(talkMarkdown(in, talkLinks()))))
		if err != nil {
			t.Fatal(err)
		}
		allowed := []string{
			"html", "head", "body", "p", "strong", "em", "del", "code", "pre", "ul", "ol", "li", "blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td", "a", "h3", "h4", "h5", "h6",
		}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if !slices.Contains(allowed, n.Data) {
				t.Errorf("%q makes a <%s>", in, n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case n.Data == "a" && a.Key == "href" && own.MatchString(a.Val):
				case n.Data == "ol" && a.Key == "start", n.Data == "code" && a.Key == "class", a.Key == "align":
				default:
					t.Errorf("%q makes %s=%q on <%s>", in, a.Key, a.Val, n.Data)
				}
			}
		}
	})
}
