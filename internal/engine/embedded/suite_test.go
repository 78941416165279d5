package embedded

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/engine/enginetest"
	"forge/orchestrator"
)

// in is an engine in w, with what a test puts in the place of its parts.
func in(w *enginetest.World, marks *atomic.Int64, change ...func(*Engine)) *Engine {
	e := &Engine{
		Journal: w.Journal, Effects: w, Processes: w.Processes, Now: w.Now,
		NewMark: func() string { return fmt.Sprintf("mark-%d", marks.Add(1)) },
	}
	for _, c := range change {
		c(e)
	}
	return e
}

func candidate(change ...func(*Engine)) enginetest.Candidate {
	var marks atomic.Int64
	return enginetest.Candidate{Engine: func(w *enginetest.World) engine.Engine { return in(w, &marks, change...) }}
}

func TestSuite(t *testing.T) {
	for _, l := range enginetest.Laws() {
		t.Run(l.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if err := l.Holds(candidate()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// eager acknowledges an append before it is written.
type eager struct {
	engine.Journal
	held *engine.Batch
}

func (j *eager) Append(ctx context.Context, b engine.Batch) error {
	before := j.held
	if j.held = &b; before == nil {
		return nil
	}
	return j.Journal.Append(ctx, *before)
}

// forgetful notes nothing of what was begun.
type forgetful struct{ engine.Journal }

func (j forgetful) Append(ctx context.Context, b engine.Batch) error {
	b.Began = nil
	return j.Journal.Append(ctx, b)
}

// mute hears no answer while it has something to do.
type mute struct{ engine.Journal }

func (mute) Changed(context.Context) (bool, error) { return false, nil }

// deafening lets no effect hear that it is to end.
type deafening struct{ *enginetest.World }

func (d deafening) Do(ctx context.Context, e orchestrator.Effect, a effect.Attending) orchestrator.Fact {
	return d.World.Do(context.WithoutCancel(ctx), e, a)
}

// careless says of every append that it was written.
type careless struct{ engine.Journal }

func (j careless) Append(ctx context.Context, b engine.Batch) error {
	_ = j.Journal.Append(ctx, b)
	return nil
}

// alone carries out one effect at a time.
type alone struct {
	*enginetest.World
	one chan struct{}
}

func (o alone) Do(ctx context.Context, e orchestrator.Effect, a effect.Attending) orchestrator.Fact {
	o.one <- struct{}{}
	defer func() { <-o.one }()
	return o.World.Do(ctx, e, a)
}

// The suite finds engines that are none.
func TestSuiteFindsBadEngines(t *testing.T) {
	for name, bad := range map[string]struct {
		change func(*Engine)
		law    string
		said   string
	}{
		"acts before it is written":    {func(e *Engine) { e.Journal = &eager{Journal: e.Journal} }, "follows its start", "before its beginning is on record"},
		"forgets what it began":        {func(e *Engine) { e.Journal = forgetful{e.Journal} }, "dies", "beside what a process that died left"},
		"does not say that it failed":  {func(e *Engine) { e.Journal = careless{e.Journal} }, "dies", ""},
		"hears no answer at work":      {func(e *Engine) { e.Journal = mute{e.Journal} }, "heard during", "did not come"},
		"ends nothing":                 {func(e *Engine) { e.Effects = deafening{e.Effects.(*enginetest.World)} }, "a stop ends", "did not come"},
		"takes an urgent message late": {func(e *Engine) { e.Effects = deafening{e.Effects.(*enginetest.World)} }, "urgent", "did not come"},
		"does one thing at a time": {func(e *Engine) {
			e.Effects = alone{World: e.Effects.(*enginetest.World), one: make(chan struct{}, 1)}
		}, "at once", "did not come"},
		"marks all alike": {func(e *Engine) { e.NewMark = func() string { return "mark" } }, "follows its start", "not its own"},
	} {
		t.Run(name, func(t *testing.T) {
			found := false
			for _, l := range enginetest.Laws() {
				if !strings.Contains(l.Name, bad.law) {
					continue
				}
				found = true
				synctest.Test(t, func(t *testing.T) {
					err := l.Holds(candidate(bad.change))
					if err == nil || !strings.Contains(err.Error(), bad.said) {
						t.Errorf("%q holds, or for another reason: %v; want %q", l.Name, err, bad.said)
					}
				})
			}
			if !found {
				t.Fatalf("there is no law with %q", bad.law)
			}
		})
	}
}
