package lookup

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/search"
	"forge/internal/text"
)

// indexFile is where the index is.
func indexFile(p *project.Checkout) string { return filepath.Join(p.State, "search.db") }

// Finder finds in one checkout. Its methods may be called at the same time.
type Finder struct {
	p     *project.Checkout
	index *search.Index

	once sync.Mutex // one gathers at a time
	repo *git.Store

	away    string // why no model is asked any more; "" = nothing speaks against it
	opening sync.Mutex
	opened  *meaning // nil = not yet, or no model is configured
}

// Open opens the index of a checkout. Where its journal is not open, only the files
// are read and found.
func Open(ctx context.Context, p *project.Checkout) (*Finder, error) {
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		return nil, refusal.New("set FORGE_STATE_DIR to a folder that can be written", "make the state folder: %v", err)
	}
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

// meaning is opened when it is first asked for.
func (f *Finder) meaning(ctx context.Context) (*meaning, error) {
	f.opening.Lock()
	defer f.opening.Unlock()
	if f.opened == nil {
		var err error
		if f.opened, err = meaningOf(ctx, f.p); err != nil {
			return nil, err
		}
	}
	return f.opened, nil
}

// Forget takes the index of a checkout away, so that the next one is made anew.
// Vectors stay, since they were paid for, unless nobody can read them.
func Forget(ctx context.Context, p *project.Checkout) error {
	err := search.Remove(indexFile(p))
	if _, missing := os.Stat(vectorFile(p)); err == nil && missing == nil {
		v, broken := search.OpenVectors(ctx, vectorFile(p))
		if broken == nil {
			err = v.Close()
		} else if ctx.Err() == nil {
			err = search.Remove(vectorFile(p))
		}
	}
	if err != nil {
		return refusal.New("make the state folder writable", "remove the search index: %v", err)
	}
	return nil
}

// Close closes the index.
func (f *Finder) Close() {
	if f.opened != nil {
		f.opened.close()
	}
	if err := f.index.Close(); err != nil {
		f.p.Log.Warn("close the search index", "err", err)
	}
}

// Within bounds what is found, whatever is asked; "" = it does not.
type Within struct{ Run, Phase string }

// Find answers a question as people type it: by its words, and by what it means where
// a model is configured for that. A model that cannot be asked is a note.
func (f *Finder) Find(ctx context.Context, said string, within Within, limit int) (found search.Found, err error) {
	q, wrong := search.Parse(said, f.p.Now())
	if len(wrong) > 0 {
		return found, refusal.New(`such as "timeout kind:finding"; kind:, run:, phase:, path:, who:, since:, until: narrow it`, "%s", strings.Join(wrong, "; "))
	}
	if within.Run != "" && q.Run != "" && q.Run != within.Run || within.Phase != "" && q.Phase != "" && q.Phase != within.Phase {
		return found, nil // nothing of what may be found is asked for
	}
	if q.Run != "" && within.Run == "" {
		if f.p.Journal == nil {
			return found, project.NoRuns()
		}
		row, err := f.p.PickRun(ctx, q.Run)
		if err != nil {
			return found, err
		}
		q.Run = row.ID
	}
	q.Run, q.Phase, q.Limit = cmp.Or(within.Run, q.Run), cmp.Or(within.Phase, q.Phase), limit
	near, note := f.near(ctx, q)
	found.Note = note
	found.Hits, err = f.index.AskNear(ctx, q, near, f.file)
	if err != nil && near != nil && ctx.Err() == nil {
		// What is wrong with the vectors is none of the words' business.
		found.Note = wordsAlone(err)
		found.Hits, err = f.index.Ask(ctx, q, f.file)
	}
	return found, err
}

// Asked is a question of a command.
type Asked struct {
	Said    string // "" = nothing is asked, the index is made anew alone
	Limit   int
	Rebuild bool // the index is made anew first
}

// Search reads what is new in the checkout around the working directory, which may
// have no runs yet, and answers.
func Search(ctx context.Context, env project.Env, a Asked) (found search.Found, err error) {
	p, err := project.Find(ctx, env)
	if err != nil {
		return found, err
	}
	defer p.Close()
	if _, err := p.OpenStore(ctx, false); err != nil {
		return found, err
	}
	if a.Rebuild {
		if err := Forget(ctx, p); err != nil {
			return found, err
		}
	}
	f, err := Open(ctx, p)
	if err != nil {
		return found, err
	}
	defer f.Close()
	if _, err := f.Gather(ctx); err != nil {
		return found, err
	}
	f.away = f.beside(ctx, a.Rebuild)
	if text.Blank(a.Said) {
		found.Note = f.away
		return found, ctx.Err()
	}
	return f.Find(ctx, a.Said, Within{}, a.Limit)
}

// beside makes vectors while a command waits, all of them where the index was made
// anew, and says what kept it from that.
func (f *Finder) beside(ctx context.Context, all bool) string {
	if !all {
		return wordsAlone(f.fill(ctx, f.p.Now().Add(besideTime)))
	}
	m, err := f.meaning(ctx)
	if m == nil || err != nil {
		return wordsAlone(err)
	}
	if err := m.vectors.Keep(ctx, f.index); err != nil {
		return wordsAlone(err)
	}
	if err := m.vectors.Renew(ctx, m, m.meter()); err != nil {
		return wordsAlone(err)
	}
	return wordsAlone(f.fill(ctx, time.Time{}))
}

// file is a file as a snapshot holds it.
func (f *Finder) file(ctx context.Context, commit, path string) (string, error) {
	data, err := f.repo.Show(ctx, commit, path)
	return strings.ToValidUTF8(string(data), "�"), err // as it was read for the index
}
