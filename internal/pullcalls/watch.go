package pullcalls

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"forge/factory"
	"forge/factory/tracker"
	"forge/internal/changereview"
	"forge/internal/host"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/trackers"
	"forge/internal/work"
)

// Watch hears the calls on the pull requests of people in one repository. One goroutine
// at a time uses it. What was acted on is in the journal's rows, a row for each comment:
// whoever watches next, in this process or another, acts on nothing twice.
type Watch struct {
	goal  trackers.Goal
	p     *project.Checkout
	host  host.Host
	name  string // of the repository, in the journal
	call  string
	every time.Duration
	wake  chan struct{}
	// review reviews a pull request, and posts there what it found.
	review func(ctx context.Context, number int64) error

	reviews sync.WaitGroup
	busy    chan struct{} // holds whoever reviews: one at a time

	mu    sync.Mutex
	ended map[string]int
}

// Open is nil where the project has no code host, or nobody calls Forge there.
func Open(ctx context.Context, p *project.Checkout, g trackers.Goal) (*Watch, error) {
	h, set, place, err := pullrequest.OpenRemote(ctx, p)
	if h == nil || set.Call == "" {
		return nil, err
	}
	w := newWatch(p, g, h, place)
	w.call, w.every = set.Call, set.Poll
	return w, nil
}

func newWatch(p *project.Checkout, g trackers.Goal, h host.Host, at work.PullSettings) *Watch {
	w := &Watch{goal: g, p: p, host: h, name: "calls on pull requests of " + at.String(), wake: make(chan struct{}, 1), busy: make(chan struct{}, 1), ended: map[string]int{callTaken: 0, callRefused: 0, callIgnored: 0}}
	w.review = func(ctx context.Context, number int64) error {
		env := p.Env
		env.Dir = p.Base.RepoRoot
		_, err := changereview.Run(ctx, env, changereview.Options{Pull: number, Committed: true, Kill: ctx.Done()})
		return err
	}
	return w
}

// Repository names what is watched.
func (w *Watch) Repository() string { return w.name }

// Wake has it look now instead of later.
func (w *Watch) Wake() chan<- struct{} { return w.wake }

// Calls counts the calls since the process began, by their end.
func (w *Watch) Calls() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.ended)
}

// Loop looks every so often, and when it is woken, until ctx ends.
func (w *Watch) Loop(ctx context.Context) {
	defer w.reviews.Wait()
	failures, said := 0, ""
	for {
		err := w.Once(ctx)
		if ctx.Err() != nil {
			return
		}
		if failures++; err == nil {
			failures, said = 0, ""
		} else if words := err.Error(); words != said {
			said = words
			w.p.Log.Warn("calls on pull requests are not all heard; they are looked at again", "project", w.goal.Project, "err", text.Harmless(words))
		}
		wait := time.NewTimer(tracker.Wait(w.every, failures, err))
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		case <-w.wake:
			wait.Stop()
		}
	}
}

// Once looks at the pull requests that were touched since it last looked, acts on the
// calls there, and says on pull requests how the work is that was called for. How far
// was looked is remembered when everything there was acted on.
func (w *Watch) Once(ctx context.Context) error {
	mark, err := w.goal.Journal.TrackerMark(ctx, w.name)
	if err != nil {
		return err
	}
	next := mark
	if mark.Since.IsZero() {
		next.Since = w.goal.Board.Now().UTC()
	}
	changed, err := w.host.Changed(ctx, mark.ETag)
	if err != nil {
		return errors.Join(err, w.tell(ctx))
	}
	next.ETag = changed.Cursor
	all := true
	var failed error
	for _, n := range changed.Numbers {
		done, err := w.hear(ctx, n, next.Since)
		if all = all && done; err != nil {
			failed = errors.Join(failed, fmt.Errorf("pull request %d: %w", n, err))
			if ctx.Err() != nil || !tracker.OfIssue(err) && work.HostKindOf(err) != "" {
				break // the others would fail alike
			}
		}
	}
	if failed == nil && all && next != mark {
		failed = w.goal.Journal.SetTrackerMark(ctx, w.name, next)
	}
	return errors.Join(failed, w.tell(ctx))
}

// hear acts on the calls on one pull request that nobody acted on yet; done is false
// while a review is under way or due.
func (w *Watch) hear(ctx context.Context, number int64, since time.Time) (done bool, err error) {
	look, err := w.host.Look(ctx, number)
	if work.HostKindOf(err) == work.HostNoPull {
		return true, nil // it was deleted
	}
	if err != nil || ownPull(look.PullRequest) {
		return err == nil, err
	}
	if look.State != work.PullOpen {
		if err := w.over(ctx, look); err != nil {
			return false, err
		}
	}
	done = true
	for _, c := range look.Comments {
		id, _ := strconv.ParseInt(c.ID, 10, 64)
		if id == 0 || c.Own || c.At.Before(since.Add(-time.Second)) || len(tracker.Calls(c.Body, w.call)) == 0 {
			continue // hosts count whole seconds
		}
		row, known, err := w.goal.Journal.TrackerIssue(ctx, w.name, id)
		if err != nil {
			return false, err
		}
		if !known {
			row = work.TrackerIssue{Tracker: w.name, Remote: id}
		}
		if row.Hash == "" {
			if row, err = w.act(ctx, look, c, row); err != nil {
				return false, err
			}
		}
		if row.Hash == reviewDue {
			done = false
			w.begin(ctx, number, row)
		}
	}
	return done, nil
}

// How far the row of a comment is, in the words of its hash: "" is not at all.
const (
	heard     = "heard"
	reviewDue = "review" // all but a review that it calls for is done
)

