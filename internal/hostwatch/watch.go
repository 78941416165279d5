package hostwatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"forge/internal/approval"
	"forge/internal/handoff"
	"forge/internal/host"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Watch reads the answers of a project's pull requests. All but its hints and
// results belong to one goroutine.
type Watch struct {
	At    work.PullSettings // the repository on its host
	Every time.Duration     // between polls
	// Fixes is of how many heads of a pull request the agent is told what the
	// host's checks found, where its run does not say.
	Fixes int
	// Call is the name by which people who may write call Forge on its pull requests,
	// "" = nobody does.
	Call string

	results resultsList
	p       *project.Checkout
	host    host.Host
	secret  string // that webhooks are signed with, "" = none can be
	hints   *Hints
	note    *pullrequest.NewsNote
	// patient waits for a host that computes: whoever reads once does not come
	// back in a moment.
	patient bool

	cursor string
	seen   map[string]seenRun
	held   map[string]string // checkpoint → what was said of it last
	due    map[string]bool   // checkpoints with news that are not read yet
	turns  turns             // of those that may change without news
	told   map[string]bool   // flaky checks and answers to calls that were said
	calls  calls
}

// Open is nil where the project has no code host.
func Open(ctx context.Context, p *project.Checkout) (*Watch, error) {
	h, set, place, err := pullrequest.OpenRemote(ctx, p)
	if h == nil {
		return nil, err
	}
	w := New(p, h, place)
	w.Every, w.secret, w.Fixes, w.Call = set.Poll, set.WebhookSecret.Value, set.CIFixes, set.Call
	return w, nil
}

// New watches pull requests on a host that is open. Nothing polls it before Every
// is set.
func New(p *project.Checkout, on host.Host, at work.PullSettings) *Watch {
	return &Watch{p: p, host: on, At: at, hints: newHints(), note: &pullrequest.NewsNote{Path: pullrequest.NewsFile(p, at)},
		seen: map[string]seenRun{}, held: map[string]string{}, due: map[string]bool{}, told: map[string]bool{}}
}

// Hints are what webhooks tell this watch.
func (w *Watch) Hints() *Hints { return w.hints }

// Question is a question that a pull request shows.
type Question struct {
	Checkpoint work.Checkpoint
	Pull       orchestrator.Pull
	Base       string // branch that it has to be proposed for; "" = the target of results, which landing compares
	// Issue is the card where it is about the result of an issue. Where that
	// result is decided to be done, and waits on the host, it is Over, and
	// Checkpoint asks nothing.
	Issue *work.Issue
	Over  bool
	// Fixes is of how many heads the agent is told what the host's checks found.
	Fixes int
}

// seenRun is a run as it was when it had so many events.
type seenRun struct {
	events int64
	state  *orchestrator.State // nil = it is not for this watch
}

// waiting are the open questions that people see on the host; run "" is all.
func (w *Watch) waiting(ctx context.Context, run string) ([]Question, error) {
	var out []Question
	open, after := map[string]bool{}, ""
	for {
		page, err := w.p.Journal.Checkpoints(ctx, journal.CheckpointFilter{Run: run, Status: work.CheckpointPending}, journal.MaxIssuePage, after)
		if err != nil {
			return nil, err
		}
		for _, cp := range page {
			after = cp.ID
			s, err := w.stateOf(ctx, cp.Run, open[cp.Run])
			if err != nil {
				return nil, err
			}
			open[cp.Run] = true
			if s == nil {
				continue
			}
			if cp.Phase == "" {
				q, err := w.ofResult(ctx, s, cp)
				if err != nil {
					return nil, err
				}
				out = append(out, q...)
				continue
			}
			if ph := s.View(cp.Phase); ph != nil && ph.Pull != nil && ph.Pull.Number != 0 && (ph.Pull.Checkpoint == cp.ID || putBack(ph)) {
				out = append(out, Question{Checkpoint: cp, Pull: *ph.Pull, Base: s.Spec.Branch, Fixes: s.Spec.Pulls.Fixes})
			}
		}
		if len(page) < journal.MaxIssuePage {
			break
		}
	}
	if run == "" {
		more, err := w.overResults(ctx, open)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
		maps.DeleteFunc(w.seen, func(id string, _ seenRun) bool { return !open[id] })
	}
	return out, nil
}

// putBack says that a phase whose pull request was lost is asked about again, and
// that it shows just what is asked about: reopened by hand, it answers as before.
func putBack(p *orchestrator.View) bool {
	return p.Pull.Lost != "" && p.AskedAt == orchestrator.StageProven && p.Pull.Commit == p.Last
}

