package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/internal/project"
	"forge/internal/project/projecttest"
	"forge/internal/search"
)

// world is a project whose user names a model of embeddings, and its service.
type world struct {
	*testing.T
	env    project.Env
	server *fakemodel.Server
}

const role = "roles = { embedding = \"vectors\" }\n"

func newWorld(t *testing.T, service fakemodel.Service, more string) *world {
	t.Helper()
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w := &world{T: t, env: projecttest.New(t, "", ""), server: s}
	w.user("[llm]\nbase_url = \"" + s.Service("svc", service) + "\"\n" + more)
	return w
}

// user writes the user's configuration.
func (w *world) user(text string) {
	w.Helper()
	home := w.env.Getenv("HOME")
	w.write(filepath.Join(home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n"+text)
}

func (w *world) write(path, body string) {
	w.Helper()
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) vectors() string { return filepath.Join(w.env.Getenv("FORGE_STATE_DIR"), "vectors.db") }

// ask searches as the command does, and says which files were found.
func (w *world) ask(said string) (paths []string, note string) {
	w.Helper()
	return w.search(Asked{Said: said, Limit: 10})
}

func (w *world) search(a Asked) (paths []string, note string) {
	w.Helper()
	found, err := Search(w.Context(), w.env, a)
	if err != nil {
		w.Fatalf("%+v: %v", a, err)
	}
	for _, h := range found.Hits {
		paths = append(paths, h.Path)
	}
	return paths, found.Note
}

// sent are the texts that the service was given, one after the other.
func (w *world) sent() []string {
	w.Helper()
	var out []string
	for _, r := range w.server.Requests("svc") {
		var ask struct{ Input []string }
		if err := json.Unmarshal(r.Body, &ask); err != nil || r.Path != "/s/svc/v1/embeddings" {
			w.Fatalf("%s: %v", r.Path, err)
		}
		out = append(out, ask.Input...)
	}
	return out
}

func (w *world) is(paths []string, note, wantNote string, want ...string) {
	w.Helper()
	if strings.Join(paths, " ") != strings.Join(want, " ") || (note == "") != (wantNote == "") || !strings.Contains(note, wantNote) {
		w.Errorf("found %q with %q; want %q with %q", paths, note, want, wantNote)
	}
}

// A checkout is searched by words alone, before its first run too, and nothing is
// asked outside where no model is configured for it.
func TestNothingIsAskedWithoutARole(t *testing.T) {
	w := newWorld(t, fakemodel.Service{}, "model = \"chat\"\n")
	paths, note := w.ask("project")
	w.is(paths, note, "", "README.md")
	paths, note = w.ask("projectile")
	w.is(paths, note, "")
	paths, note = w.search(Asked{Rebuild: true})
	w.is(paths, note, "")
	if sent := w.sent(); len(sent) != 0 {
		t.Errorf("asked %q", sent)
	}
	if _, err := os.Stat(w.vectors()); err == nil {
		t.Error("vectors are kept although none are made")
	}
}

// What no word fits is found by its vector; each text is sent once, also where the
// index is made anew, and a question of words as they are is not sent at all.
func TestFoundByMeaning(t *testing.T) {
	w := newWorld(t, fakemodel.Service{}, role)
	paths, note := w.ask("projectile")
	w.is(paths, note, "", "README.md")
	paths, note = w.ask(`"projectile"`)
	w.is(paths, note, "")
	paths, note = w.search(Asked{Said: "projectile", Limit: 10, Rebuild: true})
	w.is(paths, note, "", "README.md")
	if sent := strings.Join(w.sent(), "|"); sent != "a project\n|projectile|word|projectile" {
		t.Errorf("sent %q", sent)
	}
}

// A model that cannot be asked is a line beside what the words find.
func TestModelAway(t *testing.T) {
	for name, tc := range map[string]struct {
		service fakemodel.Service
		more    string
		says    string
	}{
		"no key":       {fakemodel.Service{Key: "secret"}, role, "name the variable of the key"},
		"no model":     {fakemodel.Service{Models: []string{"other"}}, role, "does not exist"},
		"a spent cap":  {fakemodel.Service{}, role + "embedding_day_tokens = 1\n", "llm.embedding_day_tokens"},
		"takes none":   {fakemodel.Service{Turns: []fakemodel.Turn{{Fault: fakemodel.Fault{Status: 400}, Repeat: -1}}}, role, "answers 400"},
		"no vectors":   {fakemodel.Service{Turns: []fakemodel.Turn{{Body: `{"data":[]}`, Repeat: -1}}}, role, "cannot be used"},
		"of no length": {fakemodel.Service{Turns: []fakemodel.Turn{{Body: `{"data":[{"index":0,"embedding":[0,0]}]}`, Repeat: -1}}}, role, "points nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tc.service, tc.more)
			paths, note := w.ask("project")
			w.is(paths, note, tc.says, "README.md")
			if !strings.HasPrefix(note, "Found by words alone: ") || strings.Contains(note, "\n") {
				t.Errorf("said %q", note)
			}
			if n := len(w.server.Requests("svc")); n > 1 {
				t.Errorf("%d requests for one question", n)
			}
		})
	}
}

// A vector of another length under the same name says that the model changed: its
// vectors are made anew.
func TestModelThatChanged(t *testing.T) {
	w := newWorld(t, fakemodel.Service{Dims: 64}, role)
	w.ask("projectile")
	w.server.Service("svc", fakemodel.Service{Dims: 96})
	paths, note := w.ask("projectile")
	w.is(paths, note, "its vectors have 64")
	paths, note = w.search(Asked{Said: "projectile", Limit: 10, Rebuild: true})
	w.is(paths, note, "", "README.md")
	w.user("[llm]\nbase_url = \"" + w.server.URL("svc") + "/v1\"\nroles = { embedding = \"newer\" }\n")
	paths, note = w.ask("projectile")
	w.is(paths, note, "", "README.md")
}

// Only so many numbers of each vector are kept as somebody said; to say otherwise has
// them made anew, as another model does.
func TestVectorsThatAreCut(t *testing.T) {
	w := newWorld(t, fakemodel.Service{Dims: 96}, role)
	w.ask("projectile")
	for _, numbers := range []int{64, 80, 128} {
		w.user(fmt.Sprintf("[llm]\nbase_url = \"%s/v1\"\n%sembedding_numbers = %d\n", w.server.URL("svc"), role, numbers))
		before := len(w.sent())
		paths, note := w.ask("projectile")
		w.is(paths, note, "", "README.md")
		v, err := search.OpenVectors(t.Context(), w.vectors())
		if err != nil {
			t.Fatal(err)
		}
		model, dims, err := v.Of(t.Context())
		if err := errors.Join(err, v.Close()); err != nil {
			t.Fatal(err)
		}
		if dims != min(numbers, 96) || model != fmt.Sprintf("vectors, %d numbers", numbers) || len(w.sent()) < before+2 {
			t.Errorf("%d numbers: %s has %d, and %d texts were sent", numbers, model, dims, len(w.sent())-before)
		}
	}
}

// Vectors that cannot be read are said and left, until the index is made anew.
func TestVectorsThatCannotBeRead(t *testing.T) {
	w := newWorld(t, fakemodel.Service{}, role)
	if err := os.MkdirAll(filepath.Dir(w.vectors()), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write(w.vectors(), "this is no database, and long enough to be seen as one that is not")
	paths, note := w.ask("project")
	w.is(paths, note, "forge search --rebuild", "README.md")
	paths, note = w.search(Asked{Said: "projectile", Limit: 10, Rebuild: true})
	w.is(paths, note, "", "README.md")
}

// A project by itself has nothing sent to a host that the user does not trust.
func TestStrangersCheckout(t *testing.T) {
	w := newWorld(t, fakemodel.Service{}, "")
	w.user("")
	w.write(filepath.Join(w.env.Dir, ".forge/forge.toml"), "[llm]\nbase_url = \"http://models.example.invalid/v1\"\n"+role)
	paths, note := w.ask("project")
	w.is(paths, note, "this project alone names the service at models.example.invalid", "README.md")
}

// Nothing of another project is found, however near it is, though one model made the
// vectors of both.
func TestNothingOfAnotherProject(t *testing.T) {
	w := newWorld(t, fakemodel.Service{}, role)
	other := &world{T: t, env: projecttest.New(t, "", ""), server: w.server}
	other.user("[llm]\nbase_url = \"" + w.server.URL("svc") + "/v1\"\n" + role)
	w.ask("anything")
	for _, said := range []string{"a project", "projectile", "marmalade"} {
		found, err := Search(t.Context(), other.env, Asked{Said: said, Limit: search.MaxHits})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range found.Hits {
			if h.Path != "README.md" || h.Run != "" || h.Commit == "" {
				t.Errorf("%s found %+v", said, h)
			}
		}
		if len(found.Hits) > 1 {
			t.Errorf("%s found %d places in a project of one file", said, len(found.Hits))
		}
	}
}

// At the end of a run what it left has vectors before anybody asks.
func TestAtEnd(t *testing.T) {
	w := newWorld(t, fakemodel.Service{}, role)
	p, err := project.Open(t.Context(), w.env)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.OpenStore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	AtEnd(t.Context(), p)
	if sent := w.sent(); len(sent) != 1 || sent[0] != "a project\n" {
		t.Errorf("sent %q", sent)
	}
	w.user("")
	if p.Config = nil; p.Now().IsZero() {
		t.Fatal(time.Now())
	}
	AtEnd(t.Context(), p)
	if sent := w.sent(); len(sent) != 1 {
		t.Errorf("without a model sent %q", sent)
	}
}
