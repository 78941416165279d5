package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/internal/token"
)

// insideOf is a server that is called in this process.
func insideOf(t *testing.T, p web.Project, g token.Grant) (*Server, *[]Call) {
	t.Helper()
	g.Name, g.By, g.Project = "editor", "olga", "/a"
	var calls []Call
	s, err := New(Config{
		Project: func(context.Context) (web.Project, error) { return p, nil }, Grant: g, Door: "companion",
		Record: func(c Call) error { calls = append(calls, c); return nil }, Now: clock, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, &calls
}

// Who calls in this process sees what a client of the same grant sees, and is
// refused what that is refused.
func TestCallsInThisProcessAreThoseOfAClient(t *testing.T) {
	t.Parallel()
	for _, g := range []token.Grant{{Tier: token.Read}, {Run: "a-r1", Tier: token.Read}} {
		f, p := newFake(t, "a")
		s, calls := insideOf(t, p, g)
		c := connect(t, p, g)
		made := 0
		for _, one := range tools() {
			for _, run := range []string{"a-r1", "a-r2", "b-r1"} {
				for _, args := range argsOf[one.name](target{"a", run, "1"}) {
					input, err := json.Marshal(args)
					if err != nil {
						t.Fatal(err)
					}
					said, refused := c.ask(one.name, args)
					mine, err := s.Call(t.Context(), one.name, input)
					// Each fence has a word of its own.
					if (err != nil) != (refused != "") || len(mine) != len(said) || one.allows(s.Config) && err != nil && err.Error() != refused {
						t.Errorf("%+v: %s %s: says %q, %v; a client %q, %q", g, one.name, input, mine, err, said, refused)
					}
					if found := leaks(g, "a", mine); len(found) > 0 {
						t.Errorf("%+v: %s %s reaches %s", g, one.name, input, found)
					}
					if one.allows(s.Config) {
						made++
					}
				}
			}
		}
		if len(*calls) != made || (*calls)[0].Door != "companion" {
			t.Errorf("%d of %d calls are recorded", len(*calls), made)
		}
		if len(f.changed) > 0 {
			t.Errorf("changed: %s", f.changed)
		}
	}
}

// A model is told what each tool takes, and a word that it made up is said.
func TestOffers(t *testing.T) {
	t.Parallel()
	_, p := newFake(t, "a")
	s, _ := insideOf(t, p, token.Grant{Run: "a-r1", Tier: token.Read})
	offers, err := s.Offers()
	if err != nil || len(offers) < 10 {
		t.Fatalf("%d offers, %v", len(offers), err)
	}
	for _, o := range offers {
		if o.Name == "tell" || o.Name == "answer" || o.Name == "issue_add" {
			t.Errorf("%s is offered", o.Name)
		}
		if o.Name == "file" && !strings.Contains(string(o.Schema), `"path"`) {
			t.Errorf("file takes %s", o.Schema)
		}
	}
	for input, want := range map[string]string{`{"pat":"a.go"}`: "pat", `{"path":1}`: "path", `{} {}`: "more than one", `{`: "cannot be read"} {
		if _, err := s.Call(t.Context(), "file", json.RawMessage(input)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", input, err)
		}
	}
}
