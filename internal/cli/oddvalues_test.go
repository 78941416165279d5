package cli

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"forge/factory"
	"forge/factory/web/api"
	"forge/internal/config"
	"forge/internal/pace"
	"forge/internal/work"
)

// oddValues are what no parameter is: some in no case, the others where nothing
// has just that name. Their names are said, since they are no text.
var oddValues = []struct {
	name, value string
	never       bool // refused at any place of an address
	changes     bool // tried at what changes something as well
}{
	{"NUL", "\x00", true, true},
	{"NUL inside", "main\x00.go", true, true},
	{"no UTF-8", "\xff\xfe", false, true},
	{"cut-off UTF-8", "main.go\xc3", false, false},
	{"very long", strings.Repeat("a/b", 4000), true, true},
	{"newline", "\n", false, false},
	{"newline inside", "main.go\nx", false, true},
	{"escape", "\x1b[2J", false, false},
	{"empty", "", false, true},
	{"option", "--help", false, false},
	{"option with a value", "--output=/tmp/forge-odd", false, false},
	{"pathspec", ":(glob)**", false, false},
	{"parent", "../../../../etc/passwd", false, true},
	{"absolute", "/etc/passwd", false, false},
	{"slashes", "//", false, false},
	{"reference", "HEAD:main.go", false, false},
	{"git's folder", ".git/config", false, false},
	{"percent", "%00", false, false},
	{"huge number", "99999999999999999999999999", false, false},
	{"negative number", "-9223372036854775808", false, false},
}

// oddWorld is a server over a real journal and repository in which each
// parameter has a good value.
type oddWorld struct {
	t     *testing.T
	serve func(method, address, kind, body string) *httptest.ResponseRecorder
	good  map[string]string
}

