package hostwatch

import (
	"context"
	"sync"

	"forge/internal/project"
)

// Watches are the code hosts of the projects that a factory works on. Projects
// come while it runs, too, and are watched from then on.
type Watches struct {
	Hooks *Hooks // their webhooks

	mu   sync.Mutex
	list []*Watch
}

// Add watches the code host of a project for its results too; w is nil where it has
// none. Its webhooks are taken from now on, and look asks it until its context
// ends. look is nil where another project's watch does that: projects that share a
// journal and a repository there share a watch.
func (all *Watches) Add(ctx context.Context, p *project.Checkout, results Results) (w *Watch, look func(context.Context), err error) {
	if w, err = Open(ctx, p); w == nil {
		return nil, nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, same := range all.list {
		if same.p.State == p.State && same.At == w.At { // the same journal, and the same questions
			same.AddResults(results)
			return same, nil, nil
		}
	}

	w.AddResults(results)
	all.list = append(all.list, w)
	all.Hooks.Add(w)
	p.Log.Info("watches the code host", "project", results.Project, "host", w.At.URL, "repository", w.At.Repo, "every", w.Every)
	return w, func(ctx context.Context) { w.Loop(ctx, all.Hooks, func(bool) {}) }, nil
}

// Calls counts the calls by name on all of them since the process began, by their end.
func (all *Watches) Calls() map[string]int {
	all.mu.Lock()
	defer all.mu.Unlock()
	out := map[string]int{}
	for _, w := range all.list {
		for end, n := range w.Calls() {
			out[end] += n
		}
	}
	return out
}

// Read reads once what all of them say, before anything asks them: a factory that
// works until nothing is left begins so.
func (all *Watches) Read(ctx context.Context) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, w := range all.list {
		w.patient = true
		_, err := w.read(ctx, "")
		w.noted(err, all.Hooks)
		w.patient = false
	}
}