// stateOf is a run that has its pull requests on this host, else nil. It is read
// again when it has new events; asked says that it was looked up just now.
func (w *Watch) stateOf(ctx context.Context, run string, asked bool) (*orchestrator.State, error) {
	was, known := w.seen[run]
	if known && asked {
		return was.state, nil
	}
	row, err := w.p.Journal.RunOf(ctx, run)
	if errors.Is(err, journal.ErrNoRun) {
		return nil, nil // a thread of an issue
	}
	if err != nil || known && was.events == row.Events {
		return was.state, err
	}
	now := seenRun{events: row.Events}
	if s, _, err := w.p.LoadRun(ctx, run); err == nil && s.Spec.Pulls != nil && s.Spec.Pulls.Place() == w.At {
		now.state = s // one that is broken others say so of
	}
	w.seen[run] = now
	return now.state, nil
}

// read looks once at what may have news, and answers what people decided. It
// returns the runs that have an answer. One conditional request is all it
// costs while nothing happens, and one look where something may have happened
// without news.
func (w *Watch) read(ctx context.Context, run string) ([]journal.RunRow, error) {
	all, err := w.waiting(ctx, run)
	if err != nil {
		return nil, err
	}
	w.forget(all)
	told := w.hints.take()
	if len(all) == 0 {
		w.cursor = "" // whatever waits next is looked at once
		return nil, nil
	}
	changed, err := w.host.Changed(ctx, w.cursor)
	if err != nil {
		w.hints.back(told)
		return nil, err
	}
	w.cursor = changed.Cursor
	turn := w.turns.poll()
	return w.lookAt(ctx, all, turn, func(q Question) bool {
		_, known := w.held[q.Checkpoint.ID]
		return !known || told.names(q.Pull) || slices.Contains(changed.Numbers, q.Pull.Number)
	})
}

// Hinted looks at what webhooks named, and asks the host for nothing else. What
// is no question yet, such as the pull request of a run that is about to freeze,
// is kept for the next time, until the next poll.
func (w *Watch) Hinted(ctx context.Context) ([]journal.RunRow, error) {
	told := w.hints.take()
	if told.empty() {
		return nil, nil
	}
	all, err := w.waiting(ctx, "")
	if err != nil {
		w.hints.back(told)
		return nil, err
	}
	named := slices.DeleteFunc(all, func(q Question) bool { return !told.names(q.Pull) })
	for _, q := range named {
		told.drop(q.Pull)
	}
	w.hints.back(told)
	return w.lookAt(ctx, named, "", func(Question) bool { return true })
}

// forget drops what is known of questions that do not wait any more.
func (w *Watch) forget(all []Question) {
	open := map[string]bool{}
	for _, q := range all {
		open[q.Checkpoint.ID] = true
	}
	maps.DeleteFunc(w.held, func(id, _ string) bool { return !open[id] })
	maps.DeleteFunc(w.due, func(id string, _ bool) bool { return !open[id] })
	w.turns.keep(open)
}

// lookAt looks at those of all that have news, and at the one whose turn it is.
// News that cannot be read now are read the next time.
func (w *Watch) lookAt(ctx context.Context, all []Question, turn string, news func(Question) bool) (rows []journal.RunRow, err error) {
	var due []Question
	for _, q := range all {
		if news(q) {
			w.due[q.Checkpoint.ID] = true
		}
		if w.due[q.Checkpoint.ID] || q.Checkpoint.ID == turn {
			due = append(due, q)
		}
	}
	for _, q := range due {
		id, news := q.Checkpoint.ID, w.due[q.Checkpoint.ID]
		delete(w.due, id)
		row, oneErr := w.ask(ctx, q)
		if row != nil {
			rows = append(rows, *row)
		}
		if oneErr == nil {
			continue
		}
		err = errors.Join(err, oneErr)
		var t *work.HostTrouble
		if !errors.As(oneErr, &t) || t.Passes() || ctx.Err() != nil {
			if news {
				w.due[id] = true
			}
			break // the others would fail alike
		}
		w.held[id] = oneErr.Error()
		w.turns.stands(id, oneErr.Error()) // what was read in vain may be lost
	}
	return rows, err
}

