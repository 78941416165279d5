package site

import (
	"context"
	"io/fs"
	"slices"
	"sync"

	pages "forge/factory/web"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/taught"
	"forge/internal/text"
	"forge/internal/work"
)

// teaching is what runs taught a project, for pages. Its file is read and written by
// one at a time.
type teaching struct {
	p  *project.Checkout
	mu *sync.Mutex
}

func (t teaching) Kept(ctx context.Context) ([]pages.TaughtLesson, error) {
	kept, err := taught.ReadKept(ctx, t.p)
	if err != nil {
		return nil, forPages(err)
	}
	var out []pages.TaughtLesson
	for _, l := range kept.Lessons {
		one := lessonOf(l.Lesson)
		one.Gone, one.IsKept = l.Gone, true
		for _, told := range l.Told {
			one.Told = append(one.Told, told.Run)
		}
		out = append(out, one)
	}
	return out, nil
}

// lessonOf is a lesson as pages show it.
func lessonOf(l work.Lesson) pages.TaughtLesson {
	return pages.TaughtLesson{
		ID: l.ID(), Text: text.OneLine(l.Text, work.MaxLessonBytes), File: text.OneLine(l.File, 200),
		Run: l.Run, Phase: l.Phase, Commit: text.Short(l.Commit), Agent: text.Label(l.Agent), Kept: text.Label(l.Kept),
	}
}

// learned is what a run proposes, by its whole id, "" = the newest; no agent is asked.
func (t teaching) learned(ctx context.Context, run string) (taught.Learned, error) {
	rows, err := t.p.Journal.Runs(ctx)
	switch {
	case err != nil:
		return taught.Learned{}, err
	case len(rows) == 0 && run == "":
		return taught.Learned{}, nil
	case run != "" && !slices.ContainsFunc(rows, func(r journal.RunRow) bool { return r.ID == run }):
		return taught.Learned{}, fs.ErrNotExist
	}
	found, err := taught.Learn(ctx, t.p, taught.Asking{Run: run, Proposed: true})
	return found, forPages(err)
}

func (t teaching) Proposed(ctx context.Context, run string) (pages.ProposedLessons, error) {
	found, err := t.learned(ctx, run)
	if err != nil {
		return pages.ProposedLessons{}, err
	}
	out := pages.ProposedLessons{Run: found.Run, Outside: found.Outside, Lessons: []pages.TaughtLesson{}}
	for _, l := range found.Lessons {
		one := lessonOf(l.Lesson)
		one.IsKept = l.IsKept
		out.Lessons = append(out.Lessons, one)
	}
	return out, nil
}

func (t teaching) Keep(ctx context.Context, run, id, by string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, err := t.learned(ctx, run)
	if err != nil {
		return err
	}
	for _, l := range found.Lessons {
		if l.ID() != id {
			continue
		}
		if l.IsKept {
			return nil // by a second click
		}
		_, err := taught.KeepBy(t.p, by, l.Lesson)
		return forPages(err)
	}
	return pages.NoLesson()
}

func (t teaching) Unlearn(ctx context.Context, id string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept, err := t.Kept(ctx)
	if err != nil {
		return err // one that breaks a rule of the file is removed at a terminal: nobody sees it here
	}
	if !slices.ContainsFunc(kept, func(l pages.TaughtLesson) bool { return l.ID == id }) {
		return pages.NoLesson()
	}
	_, err = taught.Remove(t.p, id)
	return forPages(err)
}
