package web

import (
	"bytes"
	"html/template"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	render "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	texts "forge/internal/text"
)

// lineLinks are the files whose lines can be shown, and where.
type lineLinks struct {
	at    string // address that takes the path; "" = nothing is shown
	exact bool   // and the line
	files map[string]bool
}

// to is the address of a line; "" = it is not shown here.
func (l lineLinks) to(path string, line int) string {
	if l.at == "" || !l.files[path] {
		return ""
	}
	out := l.at + "?path=" + url.QueryEscape(path)
	if l.exact && line > 0 {
		out += "#L" + strconv.Itoa(line)
	}
	return out
}

// talkMarkdown renders what a model wrote. As in Markdown nothing of it runs, loads
// or posts; beyond that nothing of it leads anywhere: who follows a link tells its
// server what the model was talked into writing there. The only links are those to
// lines of the work's own files.
func talkMarkdown(source string, links lineLinks) template.HTML {
	if len(source) > mostMarkdown {
		return asIs(source)
	}
	var b bytes.Buffer
	md := goldmark.New(
		goldmark.WithExtensions(extension.Strikethrough, extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(inert{}, 900), util.Prioritized(lowerHeadings{}, 901), util.Prioritized(toLines{links}, 902))),
		goldmark.WithRendererOptions(render.WithNodeRenderers(util.Prioritized(tagsAsText{}, 100))),
	)
	if err := md.Convert([]byte(source), &b); err != nil {
		return asIs(source)
	}
	return template.HTML(texts.Harmless(b.String())) //nolint:gosec // FuzzTalkMarkdown holds what can be in it
}

// inert leaves of links and pictures their words, with the address as text.
type inert struct{}

func (inert) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	for _, n := range linksIn(doc) {
		parent := n.Parent()
		plain := func(words []byte) { parent.InsertBefore(parent, n, ast.NewString(words)) }
		switch n := n.(type) {
		case *ast.AutoLink:
			plain(n.Label(reader.Source()))
		case *ast.Link:
			freed(n)
			plain([]byte(" (" + string(n.Destination) + ")"))
		case *ast.Image:
			freed(n)
			plain([]byte(" (picture: " + string(n.Destination) + ")"))
		}
		parent.RemoveChild(parent, n)
	}
}

// freed puts what stands in a node before it.
func freed(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = n.FirstChild() {
		n.Parent().InsertBefore(n.Parent(), n, c)
	}
}

// toLines makes links of the places in files that a text names and that can be shown.
type toLines struct{ links lineLinks }

// place is a file with a line of it.
func place() *regexp.Regexp {
	return regexp.MustCompile(`[\pL\pN_.@+-]+(?:/[\pL\pN_.@+-]+)*:[0-9]{1,7}`)
}

func (t toLines) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	if t.links.at == "" {
		return
	}
	var found []*ast.Text
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if one, ok := n.(*ast.Text); ok && entering {
			found = append(found, one)
		}
		return ast.WalkContinue, nil
	})
	source, places := reader.Source(), place()
	for _, n := range found {
		start := n.Segment.Start
		if code, ok := n.Parent().(*ast.CodeSpan); ok {
			t.code(code, n, source)
			continue
		}
		for _, m := range places.FindAllIndex(n.Segment.Value(source), -1) {
			from, to := start+m[0], start+m[1]
			address := t.address(string(source[from:to]))
			if address == "" || from < n.Segment.Start {
				continue
			}
			parent := n.Parent()
			if from > n.Segment.Start {
				parent.InsertBefore(parent, n, ast.NewTextSegment(text.NewSegment(n.Segment.Start, from)))
			}
			link := ast.NewLink()
			link.Destination = []byte(address)
			link.AppendChild(link, ast.NewTextSegment(text.NewSegment(from, to)))
			parent.InsertBefore(parent, n, link)
			n.Segment = n.Segment.WithStart(to)
		}
	}
}

// code makes a link of code that is a place and nothing else: code holds only text.
func (t toLines) code(code *ast.CodeSpan, n *ast.Text, source []byte) {
	words := n.Segment.Value(source)
	address := ""
	if m := place().FindIndex(words); m != nil && m[0] == 0 && m[1] == len(words) && code.ChildCount() == 1 {
		address = t.address(string(words))
	}
	if address == "" {
		return
	}
	link := ast.NewLink()
	link.Destination = []byte(address)
	code.Parent().ReplaceChild(code.Parent(), code, link)
	link.AppendChild(link, code)
}

// address is that of a place, "" where it is not shown.
func (t toLines) address(words string) string {
	colon := strings.LastIndexByte(words, ':')
	line, err := strconv.Atoi(words[colon+1:])
	if err != nil || line < 1 {
		return ""
	}
	return t.links.to(words[:colon], line)
}
