// Package board is the board of a checkout: found in its journal, opened, read.
package board

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"forge/factory"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/work"
)

// Opened is the board of the project around a folder, with its journal open.
type Opened struct {
	*project.Checkout
	factory.Board
	None bool // there is no board yet; only where Open was not to change it
}

// Open opens the board. To change it takes the state folder's key, and
// makes a board where there is none. The caller closes it.
func Open(ctx context.Context, env project.Env, change bool) (*Opened, error) {
	p, err := project.Find(ctx, env)
	if err != nil {
		return nil, err
	}
	b := &Opened{Checkout: p}
	ok, err := p.OpenStore(ctx, change)
	if err == nil && !ok {
		b.None = true
		return b, nil
	}
	if err == nil {
		err = b.find(ctx, change)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return b, nil
}

// find finds the project's board in the journal, which several checkouts may
// share: by its checkout, or the only one whose checkout is not there any more,
// since then the folder was moved.
func (b *Opened) find(ctx context.Context, change bool) error {
	root := b.Base.RepoRoot
	all, err := b.Journal.Projects(ctx)
	if err != nil {
		return err
	}
	b.Board = factory.Board{Store: b.Journal, Now: b.Checkout.Now}
	var lost []work.BoardProject
	var ids []string
	for _, p := range all {
		if p.Root == root {
			b.Project = p.ID
			return nil
		}
		if _, err := os.Stat(p.Root); errors.Is(err, os.ErrNotExist) {
			lost = append(lost, p)
		}
		ids = append(ids, p.ID)
	}
	p := work.BoardProject{ID: newProjectID(root, ids), Root: root, Created: b.Now()}
	if len(lost) == 1 {
		p.ID = lost[0].ID
	} else if !change {
		b.None = true
		return nil
	}
	b.Project = p.ID
	if !change {
		return nil
	}
	return b.Journal.PutProject(ctx, p)
}

// newProjectID is the name of a checkout's folder, made a word of its own.
func newProjectID(root string, taken []string) string {
	id := factory.Slug(filepath.Base(root))
	if id == "" {
		id = "project"
	}
	for n, base := 2, id; slices.Contains(taken, id); n++ {
		id = base + "-" + strconv.Itoa(n)
	}
	return id
}

// Parts are the issues that are part of another. They are younger than that.
func (b *Opened) Parts(ctx context.Context, parent int64) ([]work.Issue, error) {
	var out []work.Issue
	for after := parent; ; {
		page, err := b.Journal.Issues(ctx, work.IssueFilter{Project: b.Project}, journal.MaxIssuePage, strconv.FormatInt(after, 10))
		if err != nil {
			return nil, err
		}
		for _, i := range page {
			if after = i.ID; i.Parent == parent {
				out = append(out, i)
			}
		}
		if len(page) < journal.MaxIssuePage {
			return out, nil
		}
	}
}
