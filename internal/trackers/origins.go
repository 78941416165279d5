package trackers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"forge/factory"
	"forge/factory/tracker"
	"forge/internal/board"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// Origins asks the trackers that the issues of a board came from.
type Origins struct {
	env      project.Env
	store    *journal.Store
	project  string
	trackers []*followed
}

// NewOrigins know where the issues of a board come from, and no tracker to ask.
func NewOrigins(b *board.Opened) Origins {
	return Origins{env: b.Env, store: b.Journal, project: b.Project}
}

// ofTracker is the issue of the board that came from a tracker, and that i is or
// is a part of; ok is false where there is none.
func (o Origins) ofTracker(ctx context.Context, i work.Issue) (from work.Issue, ok bool, err error) {
	for i.Source == "" {
		if i.Parent == 0 {
			return i, false, nil
		}
		up := i.Parent
		if i, err = o.store.Issue(ctx, o.project, up); err != nil {
			return i, false, fmt.Errorf("find out where the issue comes from: %w", err)
		}
		if i.Parent >= up && i.Source == "" {
			return i, false, fmt.Errorf("issue %d is a part of issue %d, which is younger", up, i.Parent)
		}
	}
	return i, true, nil
}

// From is the tracker of the issue that an issue is or is a part of. A file has
// nobody to ask: what came from one is wanted when a person moves it to ready.
func (o Origins) From(ctx context.Context, i work.Issue) (string, error) {
	from, ok, err := o.ofTracker(ctx, i)
	if err != nil || !ok || from.Imported() {
		return "", err
	}
	name, _, _ := strings.Cut(from.Source, "#")
	return name, nil
}

// Ask asks the tracker about that issue. What follows for it is on the board
// when Ask returns.
func (o Origins) Ask(ctx context.Context, i work.Issue) factory.Asked {
	unknown := func(until time.Time, format string, args ...any) factory.Asked {
		return factory.Asked{Says: factory.WantedUnknown, Why: fmt.Sprintf(format, args...), Until: until}
	}
	from, ok, err := o.ofTracker(ctx, i)
	if err != nil || !ok {
		return unknown(time.Time{}, "nobody can say which tracker it comes from")
	}
	row, ok, err := o.store.TrackerIssueOf(ctx, o.project, from.ID)
	if err != nil || !ok {
		return unknown(time.Time{}, "nobody can say which issue of a tracker %s is", from.Source)
	}
	for _, one := range o.trackers {
		if one.sync.Host.Name() != row.Tracker {
			continue
		}
		wanted, why, until, err := one.ask(ctx, o.env.Now, row)
		switch {
		case err != nil:
			return unknown(until, "%s cannot be asked whether it is still wanted (%s); it is tried again", from.Source, troubleWord(err))
		case !wanted && why != "":
			return factory.Asked{Says: factory.WantedNo, Why: why}
		case wanted:
			return factory.Asked{Says: factory.WantedYes}
		}
	}
	return unknown(time.Time{}, "its tracker %s is not among [trackers] of the user who serves this board: name it there", row.Tracker)
}

// Estimate says on its tracker what an issue may take: in one comment, which a newer
// estimate replaces. An issue of no tracker has nowhere to say it.
func (o Origins) Estimate(ctx context.Context, i work.Issue, words text.Markdown) error {
	row, ok, err := o.store.TrackerIssueOf(ctx, o.project, i.ID)
	if err != nil || !ok || i.Imported() {
		return err
	}
	for _, one := range o.trackers {
		if one.sync.Host.Name() == row.Tracker {
			return one.sync.Estimate(ctx, row, words)
		}
	}
	return fmt.Errorf("nobody here can tell the tracker %s", row.Tracker)
}

// troubleWord is why a host could not be asked, in a word that stays the same while
// the cause does: a card is not changed for each try.
func troubleWord(err error) string {
	if kind := work.HostKindOf(err); kind != "" {
		return string(kind)
	}
	return "it does not answer"
}

// askPause is how long a tracker, or one issue of it, that could not be asked
// about is left alone at first; twice as long each time.
const askPause = 5 * time.Second

// pauses bound how often a tracker is asked that does not answer. They decide
// nothing: who is not asked gives the last error again.
type pauses struct {
	mu  sync.Mutex
	all pause
	one map[int64]pause // by the issue's number on the tracker
}

type pause struct {
	failures int
	since    time.Time // the last failure that counted
	until    time.Time
	err      error
}

// failed is the pause after one more failure. Questions that were under way together
// fail together, which counts once.
func (p pause) failed(began, now time.Time, err error) pause {
	if p.failures > 0 && !began.After(p.since) {
		return p
	}
	p.failures, p.since, p.err = p.failures+1, now, err
	p.until = now.Add(tracker.Wait(askPause, p.failures-1, err))
	return p
}

// ask asks about one issue, unless it was asked in vain a moment ago.
func (t *followed) ask(ctx context.Context, clock func() time.Time, row work.TrackerIssue) (wanted bool, why string, until time.Time, err error) {
	t.pauses.mu.Lock()
	for _, p := range []pause{t.pauses.all, t.pauses.one[row.Remote]} {
		if p.err != nil && clock().Before(p.until) {
			t.pauses.mu.Unlock()
			return false, "", p.until, p.err
		}
	}
	t.pauses.mu.Unlock()

	began := clock()
	wanted, why, err = t.sync.Ask(ctx, row)
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return false, "", until, ctx.Err() // who asked has gone, that says nothing of the tracker
	}
	return wanted, why, t.asked(began, clock(), row.Remote, err), err
}

// asked takes note of how asking went, and says when it is worth doing again.
func (t *followed) asked(began, now time.Time, remote int64, err error) (until time.Time) {
	t.pauses.mu.Lock()
	defer t.pauses.mu.Unlock()
	switch {
	case err == nil:
		t.pauses.all = pause{}
		delete(t.pauses.one, remote)
	case tracker.OfIssue(err):
		if t.pauses.one == nil {
			t.pauses.one = map[int64]pause{}
		}
		t.pauses.one[remote] = t.pauses.one[remote].failed(began, now, err)
		return t.pauses.one[remote].until
	default:
		t.pauses.all = t.pauses.all.failed(began, now, err)
		return t.pauses.all.until
	}
	return until
}
