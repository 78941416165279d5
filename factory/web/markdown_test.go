package web

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ in, want, not string }{
		{"**bold** and `code`", "<strong>bold</strong> and <code>code</code>", ""},
		{"- [x] done\n- [ ] open", `type="checkbox"`, "hx-"},
		{"| a |\n|---|\n| b |", "<td>b</td>", ""},
		{"```go\nx := 1\n```", `<code class="language-go">`, ""},
		{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;", "<script"},
		{`<img src=x onerror=alert(1)>`, "&lt;img src=x", "<img"},
		{"<!-- for the agent -->", "&lt;!-- for the agent --&gt;", "<!--"},
		{"a <b>c</b>", "a &lt;b&gt;c&lt;/b&gt;", "<b>"},
		{"[x](https://ok.example)", `<a href="https://ok.example" rel="nofollow noreferrer">x</a>`, ""},
		{"[![a](https://a.example/p.png)](https://b.example)", `href="https://a.example/p.png"`, "<img"},
		{"see https://ok.example or a@b.example", `rel="nofollow noreferrer">https://ok.example</a>`, ""},
		{"<ftp://a.example/x> <javascript:alert(1)>", "ftp://a.example/x", "href"},
		{"| a |\n|:-:|\n| b |", `<td align="center">b</td>`, "style"},
		{"![a picture](https://evil.example/x.png)", `href="https://evil.example/x.png"`, "<img"},
		{"[x](javascript:alert(1))", "x", "javascript"},
		{"[x](data:text/html,x)", "x", "data:"},
		{"[sign out](/sign-out)", "sign out", "href"},
		{"[x](//evil.example)", "x", "evil"},
		{`<div hx-get="/sign-out" hx-trigger="load">x</div>`, "", "<div"},
		{`<form action="/p/demo"><button>x</button></form>`, "", "<form"},
		{`<a id="main" class="skip" style="color:red" href="https://ok.example">x</a>`, "", "<a "},
		{"# <svg onload=alert(1)>", "", "<svg"},
		{"<input type=checkbox> <input type=text name=forge_token>", "", `name="f`},
		{"</main><h1>x", "", "</main>"},
		{"# One\n\nTwo\n===\n", "<h3>One</h3>", "<h1"},
		{"> ## Two", "<h4>Two</h4>", "<h2"},
		{"##### Five", "<h6>Five</h6>", "<h7"},
	} {
		got := string(Markdown(c.in))
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%q becomes %q: want %q, not %q", c.in, got, c.want, c.not)
		}
		if strings.Contains(got, "<input") && !strings.Contains(got, "disabled") {
			t.Errorf("%q can be ticked: %q", c.in, got)
		}
	}
	if got := string(Markdown(strings.Repeat("<b>", mostMarkdown))); strings.Contains(got, "<b>") {
		t.Error("a long text is not escaped")
	}
}

// FuzzMarkdown: whatever is written, a page holds nothing but these tags with
// these attributes, and no link but to http, https and mail addresses.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{
		"**a** _b_ ~~c~~ `d`\n\n> q\n\n1. x\n2. y\n\n- [x] z", "| a | b |\n|:--|--:|\n| 1 | 2 |", "[x](javascript:a) ![y](data:b) <https://c.example>",
		"<script>x</script>\n\n<div onclick=x>\n\n<!--", "```go onload=x\n</code><script>\n```", "[a]: //evil.example\n\n[a] [b](\tjava\nscript:x)", "# a {#id onclick=x}",
		"[a](https://x\"onmouseover=y) <a@b.example>", "&lt;script&gt; &#60;b&#62; \\<b>", "www.evil.example http://a.example/?<script>",
	} {
		f.Add(s)
	}
	allowed := map[string]string{
		"p": "", "br": "", "hr": "", "h1": "", "h2": "", "h3": "", "h4": "", "h5": "", "h6": "", "strong": "", "em": "", "del": "", "code": "class", "pre": "",
		"blockquote": "", "ul": "", "ol": "start", "li": "", "table": "", "thead": "", "tbody": "", "tr": "", "th": "align", "td": "align",
		"a": "href title rel", "input": "type disabled checked",
	}
	f.Fuzz(func(t *testing.T, source string) {
		z := html.NewTokenizer(strings.NewReader(string(Markdown(source))))
		for {
			switch z.Next() {
			case html.ErrorToken:
				return
			case html.CommentToken, html.DoctypeToken:
				t.Fatalf("%q becomes %q", source, z.Raw())
			case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
				at := z.Token()
				attributes, ok := allowed[at.Data]
				for _, a := range at.Attr {
					if !slices.Contains(strings.Fields(attributes), a.Key) {
						ok = false
					}
					if a.Key == "href" && !strings.HasPrefix(strings.ToLower(a.Val), "http://") && !strings.HasPrefix(strings.ToLower(a.Val), "https://") && !strings.HasPrefix(strings.ToLower(a.Val), "mailto:") {
						ok = false
					}
					if a.Key == "class" && !strings.HasPrefix(a.Val, "language-") {
						ok = false
					}
				}
				if !ok {
					t.Fatalf("%q has %s", source, at)
				}
			}
		}
	})
}
