package web

import (
	"bytes"
	"html/template"
	"net/url"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	render "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	texts "forge/internal/text"
)

// mostMarkdown is how much is rendered, in bytes; more is shown as it is.
const mostMarkdown = 512 << 10

// renderer is made once, and may be used by many at once. It writes no tag and
// no attribute but its own ones: what is HTML in a text is shown as text.
var renderer = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.Linkify, extension.Strikethrough, extension.TaskList,
			// A style attribute would be refused by the browser, as the page says.
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
		),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(tame{}, 900), util.Prioritized(lowerHeadings{}, 901))),
		goldmark.WithRendererOptions(render.WithNodeRenderers(util.Prioritized(tagsAsText{}, 100))),
	)
})

// Markdown renders what people and agents wrote. Nothing in it runs, loads or
// posts anything: tags are shown as text, pictures become links, links name no
// page here, and task lists cannot be ticked.
func Markdown(source string) template.HTML {
	if len(source) > mostMarkdown {
		return asIs(source)
	}
	var b bytes.Buffer
	if err := renderer().Convert([]byte(source), &b); err != nil {
		return asIs(source)
	}
	return template.HTML(texts.Harmless(b.String())) //nolint:gosec // FuzzMarkdown holds what can be in it
}

func asIs(source string) template.HTML {
	return template.HTML("<pre>" + texts.Harmless(template.HTMLEscapeString(source)) + "</pre>")
}

// linksIn are the links and pictures of a text, found before any of them is changed.
func linksIn(doc ast.Node) (found []ast.Node) {
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *ast.Image, *ast.Link, *ast.AutoLink:
			if entering {
				found = append(found, n)
			}
		}
		return ast.WalkContinue, nil
	})
	return found
}

// tame makes each picture a link to it, as loading one tells its server who
// looks, and each link that leads nowhere outside the text that it stands on.
type tame struct{}

func (tame) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	for _, n := range linksIn(doc) {
		switch n := n.(type) {
		case *ast.Image:
			link := ast.NewLink()
			link.Destination, link.Title = n.Destination, n.Title
			moveInto(link, n)
			if link.FirstChild() == nil {
				link.AppendChild(link, ast.NewString([]byte("picture")))
			}
			n.Parent().ReplaceChild(n.Parent(), n, link)
			leadOut(link, string(n.Destination))
		case *ast.Link:
			leadOut(n, string(n.Destination))
		case *ast.AutoLink:
			to := string(n.URL(reader.Source()))
			if n.AutoLinkType == ast.AutoLinkEmail {
				to = "mailto:" + to
			}
			if !leadsOut(to) {
				plain := ast.NewString(n.Label(reader.Source()))
				n.Parent().ReplaceChild(n.Parent(), n, plain)
				continue
			}
			n.SetAttributeString("rel", []byte("nofollow noreferrer"))
		}
	}
}

// leadOut keeps a link that leads to another place, without telling that place
// from where; of any other only the words stay.
func leadOut(link *ast.Link, to string) {
	if leadsOut(to) {
		link.SetAttributeString("rel", []byte("nofollow noreferrer"))
		return
	}
	parent := link.Parent()
	for c := link.FirstChild(); c != nil; c = link.FirstChild() {
		parent.InsertBefore(parent, link, c)
	}
	parent.RemoveChild(parent, link)
}

func leadsOut(to string) bool {
	u, err := url.Parse(strings.TrimSpace(to))
	if err != nil {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.Host != ""
	case "mailto":
		return true
	}
	return false
}

func moveInto(to, from ast.Node) {
	for c := from.FirstChild(); c != nil; c = from.FirstChild() {
		to.AppendChild(to, c)
	}
}

// tagsAsText shows what is HTML in a text as it is written there. To leave it
// out would hide it from who has to judge the text.
type tagsAsText struct{}

func (tagsAsText) RegisterFuncs(r render.NodeRendererFuncRegisterer) {
	r.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			lines := node.(*ast.RawHTML).Segments
			writeLines(w, source, lines)
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
		block := node.(*ast.HTMLBlock)
		if entering {
			_, _ = w.WriteString("<pre>")
			writeLines(w, source, block.Lines())
		} else {
			if block.HasClosure() {
				_, _ = w.WriteString(template.HTMLEscapeString(string(block.ClosureLine.Value(source))))
			}
			_, _ = w.WriteString("</pre>\n")
		}
		return ast.WalkContinue, nil
	})
}

func writeLines(w util.BufWriter, source []byte, lines *text.Segments) {
	for i := range lines.Len() {
		at := lines.At(i)
		_, _ = w.WriteString(template.HTMLEscapeString(string(at.Value(source))))
	}
}

// lowerHeadings puts the headings of a text below those of the page: it has one
// first heading of its own, and sections with second ones.
type lowerHeadings struct{}

func (lowerHeadings) Transform(doc *ast.Document, _ text.Reader, _ parser.Context) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		lower(n)
	}
}

func lower(n ast.Node) {
	if h, ok := n.(*ast.Heading); ok {
		h.Level = min(h.Level+2, 6)
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		lower(c)
	}
}
