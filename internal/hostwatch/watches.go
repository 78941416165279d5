package hostwatch

import (
	"context"
	"sync"

	"forge/internal/project"
	"forge/internal/refusal"
)

// Watches are the code hosts of the projects that a factory works on.
type Watches struct {
	Hooks *Hooks // their webhooks

	mu   sync.Mutex
	list []*Watch
}

// Join watches the code host of a project that came while the others are watched
// already: look does until its context ends, nil = there is none. Its webhooks are
// taken when the server starts again; until then it is asked now and then.
func (all *Watches) Join(ctx context.Context, p *project.Checkout, results Results) (w *Watch, look func(context.Context), err error) {
	if w, err = Open(ctx, p); w == nil {
		return nil, nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, same := range all.list {
		if same.p.State == p.State && same.At == w.At {
			return nil, nil, refusal.New("start the server again", "another project in the same state folder watches the same repository")
		}
	}
	w.Results = []Results{results}
	all.list = append(all.list, w)
	p.Log.Info("watches the code host", "project", results.Project, "host", w.At.URL, "repository", w.At.Repo, "every", w.Every)
	return w, func(ctx context.Context) { w.Loop(ctx, all.Hooks, func(bool) {}) }, nil
}

// Add watches the code host of a project for its results too; nil = it has none.
// Projects that share a journal and a repository there share a watch.
func (all *Watches) Add(ctx context.Context, p *project.Checkout, results Results) (*Watch, error) {
	w, err := Open(ctx, p)
	if w == nil {
		return nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, same := range all.list {
		if same.p.State == p.State && same.At == w.At { // the same journal, and the same questions
			same.Results = append(same.Results, results)
			return same, nil
		}
	}
	w.Results = []Results{results}
	all.list = append(all.list, w)
	if w.secret != "" {
		all.Hooks.Watches = append(all.Hooks.Watches, w)
	}
	p.Log.Info("watches the code host", "project", results.Project, "host", w.At.URL, "repository", w.At.Repo, "every", w.Every)
	return w, nil
}

// Start takes reviews as answers until the result is called; the factory's own
// loops go on with what they answer. A factory that works until nothing is left
// reads them before it begins.
func (all *Watches) Start(ctx context.Context, once bool) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var loops sync.WaitGroup
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, w := range all.list {
		if once {
			w.patient = true
			_, err := w.read(ctx, "")
			w.noted(err, all.Hooks)
			w.patient = false
		}
		loops.Go(func() { w.Loop(ctx, all.Hooks, func(bool) {}) })
	}
	return func() {
		stop()
		loops.Wait()
	}
}
