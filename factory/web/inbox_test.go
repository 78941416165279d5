package web_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// changing is a desk where two files are judged.
type changing struct {
	web.Questions
	err error
}

func (c changing) Judged(ctx context.Context, id string) (web.Judged, error) {
	j, err := c.Questions.Judged(ctx, id)
	j.Files = []work.FileChange{{Path: "a.go", Status: "M"}, {Path: "b.go", Status: "A"}}
	return j, errors.Join(err, c.err)
}

// paid are runs that cost 12 cents; one of them is gone.
type paid struct{ runs }

// runs are those of the project; the interface has a method of its own name.
type runs interface{ web.Runs }

func (paid) Run(_ context.Context, id string) (web.Run, error) {
	usd := 0.12
	if id == "gone" {
		return web.Run{}, fs.ErrNotExist
	}
	return web.Run{ID: id, CostUSD: &usd}, nil
}

// A line of the inbox says how much is judged and what it cost, in no word of the
// program's own; what cannot be read is left out, and the line stays.
func TestInboxSaysSizeAndCost(t *testing.T) {
	w := webtest.New(t)
	desk := w.Questions()
	w.Site.Change("demo", func(p *web.Project) { p.Runs, p.Questions = paid{p.Runs}, changing{p.Questions, nil} })
	for _, run := range []string{"i1-261122-kcnw", "gone"} {
		desk.Put(work.Checkpoint{
			ID: run + ".1", Run: run, Kind: "ckpt.phase_transition", Phase: "02", Question: "Merge " + run + "?", Status: work.CheckpointPending, Revision: 1, OpenedAt: time.Now(),
		})
	}
	body := w.Owner().Get("/inbox").Body
	for _, want := range []string{"phase 02 · run i1-261122-kcnw · 2 files changed · $0.12 so far", "Merge gone?", "run gone · 2 files changed ·"} {
		if !strings.Contains(body, want) {
			t.Errorf("the inbox does not say %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "ckpt") {
		t.Errorf("the inbox says a word of the program's own:\n%s", body)
	}

	w.Site.Change("demo", func(p *web.Project) {
		p.Questions = changing{p.Questions.(changing).Questions, errors.New("no repository")}
	})
	if body := w.Owner().Get("/inbox").Body; !strings.Contains(body, "Merge gone?") || strings.Contains(body, "files changed") {
		t.Errorf("the inbox without the repository:\n%s", body)
	}
}
