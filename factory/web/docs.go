package web

import (
	"bytes"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	render "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"forge/docs"
	texts "forge/internal/text"
)

func (s *Server) docsRoutes() {
	s.mux.Handle("GET /docs", s.need(RoleViewer, s.docsPage))
	s.mux.Handle("GET /docs/{page}", s.need(RoleViewer, s.docsPage))
}

// manual is a page of the documentation.
type manual struct {
	Index bool // it is the one that leads to the others
	Title string
	HTML  template.HTML
}

// docsPage shows a page of the documentation that is in the program.
func (s *Server) docsPage(v *visit) error {
	name := v.PathValue("page")
	if name == "" {
		name = docs.Index
	}
	source, ok := docs.Page(name)
	if !ok {
		return &Complaint{http.StatusNotFound, "There is no such page.", "The list of all pages is at /docs."}
	}
	// The first heading is the page's own.
	title := docs.Title(source)
	_, source, _ = strings.Cut(source, "\n")
	html, err := docsHTML(source)
	if err != nil {
		return err
	}
	return v.page("docs", title, manual{Index: name == docs.Index, Title: title, HTML: html})
}

// docsRenderer is as renderer, but the pages are this program's own: they link
// to each other, and to their headings.
var docsRenderer = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(docsLinks{}, 900))),
		goldmark.WithRendererOptions(render.WithNodeRenderers(util.Prioritized(tagsAsText{}, 100))),
	)
})

func docsHTML(source string) (template.HTML, error) {
	var b bytes.Buffer
	if err := docsRenderer().Convert([]byte(source), &b); err != nil {
		return "", err
	}
	return template.HTML(texts.Harmless(b.String())), nil //nolint:gosec // the program's own pages; tags are shown as text
}

// docsLinks names headings, makes links between files links between pages, and
// leaves out comments. What a link leads to that is not in the program stays as
// words.
type docsLinks struct{}

func (docsLinks) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var found []*ast.Link
	var comments []ast.Node
	names := docs.Anchors{}
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				found = append(found, n)
			}
		case *ast.HTMLBlock:
			if entering && n.HTMLBlockType == ast.HTMLBlockType2 {
				comments = append(comments, n)
			}
		case *ast.Heading:
			if entering {
				n.SetAttributeString("id", []byte(names.Of(string(n.Lines().Value(reader.Source())))))
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range comments {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	for _, link := range found {
		to, ok := docsAddress(string(link.Destination))
		if !ok {
			leadOut(link, string(link.Destination))
			continue
		}
		link.Destination = []byte(to)
	}
}

// docsAddress is where a link between the files of docs leads here. false: to
// none of them.
func docsAddress(link string) (address string, ok bool) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return "", false
	}
	anchor := ""
	if u.Fragment != "" {
		anchor = "#" + u.Fragment
	}
	if u.Path == "" {
		return anchor, anchor != ""
	}
	name, isPage := strings.CutSuffix(path.Clean(u.Path), ".md")
	if _, there := docs.Page(name); !isPage || !there {
		return "", false
	}
	if name == docs.Index {
		return "/docs" + anchor, true
	}
	return "/docs/" + name + anchor, true
}
