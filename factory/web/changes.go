package web

import (
	"bytes"
	"container/list"
	"context"
	"sync"
	"unicode/utf8"

	"forge/factory/web/diff"
	"forge/review"
)

const (
	// changesKept bounds the changes and views that are kept, in bytes by
	// estimate. Commits do not change, so that nothing kept is ever wrong.
	changesKept = 64 << 20
	// lineRoom is about what a rendered line takes up.
	lineRoom = 400
)

// changes keeps what was read and rendered of changes. It may be used by many
// at once.
type changes struct {
	mu    sync.Mutex
	size  int
	order *list.List // *kept, the last used first
	byKey map[changeKey]*list.Element
}

// changeKey names a change of a project, or one file's view of it.
type changeKey struct{ project, from, to, path string }

type kept struct {
	key   changeKey
	value any
	size  int
}

func (c *changes) load(key changeKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*kept).value, true
}

func (c *changes) store(key changeKey, value any, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > changesKept/4 {
		return
	}
	if c.byKey == nil {
		c.order, c.byKey = list.New(), map[changeKey]*list.Element{}
	}
	if _, twice := c.byKey[key]; twice {
		return
	}
	c.byKey[key] = c.order.PushFront(&kept{key, value, size})
	for c.size += size; c.size > changesKept; {
		last := c.order.Back()
		k := last.Value.(*kept)
		c.order.Remove(last)
		delete(c.byKey, k.key)
		c.size -= k.size
	}
}

// change is the change between two commits of a project.
func (c *changes) change(ctx context.Context, p Project, from, to string) (review.Change, error) {
	if from == "" || to == "" || from == to {
		return review.Change{}, nil
	}
	key := changeKey{project: p.ID, from: from, to: to}
	if v, ok := c.load(key); ok {
		return v.(review.Change), nil
	}
	got, err := p.Cockpit.Change(ctx, from, to)
	if err != nil {
		return got, err
	}
	size := 1 << 10
	for i := range got.Files {
		size += 200
		for _, h := range got.Files[i].Hunks {
			size += len(h.Body)
		}
	}
	c.store(key, got, size)
	return got, nil
}

// errNoFile: the change has no such file.
var errNoFile = &Complaint{404, "That file is not part of the change.", ""}

// view is one file of a change, ready to be shown.
func (c *changes) view(ctx context.Context, p Project, from, to, path string) (diff.View, error) {
	if path == "" { // the key without a path is the change's
		return diff.View{}, errNoFile
	}
	key := changeKey{p.ID, from, to, path}
	if v, ok := c.load(key); ok {
		return v.(diff.View), nil
	}
	all, err := c.change(ctx, p, from, to)
	if err != nil {
		return diff.View{}, err
	}
	f := fileOf(all, path)
	if f == nil {
		return diff.View{}, errNoFile
	}
	var before, after []byte
	if !f.Binary {
		before, after = contents(ctx, p, f, from, to)
	}
	v := diff.Render(f, before, after)
	size := 1 << 10
	for _, h := range v.Hunks {
		size += len(h.Rows) * lineRoom
	}
	c.store(key, v, size)
	return v, nil
}

// contents are both sides of a file; nil where one cannot be had: lines are
// then shown without colours.
func contents(ctx context.Context, p Project, f *review.File, from, to string) (before, after []byte) {
	old := f.Path
	if f.OldPath != "" {
		old = f.OldPath
	}
	if f.Status != review.Added {
		before = textOf(p.Code.File(ctx, from, old))
	}
	if f.Status != review.Deleted {
		after = textOf(p.Code.File(ctx, to, f.Path))
	}
	return before, after
}

func textOf(data []byte, err error) []byte {
	if err != nil || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return nil
	}
	return data
}

func fileOf(c review.Change, path string) *review.File {
	for i := range c.Files {
		if c.Files[i].Path == path {
			return &c.Files[i]
		}
	}
	return nil
}
