package local_test

import (
	"context"
	"testing"

	"forge/internal/host"
	"forge/internal/host/hosttest"
	"forge/internal/host/local"
	"forge/internal/text"
	"forge/internal/work"
)

func world(t testing.TB) *hosttest.World {
	store, start := hosttest.NewStore(t)
	h := local.New(local.Config{Store: store, Dir: t.TempDir()})
	if err := h.Push(t.Context(), "main", start, ""); err != nil {
		t.Fatal(err)
	}
	return &hosttest.World{Host: h, Store: store, Base: "main", Start: start}
}

func TestLocal(t *testing.T) { hosttest.Run(t, true, world) }

// Its reviews are the answers of checkpoints.
func TestLocalReviews(t *testing.T) {
	w := world(t)
	dir := t.TempDir()
	var head string
	h := local.New(local.Config{Store: w.Store, Dir: dir, Reviews: func(_ context.Context, marker string) ([]work.PullReview, error) {
		return []work.PullReview{{ID: marker, By: "ann", Verdict: work.PullApproved, Commit: head, MayDecide: true}}, nil
	}})
	head = w.Commit(t, w.Start, "x\n", map[string]string{"b": "b\n"})
	if err := h.Push(t.Context(), "forge/b", head, ""); err != nil {
		t.Fatal(err)
	}
	p, err := h.OpenPull(t.Context(), work.PullProposal{Marker: "run/1", Branch: "forge/b", Base: "main", Title: text.Titled("t")})
	if err != nil {
		t.Fatal(err)
	}
	// Another Forge, after this one died.
	h = local.New(local.Config{Store: w.Store, Dir: dir, Reviews: func(_ context.Context, marker string) ([]work.PullReview, error) {
		return []work.PullReview{{ID: marker, By: "ann", Verdict: work.PullApproved, Commit: head, MayDecide: true}}, nil
	}})
	l, err := h.Look(t.Context(), p.Number)
	if err != nil {
		t.Fatal(err)
	}
	if s := host.Stand(l.Reviews, l.Head); s.Verdict != work.PullApproved || l.Reviews[0].ID != "run/1" || l.Mergeable != work.Mergeable {
		t.Errorf("looked at: %+v", l)
	}
}
