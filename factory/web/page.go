package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"path"
	"strings"
)

//go:embed pages
var pageFiles embed.FS

// view is what a page is made from.
type view struct {
	Title    string
	Page     string // name of the template
	Who      Person
	Project  Project
	Projects []Project // for the switch: those that Who may see
	Theme    string    // light, dark; "" = as the system has it
	Token    string    // of the session, for forms and scripts
	Live     string    // address of the stream that the page follows; "" = none
	Path     string    // of the page, to come back to
	Version  string
	Data     any
}

// May is for templates: whether who looks has at least this role in the page's
// project.
func (v view) May(role string) bool {
	least, err := ParseRole(role)
	return err == nil && v.Who.May(v.Project.ID, least)
}

// Area is for the layout: the part of the project to which the page belongs.
func (v view) Area() string {
	path, _, _ := strings.Cut(v.Path, "?")
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 3 || parts[2] == "issues" {
		return "board"
	}
	if parts[2] == "checkpoints" || parts[2] == "drafts" {
		return "runs"
	}
	return parts[2]
}

// parsePages reads every page together with the layout and the shared parts.
func (s *Server) parsePages() (map[string]*template.Template, error) {
	base, err := template.New("").Funcs(s.funcs()).ParseFS(pageFiles, "pages/layout.html", "pages/parts.html")
	if err != nil {
		return nil, err
	}
	entries, err := pageFiles.ReadDir("pages")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		own, err := base.Clone()
		if err != nil {
			return nil, err
		}
		if all[name], err = own.ParseFS(pageFiles, path.Join("pages", e.Name())); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (v *visit) view(title string, data any) view {
	out := view{Title: title, Who: v.Who, Project: v.Project, Theme: theme(v.Request), Path: v.URL.RequestURI(), Version: v.server.Version, Data: data}
	if v.Who.Name == "" {
		return out
	}
	out.Token = v.server.token(v.Who)
	out.Live = v.live()
	// A page without the switch is better than none.
	out.Projects, _ = v.server.visible(v.Context(), v.Who)
	return out
}

// page shows a whole page.
func (v *visit) page(name, title string, data any) error {
	return v.server.write(v, http.StatusOK, name, "layout", v.view(title, data))
}

// part shows a piece of a page by itself; it is given a view, too, without the
// projects.
func (v *visit) part(name, part string, data any) error {
	return v.server.write(v, http.StatusOK, name, part, view{Who: v.Who, Project: v.Project, Token: v.server.token(v.Who), Path: v.URL.RequestURI(), Data: data})
}

// write sends what a template makes of data, or nothing of it.
func (s *Server) write(v *visit, status int, name, part string, data view) error {
	data.Page = name
	var b bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&b, part, data); err != nil {
		s.Log.Error("a page cannot be made", "page", name, "part", part, "err", err)
		http.Error(v.W, "The server could not make this page. Its log says why.", http.StatusInternalServerError)
		return nil
	}
	h := v.W.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	v.W.WriteHeader(status)
	_, _ = v.W.Write(b.Bytes()) // whoever went away does not read it
	return nil
}