// act does what follows from one comment, but for a review, and returns its row.
func (w *Watch) act(ctx context.Context, look work.PullLook, c work.PullComment, row work.TrackerIssue) (work.TrackerIssue, error) {
	s := seen{look: look, name: w.call, level: w.goal.Level}
	heads, err := w.host.Heads(ctx, look.Branch)
	if err != nil {
		return row, err
	}
	s.here = look.Head != "" && heads[look.Branch] == look.Head
	if err := pullrequest.WithChecks(ctx, w.host, &s.look); err != nil {
		return row, err
	}
	pullrequest.WithLogs(ctx, w.host, &s.look, w.p.Log.Warn)
	if s.issue, err = w.newest(ctx, look.Number); err != nil {
		return row, err
	}
	// Whoever acted on it meanwhile made what was read just now.
	if now, known, err := w.goal.Journal.TrackerIssue(ctx, w.name, row.Remote); err != nil || known && now.Hash != "" {
		return now, err
	}
	f := follow(c, s)
	if f.explain {
		lines, err := w.goal.History(ctx, f.issue, tracker.LinesExplained)
		if err != nil {
			return row, err
		}
		f.words = append(f.words, tracker.Explain(f.issue, lines))
	}
	by := factory.By{Name: text.Clip(work.OneLine(c.By), 60) + " (" + pullrequest.Channel + ")", Door: pullrequest.Channel, Note: fmt.Sprintf("called on pull request %d: %s", look.Number, told(f.calls))}
	change, err := w.planned(ctx, s.issue, f, by)
	var rule *factory.Refusal
	var problems *factory.ProblemsError // such as of a character that no issue may have
	if errors.As(err, &rule) || errors.As(err, &problems) {
		change, f.end, f.changed, f.issue = nil, callRefused, false, s.issue
		f.heard, f.words = nil, []text.Markdown{text.Format("Not done: %s", text.OneLine(err.Error(), 500))}
	} else if err != nil {
		return row, err
	}
	// What is said comes first: by its key it stands there once, whatever dies.
	if f.end != callIgnored {
		words, err := host.Heard(ctx, w.host, look.Number, c, f.heard, f.words)
		if err == nil && len(words) > 0 {
			err = w.host.Comment(ctx, look.Number, fmt.Sprintf("call %d", row.Remote), text.Join("\n\n", words...))
		}
		if err != nil && !tracker.OfIssue(err) {
			return row, err
		}
		if err != nil {
			w.p.Log.Warn("a call on a pull request is heard, and cannot be answered there", "pull", look.Number, "err", text.Harmless(err.Error()))
		}
	}
	if row.Hash = heard; f.review {
		row.Hash = reviewDue
	}
	switch {
	case change != nil && f.issue.ID == 0:
		row.Project = w.goal.Project
		_, err = w.goal.Journal.ImportIssue(ctx, row, *change)
	case change != nil:
		row.Project, row.Issue = w.goal.Project, f.issue.ID
		err = w.goal.Journal.KeepTracker(ctx, row, change)
	default:
		err = w.goal.Journal.KeepTracker(ctx, row, nil)
	}
	if err != nil {
		return work.TrackerIssue{}, err
	}
	w.count(f.end)
	if f.end == callIgnored {
		return row, nil
	}
	w.p.Log.Info("called on a pull request", "pull", look.Number, "by", text.Harmless(c.By), "calls", told(f.calls), "end", f.end)
	if f.changed && f.issue.State == work.IssueCancelled && s.issue.State != work.IssueCancelled && w.goal.Ends != nil {
		if err := w.goal.Ends(ctx, f.issue, by); err != nil {
			w.p.Log.Warn("what still ran is not all ended", "issue", f.issue.ID, "err", err)
		}
	}
	if change != nil && w.goal.Poke != nil {
		select {
		case w.goal.Poke <- struct{}{}:
		default:
		}
	}
	return row, nil
}

// planned is the change of the board that calls make, nil = none.
func (w *Watch) planned(ctx context.Context, was work.Issue, f follows, by factory.By) (*work.BoardChange, error) {
	if !f.changed {
		return nil, nil
	}
	var change work.BoardChange
	var err error
	switch {
	case f.issue.ID == 0:
		change, err = w.goal.PlanAdd(ctx, f.issue, factory.Place{At: factory.Bottom}, by)
	case len(factory.Changes(was, f.issue)) == 0:
		return nil, nil
	default:
		change, err = w.goal.PlanEdit(ctx, was, f.issue, by)
	}
	return &change, err
}

// called are the rows of comments that put issues on the board, the oldest first.
func (w *Watch) called(ctx context.Context) ([]work.TrackerIssue, error) {
	return w.goal.Journal.TrackerIssues(ctx, w.goal.Project, w.name)
}

// newest is the newest issue that was called for on a pull request.
func (w *Watch) newest(ctx context.Context, number int64) (out work.Issue, err error) {
	rows, err := w.called(ctx)
	if err != nil {
		return out, err
	}
	for _, row := range rows {
		i, err := w.goal.Journal.Issue(ctx, row.Project, row.Issue)
		if err != nil {
			return out, err
		}
		if numberOf(i) == number && i.ID > out.ID {
			out = i
		}
	}
	return out, nil
}

func (w *Watch) count(end string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended[end]++
}

// told names calls, for logs and histories.
func told(calls []tracker.Call) string {
	var out []string
	for _, c := range calls {
		out = append(out, strings.TrimSpace(text.OneLine(c.Command+" "+c.Given, 100)))
	}
	return strings.Join(out, ", ")
}