func newOddWorld(t *testing.T) *oddWorld {
	t.Helper()
	w := newWorld(t, writesMain(1, "package main\n"), "true")
	w.configure(scheduled, "true")
	w.plan(phase("01", "first", 3))
	w.forge("run", "--level", "guided").want(exitFrozen)
	s, token := w.opened(config.WebServer{})
	t.Cleanup(func() {
		s.Close()
	})
	p := s.project(t)
	for _, title := range []string{"One", "Two"} {
		if _, err := p.Board.Add(t.Context(), work.Issue{Title: title, Column: work.ColumnBacklog, Priority: work.PriorityNormal}, factory.Place{At: factory.Bottom}, factory.By{Name: "tester"}); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := p.Runs.Runs(t.Context(), 1, "")
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	points, err := p.Questions.Checkpoints(t.Context(), "", work.CheckpointPending, 1, "")
	if err != nil || len(points) != 1 {
		t.Fatal(points, err)
	}
	o := &oddWorld{t: t, good: map[string]string{
		"project": p.ID, "run": runs[0].ID, "checkpoint": points[0].ID, "issue": "1", "id": "1", "path": "main.go", "policy": "review", "parent": "review", "phase": "01", "iteration": "1",
		"comment": "1", "draft": "d-1", "picture": strings.Repeat("a1", 32), "proposal": "1", "schedule": "updates", "lesson": "1a2b3c4d", "revision": "1", "column": "backlog", "word": "pause", "seen": "deleted", "status": "approved", "side": "new", "line": "1", "other": "2", "beside": "2",
		"file": "main.go", "title": "Title", "description": "Do it.", "level": "guided", "version": "1", "what": "edit", "answer": "approved", "verdict": "ok", "topic": p.ID + "/board",
	}}
	o.serve = func(method, address, kind, body string) *httptest.ResponseRecorder {
		t.Helper()
		// By hand: what is odd must reach the server as it is.
		u := &url.URL{Scheme: "http", Host: "127.0.0.1"}
		u.Path, u.RawQuery, _ = strings.Cut(address, "?")
		u.RawPath = u.Path
		if plain, err := url.PathUnescape(u.Path); err == nil {
			u.Path = plain
		}
		r := (&http.Request{Method: method, URL: u, Host: "127.0.0.1", Header: http.Header{}, RequestURI: address, RemoteAddr: "127.0.0.1:1", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Body: http.NoBody}).WithContext(t.Context())
		if body != "" {
			r.Body, r.ContentLength = readCloser{strings.NewReader(body)}, int64(len(body))
			r.Header.Set("Content-Type", kind)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		s.Pages.ServeHTTP(rec, r)
		return rec
	}
	return o
}

// readCloser is a body.
type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// naming are the parameters that name something: nothing has an odd name.
var naming = []string{"project", "run", "checkpoint", "issue", "id", "path", "policy", "parent", "phase", "iteration", "comment", "draft", "schedule", "lesson", "picture"}

// namesNothing says whether a value has to be refused as a parameter.
func namesNothing(name, value string, never bool) bool {
	return never || value != "" && slices.Contains(naming, name)
}

// try holds one request with an odd value: where it must be a refusal it is one,
// and it is never the server's own failure.
func (o *oddWorld) try(what, method, address, kind, body string, never bool) {
	o.t.Helper()
	rec := o.serve(method, address, kind, body)
	status := rec.Code
	if status >= 500 || never && status < 400 {
		o.t.Errorf("%s: %d: %.200s", what, status, strings.TrimSpace(rec.Body.String()))
	}
	// Two slashes are refused before anybody looks whose address it is.
	twice, _ := url.PathUnescape(address)
	if strings.HasPrefix(address, api.Prefix) && status >= 400 && !strings.Contains(twice, "//") {
		var p api.Problem
		if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || p.Code == "" || p.Code == "internal" {
			o.t.Errorf("%s: %d is no problem: %.200s", what, status, rec.Body.String())
		}
	}
}

// parameter is one of an operation's, as the OpenAPI document has it.
type parameter struct {
	Name, In string
	Required bool
	Schema   schema
}

type schema struct {
	Type       any    // a word, or several
	Ref        string `json:"$ref"`
	Items      *schema
	Properties map[string]schema
	Required   []string
	Enum       []any
}

type openAPI struct {
	Paths map[string]map[string]struct {
		OperationID string
		Parameters  []parameter
		RequestBody *struct {
			Content map[string]struct{ Schema schema }
		}
	}
	Components struct{ Schemas map[string]schema }
}

// fill writes a path with its parameters; odd takes the place of one.
func (o *oddWorld) fill(path, name, odd string) string {
	for from := strings.IndexByte(path, '{'); from >= 0; from = strings.IndexByte(path, '{') {
		to := strings.IndexByte(path, '}')
		word := path[from+1 : to]
		value := odd
		if word != name {
			if value = o.good[word]; value == "" {
				o.t.Fatalf("no value of {%s} is known", word)
			}
		}
		path = path[:from] + url.PathEscape(value) + path[to+1:]
	}
	return path
}

// query writes query parameters, of which one is odd.
func (o *oddWorld) query(names []string, name, odd string) string {
	q := url.Values{}
	for _, n := range names {
		q.Set(n, o.good[n])
	}
	if name != "" {
		q.Set(name, odd)
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Every parameter of every operation of the API, in paths and queries, takes odd
// values and refuses them in the API's own words; so does every text of a body.
func TestOddValuesAtTheAPI(t *testing.T) {
	pace.Slow(t, "hundreds of requests")
	pace.Sequential(t, "one request after the other")
	t.Parallel()
	o := newOddWorld(t)
	var doc openAPI
	if err := json.Unmarshal(o.serve("GET", api.Prefix+"/openapi.json", "", "").Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for method, op := range doc.Paths[path] {
			method := strings.ToUpper(method)
			var required []string
			for _, p := range op.Parameters {
				if p.In == "query" && p.Required {
					required = append(required, p.Name)
				}
			}
			var bodySchema schema
			if op.RequestBody != nil {
				bodySchema = op.RequestBody.Content["application/json"].Schema
			}
			sample := doc.sample(o, bodySchema, "")
			body, _ := json.Marshal(sample) // made of maps and texts
			if op.RequestBody == nil {
				body = nil
			}
			for _, odd := range oddValues {
				if method != "GET" && !odd.changes {
					continue // what changes something takes longer
				}
				say := op.OperationID + ", " + odd.name + " as "
				for _, p := range op.Parameters {
					switch {
					case p.In == "path" && odd.value != "" && odd.value != "." && odd.value != "..":
						o.try(say+"{"+p.Name+"}", method, o.fill(path, p.Name, odd.value)+o.query(required, "", ""), "application/json", string(body), namesNothing(p.Name, odd.value, odd.never))
					case p.In == "query" && op.OperationID != "follow-events" || odd.never && p.In == "query":
						o.try(say+p.Name, method, o.fill(path, "", "")+o.query(required, p.Name, odd.value), "application/json", string(body), namesNothing(p.Name, odd.value, odd.never))
					default:
						continue
					}
					tried++
				}
				if op.RequestBody == nil {
					continue
				}
				for where, with := range doc.odd(sample, odd.value, "body") {
					if !json.Valid(with) {
						t.Fatalf("%s%s: %s", say, where, with)
					}
					o.try(say+where, method, o.fill(path, "", "")+o.query(required, "", ""), "application/json", string(with), false)
					tried++
				}
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d requests were made", tried)
	}
}

// sample is a body that a schema takes, with a good value of each property.
func (d *openAPI) sample(o *oddWorld, s schema, name string) any {
	if s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	kind, _ := s.Type.(string)
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		kind, _ = list[0].(string)
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case kind == "object" || len(s.Properties) > 0:
		out := map[string]any{}
		for name, p := range s.Properties {
			if name != "$schema" {
				out[name] = d.sample(o, p, name)
			}
		}
		return out
	case kind == "array" && s.Items != nil:
		return []any{d.sample(o, *s.Items, name)}
	case kind == "integer" || kind == "number":
		return 1
	case kind == "boolean":
		return false
	}
	if v, ok := o.good[name]; ok {
		return v
	}
	return "x"
}

// odd are copies of a sample in each of which one text is odd, by where.
func (d *openAPI) odd(sample any, value, where string) map[string][]byte {
	out := map[string][]byte{}
	var walk func(v any, where string, put func(any) []byte)
	walk = func(v any, where string, put func(any) []byte) {
		switch v := v.(type) {
		case string:
			out[where] = put(value)
		case map[string]any:
			for name, one := range v {
				walk(one, where+"."+name, func(with any) []byte {
					copied := maps.Clone(v)
					copied[name] = with
					return put(copied)
				})
			}
		case []any:
			if len(v) == 1 {
				walk(v[0], where+"[0]", func(with any) []byte { return put([]any{with}) })
			}
		}
	}
	walk(sample, where, func(v any) []byte {
		data, _ := json.Marshal(v) // made of maps and texts
		return data
	})
	return out
}

// Pages take the same values in their addresses and forms, here a quarter of
// them at each; make soak has all.
func TestOddValuesAtThePages(t *testing.T) {
	pace.Slow(t, "hundreds of requests")
	pace.Sequential(t, "one request after the other")
	t.Parallel()
	oddAtThePages(t, 4)
}

// oddAtThePages tries every step-th value at a page, another one first at each.
func oddAtThePages(t *testing.T, step int) {
	o := newOddWorld(t)
	const at = "/p/{project}/checkpoints/{checkpoint}"
	for place, c := range []struct {
		route string
		names []string // of its query, or of its form
	}{
		{"GET /", nil}, {"GET /inbox", nil},
		{"GET /p/{project}", []string{"q", "label", "mid"}},
		{"GET /p/{project}/columns", []string{"q", "label"}},
		{"GET /p/{project}/columns/{column}", []string{"q", "label", "after"}},
		{"GET /p/{project}/floor", nil},
		{"GET /p/{project}/metrics", nil},
		{"GET /p/{project}/issues/new", []string{"title", "column"}},
		{"GET /p/{project}/issues/{id}", nil},
		{"GET /p/{project}/issues/{id}/edit", nil},
		{"GET /p/{project}/issues/{id}/history", []string{"before"}},
		{"GET /p/{project}/runs", []string{"after"}},
		{"GET /p/{project}/runs/{run}", nil},
		{"GET /p/{project}/runs/{run}/now", nil},
		{"GET /p/{project}/runs/{run}/events", []string{"after"}},
		{"GET /p/{project}/runs/{run}/output", []string{"phase", "iteration", "attempt", "live"}},
		{"GET /p/{project}/runs/{run}/pictures/{picture}", nil},
		{"GET /p/{project}/jobs", []string{"after"}},
		{"GET /p/{project}/jobs/{run}", nil},
		{"GET " + at, nil},
		{"GET " + at + "/now", nil},
		{"GET " + at + "/file", []string{"path", "look"}},
		{"GET " + at + "/tree", []string{"find"}},
		{"GET " + at + "/blob", []string{"path", "look", "read"}},
		{"GET " + at + "/edit", []string{"path"}},
		{"GET " + at + "/comment", []string{"path", "side", "line"}},
		{"POST " + at + "/comment", []string{"path", "side", "line", "body", "revision"}},
		{"POST " + at + "/uncomment", []string{"path", "comment", "revision"}},
		{"POST " + at + "/judge", []string{"path", "verdict", "revision"}},
		{"POST " + at + "/edit", []string{"path", "what", "text", "base", "seen", "revision"}},
		{"POST " + at + "/edit/drop", []string{"path", "seen"}},
		{"POST " + at + "/answer", []string{"answer", "level", "comment", "revision"}},
		{"POST /p/{project}/issues", []string{"title", "needs", "column", "level"}},
		{"POST /p/{project}/issues/{id}/edit", []string{"title", "version", "level", "note"}},
		{"POST /p/{project}/issues/{id}/move", []string{"column", "place", "other", "note"}},
		{"POST /p/{project}/issues/{id}/cancel", []string{"note"}},
		{"POST /p/{project}/issues/{id}/retry", []string{"note"}},
		{"POST /p/{project}/floor/{word}", nil},
		{"POST /p/{project}/jobs", []string{"expert", "level", "source"}},
		{"POST /p/{project}/runs/{run}/level", []string{"level"}},
		{"POST /p/{project}/runs/{run}/tell", []string{"phase", "text", "now", "with"}},
		{"GET /live", []string{"since", "topic"}},
		{"GET /sign-in", []string{"link"}},
		{"POST /theme", []string{"theme", "next"}},
	} {
		method, path, _ := strings.Cut(c.route, " ")
		for n, odd := range oddValues {
			if (n+place)%step > 0 || method != "GET" && !odd.changes {
				continue
			}
			say := c.route + ", " + odd.name + " as "
			for rest := path; ; {
				from, to := strings.IndexByte(rest, '{'), strings.IndexByte(rest, '}')
				if from < 0 {
					break
				}
				name := rest[from+1 : to]
				if rest = rest[to+1:]; odd.value != "" && odd.value != "." && odd.value != ".." {
					o.try(say+"{"+name+"}", method, o.fill(path, name, odd.value), "application/x-www-form-urlencoded", "", true)
				}
			}
			for _, name := range c.names {
				if path == "/live" && (name == "since" || !odd.never) {
					continue // it may be a stream, which has no end
				}
				if method == "GET" {
					o.try(say+name, method, o.fill(path, "", "")+o.query(c.names, name, odd.value), "", "", path != "/sign-in" && namesNothing(name, odd.value, odd.never))
				} else {
					form := strings.TrimPrefix(o.query(c.names, name, odd.value), "?")
					o.try(say+name, method, o.fill(path, "", ""), "application/x-www-form-urlencoded", form, false)
				}
			}
		}
	}
}
