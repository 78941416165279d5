package lookup

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"sync"

	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/search"
)

// indexFile is where the index is.
func indexFile(p *project.Checkout) string { return filepath.Join(p.State, "search.db") }

// Finder finds in one checkout. Its methods may be called at the same time.
type Finder struct {
	p     *project.Checkout
	index *search.Index

	once sync.Mutex // one gathers at a time
	repo *git.Store
}

// Open opens the index of a checkout whose journal is open.
func Open(ctx context.Context, p *project.Checkout) (*Finder, error) {
	repo, err := p.Repo(ctx)
	if err != nil {
		return nil, err
	}
	index, err := search.Open(ctx, indexFile(p))
	if err != nil {
		return nil, refusal.New("forge search --rebuild makes it anew", "%v", err)
	}
	return &Finder{p: p, index: index, repo: repo}, nil
}

// Forget takes the index of a checkout away, so that the next one is made anew.
func Forget(p *project.Checkout) error {
	if err := search.Remove(indexFile(p)); err != nil {
		return refusal.New("make the state folder writable", "remove the search index: %v", err)
	}
	return nil
}

// Close closes the index.
func (f *Finder) Close() {
	if err := f.index.Close(); err != nil {
		f.p.Log.Warn("close the search index", "err", err)
	}
}

// Within bounds what is found, whatever is asked; "" = it does not.
type Within struct{ Run, Phase string }

// Find answers a question as people type it.
func (f *Finder) Find(ctx context.Context, said string, within Within, limit int) ([]search.Hit, error) {
	q, wrong := search.Parse(said, f.p.Now())
	if len(wrong) > 0 {
		return nil, refusal.New(`such as "timeout kind:finding"; kind:, run:, phase:, path:, who:, since:, until: narrow it`, "%s", strings.Join(wrong, "; "))
	}
	if within.Run != "" && q.Run != "" && q.Run != within.Run || within.Phase != "" && q.Phase != "" && q.Phase != within.Phase {
		return nil, nil // nothing of what may be found is asked for
	}
	if q.Run != "" && within.Run == "" {
		row, err := f.p.PickRun(ctx, q.Run)
		if err != nil {
			return nil, err
		}
		q.Run = row.ID
	}
	q.Run, q.Phase, q.Limit = cmp.Or(within.Run, q.Run), cmp.Or(within.Phase, q.Phase), limit
	return f.index.Ask(ctx, q, f.file)
}

// file is a file as a snapshot holds it.
func (f *Finder) file(ctx context.Context, commit, path string) (string, error) {
	data, err := f.repo.Show(ctx, commit, path)
	return string(data), err
}