// ask looks at one pull request and answers what people decided there; the run
// is nil where nobody did.
func (w *Watch) ask(ctx context.Context, q Question) (*journal.RunRow, error) {
	look, err := w.look(ctx, q)
	if err != nil {
		return nil, err
	}
	id := q.Checkpoint.ID
	if q.Issue != nil {
		w.tell(q, look)
	}
	if q.Over {
		w.held[id] = q.Issue.Reason
		w.mayChange(id, look, standsOpen(q, look))
		return nil, nil
	}
	a, held := w.wordOf(ctx, look, q)
	approved := a != nil && a.Status == work.CheckpointApproved
	if q.Issue == nil && (approved || w.Call != "" && look.State == work.PullOpen) { // what decides was read, and no words
		said, err := w.host.Look(ctx, q.Pull.Number)
		if err != nil {
			return nil, err
		}
		look.Comments, look.Writers, look.Threads = said.Comments, said.Writers, said.Threads
	}
	if approved {
		a.FollowUps = pullrequest.LeftAtLines(look, q.Pull.Heard)
	}
	called, err := w.called(ctx, q, look, held, a != nil)
	if err != nil {
		return nil, err
	}
	if a == nil {
		a = called
	}
	if a != nil && q.Issue != nil {
		if a.Status == work.CheckpointChangesRequested {
			pullrequest.WithLogs(ctx, w.host, &look, w.p.Log.Warn)
		}
		pullrequest.PassOn(a, q.Checkpoint, q.Pull.Heard, look)
	}
	if a == nil {
		if was := w.held[id]; held != was && held != "" {
			w.p.Log.Info("an answer waits", "checkpoint", id, "pull", q.Pull.URL, "why", held)
		}
		w.held[id] = held
		w.mayChange(id, look, pullrequest.HeldByHost(look) || q.Fixes > 0 && pullrequest.ChecksMayChange(look))
		return nil, nil
	}
	_, row, err := approval.Give(ctx, w.p, *a, approval.Options{Away: handoff.AnswerAway})
	if err != nil && approval.Code(err) == "" {
		return nil, err
	}
	w.turns.drop(id)
	if err != nil {
		w.held[id] = err.Error()
		if errors.Is(err, work.ErrAlreadyResolved) {
			w.p.Log.Debug("another door was first", "checkpoint", id)
			return nil, nil
		}
		w.p.Log.Warn("an answer of the pull request was refused", "checkpoint", id, "err", err)
		return nil, nil
	}
	w.p.Log.Info("answered", "checkpoint", id, "status", a.Status, "by", text.Harmless(a.By), "pull", q.Pull.URL)
	return &row, nil
}

// wordOf is what a pull request says to the checkpoint that it shows. One that
// was pointed elsewhere says nothing until it is set back: an approval there may
// be one of something else.
func (w *Watch) wordOf(ctx context.Context, look work.PullLook, q Question) (*work.Answer, string) {
	if q.Base != "" && look.State != work.PullClosed && host.Retargeted(look.PullRequest, q.Pull.Branch, q.Base) {
		by := ""
		if look.State == work.PullOpen {
			by = text.Harmless(w.host.RetargetedBy(ctx, look.Number))
		}
		return nil, pullrequest.RetargetedHeld(look, q.Pull.Branch, q.Base, by)
	}
	if ofPeople(q, look) {
		q.Pull.Taken = look.Head
	}
	return pullrequest.AnswerOf(look, q.Checkpoint, q.Pull, q.Fixes, w.p.Now())
}

// mayChange notes whether a pull request may come to stand otherwise without
// news.
func (w *Watch) mayChange(id string, look work.PullLook, may bool) {
	if !may {
		w.turns.drop(id)
		return
	}
	since := w.turns.stands(id, pullrequest.Standing(look, true))
	if look.Mergeable == work.MergeComputing && since < mostComputing {
		w.due[id] = true
	}
}

// look reads a pull request, with a patient watch until its host has computed
// what an approval depends on.
func (w *Watch) look(ctx context.Context, q Question) (work.PullLook, error) {
	read := w.host.Verdicts
	if q.Issue != nil {
		read = w.host.Look // the answer carries the words along
	}
	look, err := read(ctx, q.Pull.Number)
	if err == nil && q.Fixes > 0 {
		if err = pullrequest.WithChecks(ctx, w.host, &look); err == nil {
			w.flaky(ctx, look)
			w.redOfPeople(ctx, q, look)
		}
	}
	for range 20 {
		if err != nil || !w.patient || !pullrequest.HeldByHost(look) || look.Mergeable != work.MergeComputing && look.Mergeable != work.MergeUnknown {
			break
		}
		pause := time.NewTimer(250 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return look, ctx.Err()
		case <-pause.C:
		}
		ci := look.CI
		look, err = read(ctx, q.Pull.Number)
		look.CI = ci
	}
	return look, err
}

// Once reads once what the pull requests of a run say, "" = of all, and notes it
// for others.
func (w *Watch) Once(ctx context.Context, run string) error {
	w.patient = true
	_, err := w.read(ctx, run)
	w.notedOnce(err)
	return err
}

// ReadRun reads once what the pull requests of a run say, unless it is to end.
func ReadRun(ctx context.Context, p *project.Checkout, run string) {
	if told, err := p.Journal.Inbox(ctx, run); err == nil && slices.ContainsFunc(told, func(in journal.InboxRow) bool { return in.Answer.Choice == orchestrator.ChoiceAbort }) {
		return
	}
	w, err := Open(ctx, p)
	if err == nil && w != nil {
		err = w.Once(ctx, run)
	}
	if err != nil {
		p.Log.Warn("the pull requests of this run were not read", "err", err)
	}
}
