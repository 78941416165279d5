package draft

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	charm "charm.land/log/v2"

	"forge/internal/interview"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
)

// What waits for a person is listed with the command that goes on with it; what an
// agent works on is not, unless its process is gone.
func TestWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := &project.Checkout{Env: project.Env{Now: func() time.Time { return now }, Log: charm.New(io.Discard)}, State: t.TempDir()}
	dead := journal.Self()
	dead.StartTime++ // its number is another process's by now
	for n, d := range []Record{
		{ID: "d-works", State: UnderWay, Owner: journal.Self()},
		{ID: "d-far", State: UnderWay, Owner: journal.Owner{ID: "x", PID: 1, Host: "elsewhere", Boot: "b"}},
		{ID: "d-far-old", State: UnderWay, Owner: journal.Owner{ID: "x", PID: 1, Host: "elsewhere", Boot: "b"}, Began: now.Add(-25 * time.Hour)},
		{ID: "d-dead", State: UnderWay, Owner: dead},
		{ID: "d-before", State: UnderWay},
		{ID: "d-ready", State: Ready, Plan: &work.Plan{}},
		{ID: "d-failed", State: Failed, Problem: "no agent"},
	} {
		d.Text = "Text of " + d.ID
		if d.Began.IsZero() {
			d.Began = now.Add(-time.Duration(100-n) * time.Minute)
		}
		if err := KeepRecord(p.State, d); err != nil {
			t.Fatal(err)
		}
	}
	lay := func(name, body string, age time.Duration) {
		path := filepath.Join(p.State, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	lay("drafts/d-broken.json", "{", 0)
	Keep(p, []byte("{}"))
	lay("drafts/phases.json", "{}", 50*time.Minute)
	interviewed := func(kind interview.Kind, body string, age time.Duration) {
		lay("interviews/"+string(kind)+".json", body, age)
	}
	interviewed(interview.OfSpec, `{"kind":"spec","wish":"w","turns":[{"text":"Which names?","choices":["a","b"]}]}`, time.Minute)
	interviewed(interview.OfDesign, `{"kind":"design","wish":"w","from":"a doc.md","turns":[]}`, 59*time.Minute)

	said := func() string {
		list, err := Waits(p)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, w := range list {
			b.WriteString(strings.Join([]string{w.ID, string(w.State), w.IsFor(), strings.ReplaceAll(w.Way, p.State, "STATE")}, "; ") + "\n")
		}
		return b.String()
	}
	want := `d-far-old; interrupted; Text of d-far-old; forge do --plan drafts another; forge gc --draft d-far-old forgets this one
d-dead; interrupted; Text of d-dead; forge do --plan drafts another; forge gc --draft d-dead forgets this one
d-before; interrupted; Text of d-before; forge do --plan drafts another; forge gc --draft d-before forgets this one
d-ready; ready; Text of d-ready; forge do --draft d-ready begins its run
d-failed; failed; Text of d-failed: no agent; forge do --plan drafts another; forge gc --draft d-failed forgets this one
generated; ready; a plan that forge generate could ask nobody about; mv STATE/drafts/phases.json .forge/phases.json takes it
interview-spec; asks; Which names?; forge interview --answer "…"
d-broken; failed; a draft: its file cannot be read: unexpected end of JSON input; forge do --plan drafts another; forge gc --draft d-broken forgets this one
`
	if got := said(); got != want {
		t.Errorf("what waits:\n%s\nwant\n%s", got, want)
	}

	interviewed(interview.OfSpec, `{"kind":"spec","wish":"w","spec":{}}`, time.Minute)
	interviewed(interview.OfDesign, `{"kind":"design","wish":"w","from":"a doc.md","turns":[]}`, 61*time.Minute)
	got := said()
	for _, want := range []string{"interview-spec; ready; w; forge interview --yes writes its result\n", "interview-design; interrupted; w; forge implement 'a doc.md' goes on with it\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
	interviewed(interview.OfSpec, `{`, time.Minute)
	if got := said(); !strings.Contains(got, "interview-spec; failed; an interview: it cannot be read; forge interview --new begins another one\n") {
		t.Errorf("a broken interview:\n%s", got)
	}

	for id, want := range map[string]string{"d-none": "there is no draft", "d-works": "still under way", "d-failed": "has no plan: no agent", "d-dead": "has no plan: interrupted"} {
		if _, _, err := Begun(p, id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("begin with %s: %v, want %q", id, err, want)
		}
	}
	if plan, words, err := Begun(p, "d-ready"); plan == nil || words != "Text of d-ready" || err != nil {
		t.Errorf("begin with d-ready: %v %q %v", plan, words, err)
	}
	if said, err := Forget(p, "d-failed", true); said != "would remove the draft d-failed: Text of d-failed: no agent" || err != nil {
		t.Errorf("look at what would be forgotten: %q %v", said, err)
	}
	if _, err := Forget(p, "d-works", false); err == nil || !strings.Contains(err.Error(), `no draft "d-works" waits`) {
		t.Errorf("forget what is under way: %v", err)
	}
	for _, id := range []string{"d-ready", "interview-spec", "interview-design", "generated"} {
		if err := Drop(p, id); err != nil {
			t.Errorf("drop %s: %v", id, err)
		}
		if err := Drop(p, id); !errors.Is(err, ErrNone) {
			t.Errorf("drop %s twice: %v", id, err)
		}
		if got := said(); strings.Contains(got, "\n"+id+";") {
			t.Errorf("%s waits still:\n%s", id, got)
		}
	}
	for _, id := range []string{"", "d-", "d-../x", "../d-x", "phases.json"} {
		if err := Drop(p, id); !errors.Is(err, ErrNone) {
			t.Errorf("drop %q: %v", id, err)
		}
	}
}
