package texttest

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	page "golang.org/x/net/html"
)

// renderer is Markdown as hosts have it, with raw HTML let through.
var renderer = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList),
		goldmark.WithRendererOptions(html.WithUnsafe()),
	)
})

// Shown is a page as a browser has it: its elements, in order, and what is said
// outside of code. There must be no attribute and no comment.
func Shown(t testing.TB, source string) (elements []string, said string) {
	t.Helper()
	var out bytes.Buffer
	if err := renderer().Convert([]byte(source), &out); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	code := 0
	for z := page.NewTokenizer(&out); ; {
		switch kind := z.Next(); kind {
		case page.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				t.Fatal(z.Err())
			}
			return elements, text.String()
		case page.TextToken:
			if raw := string(z.Raw()); code == 0 {
				text.WriteString(page.UnescapeString(raw))
			}
		case page.StartTagToken, page.SelfClosingTagToken:
			tag := z.Token()
			elements = append(elements, tag.Data)
			if len(tag.Attr) > 0 && !ofABlock(tag) {
				t.Fatalf("%s has attributes, %v:\n%s", tag.Data, tag.Attr, source)
			}
			if tag.Data == "code" {
				code++
			}
		case page.EndTagToken:
			if z.Token().Data == "code" {
				code--
			}
		case page.CommentToken, page.DoctypeToken:
			t.Fatalf("there is a %v:\n%s", kind, source)
		}
	}
}

// Acts is what hosts act on in text that is no markup, written from what they
// document.
func Acts() []*regexp.Regexp { return acts() }

var acts = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`@[\pL\pN_]`),
		regexp.MustCompile(`[#!&%~^][\pL\pN_]`),
		regexp.MustCompile(`(?i)\b(gh|proj)-\d`),
		regexp.MustCompile(`(?i)://`),
		regexp.MustCompile(`(?i)\bwww\.`),
		regexp.MustCompile(`(?i)[0-9a-f]{7}`),
		regexp.MustCompile(`:[\w+-]+:`),
		regexp.MustCompile(`(?i)\b(close[sd]?|fix(es|ed)?|resolve[sd]?):? +[\w./-]*#`),
	}
})

// Nothing says that a page holds no element but these, and nothing that a host
// acts on.
func Nothing(t testing.TB, source string, but ...string) {
	t.Helper()
	elements, said := Shown(t, source)
	for _, e := range elements {
		if !slices.Contains(but, e) {
			t.Fatalf("there is a %s:\n%s", e, source)
		}
	}
	for _, a := range Acts() {
		if found := a.FindString(said); found != "" {
			t.Fatalf("%q is shown in\n%s", found, said)
		}
	}
}

// ofABlock says that an element is the code of a suggestion or of a diff, which the
// program itself calls so.
func ofABlock(tag page.Token) bool {
	return tag.Data == "code" && len(tag.Attr) == 1 && tag.Attr[0].Key == "class" && (tag.Attr[0].Val == "language-suggestion" || tag.Attr[0].Val == "language-diff")
}
