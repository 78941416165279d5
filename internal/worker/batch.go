package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/journal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// waiting is a result in line for the target. Whoever gets the turn takes the others
// along that go with it.
type waiting struct {
	*pass
	begin landing.Begin
	gone  func() bool // whoever wanted it landed does not any more
	alone bool        // it goes with nobody
	// pushed says that its pull request may land with others, in one push.
	pushed bool
	done   bool
	err    error
}

// linesUp puts a result at the end of the line.
func (s *Worker) linesUp(ctx context.Context, l *pass, begin landing.Begin) *waiting {
	w := &waiting{pass: l, begin: begin, gone: func() bool { return ctx.Err() != nil }}
	if w.h != nil && begin.For == landing.ForLand && w.State.Spec.Settings.MergeBatch > 1 {
		var err error
		if w.pushed, err = w.h.Host.LandsTogether(ctx, w.h.said); err != nil {
			s.Log.Debug("the host does not say whether pull requests land together", "project", s.Project, "err", err)
			w.pushed = false
		}
	}
	w.alone = w.like() == ""
	s.line.Lock()
	defer s.line.Unlock()
	s.line.of = append(s.line.of, w)
	return w
}

func (s *Worker) leavesLine(w *waiting) {
	s.line.Lock()
	defer s.line.Unlock()
	s.line.of = slices.DeleteFunc(s.line.of, func(o *waiting) bool { return o == w })
}

// inLine are those that wait, as members of a batch.
func (s *Worker) inLine() (all []*waiting, as []landing.Member) {
	s.line.Lock()
	defer s.line.Unlock()
	for _, w := range s.line.of {
		if w.done || w.alone || w.gone() {
			continue
		}
		all = append(all, w)
		as = append(as, landing.Member{Run: w.Run, Issue: w.issue.ID, At: w.commit, Priority: w.issue.Priority, Like: w.like()})
	}
	return all, as
}

// like is all that the proof of a result rests on beside its tree and the evidence that
// it is held against; "" = it goes alone.
// That is so on a code host that merges one by one, where the owner has hidden checks,
// and where a person accepted evidence in the run itself.
func (w *waiting) like() string {
	set := w.State.Spec.Settings
	switch {
	case w.begin.For != landing.ForLand, w.begin.Unwanted != "", w.begin.Retry, w.away != nil, (w.h != nil || w.issue.Pull != nil) && !w.pushed:
		return ""
	case len(set.Verify.Commands) == 0, len(set.Proof.Hidden) > 0, len(w.State.Moves) > 0, set.MergeBatch < 2:
		return ""
	}
	said, err := json.Marshal([]any{target(w.p), w.State.Final.Approved != "", set.Verify, set.Worktree, set.Sandbox, set.Proof})
	if err != nil {
		return ""
	}
	return string(said)
}

// landsInTurn lands a result: with those that wait beside it, or alone. One that another
// took along is done by then.
func (s *Worker) landsInTurn(ctx context.Context, w *waiting) error {
	s.landing.Lock()
	defer s.landing.Unlock()
	defer s.leavesLine(w)
	// Each round lands some, or names one: it ends.
	for !w.done && !w.alone {
		all, members := s.inLine()
		places := landing.Aboard(members, w.State.Spec.Settings.MergeBatch)
		if len(places) == 0 {
			break
		}
		var aboard []*waiting
		for _, at := range places {
			aboard = append(aboard, all[at])
		}
		err := s.landTogether(ctx, aboard)
		switch {
		case w.done:
			return w.err
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s.Log.Debug("results do not land together: each goes alone", "project", s.Project, "why", err)
			for _, one := range aboard {
				one.alone = true
			}
		}
	}
	if !w.done {
		w.done, w.err = true, w.onItsOwn(ctx, w.begin)
	}
	return w.err
}

// onItsOwn is one try of one result, under its lease.
func (l *pass) onItsOwn(ctx context.Context, begin landing.Begin) error {
	give, err := l.open(ctx)
	if err != nil {
		return err
	}
	defer give()
	if err := l.begins(ctx, begin); err != nil {
		return err
	}
	return l.finishes(ctx)
}

// landTogether is one batch. An error is Forge's own; nothing has landed then, or what
// has is found where each looks for itself.
func (s *Worker) landTogether(ctx context.Context, all []*waiting) error {
	var aboard []*waiting
	for _, w := range all {
		give, err := w.open(ctx)
		if err == nil {
			defer give()
			err = w.begins(ctx, w.begin)
		}
		if err == nil {
			err = w.until(ctx, landing.StepProve)
		}
		c, pending := landing.Command{}, false
		if err == nil {
			c, pending = landing.Pending(w.s)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err() // of who has the turn: the others go on for themselves
		case err != nil, !pending:
			w.done, w.err = true, err // it is there, held, or somebody else has its run
		case c.Step != landing.StepProve || len(aboard) > 0 && w.s.Look.Onto != aboard[0].s.Look.Onto:
			w.alone = true
		default:
			aboard = append(aboard, w)
		}
	}
	if len(aboard) < 2 {
		for _, w := range aboard {
			w.alone = true
		}
		return nil
	}
	b, err := s.chained(ctx, aboard)
	if err != nil {
		return err
	}
	of := map[string]*waiting{}
	for _, w := range aboard {
		of[w.Run] = w
	}
	if len(b.Members) < 2 {
		aboard[0].alone = true // the others conflict with it: they wait until it is there
		return nil
	}
	for m, before, more := b.Next(); more; m, before, more = b.Next() {
		v, err := of[m.Run].probe(ctx, b, m, before)
		if err != nil {
			return err
		}
		if v == "" {
			return fmt.Errorf("nobody knows whether the tree up to issue %d is good", m.Issue)
		}
		b = b.Saw(v)
	}
	together, culprit := b.Lands()
	if err := s.stillReady(ctx, of, together); err != nil {
		return err
	}
	for _, m := range together {
		w := of[m.Run]
		if err := w.provedWith(ctx, b.Proof(m)); err != nil {
			return err
		}
		if w.err = w.finishes(ctx); ctx.Err() != nil {
			return ctx.Err()
		}
		w.done = true
	}
	if w := of[culprit]; w != nil {
		s.Log.Info("a result is red beside those before it", "project", s.Project, "issue", w.issue.ID, "beside", len(together))
		if w.err = w.begins(ctx, w.begin); w.err == nil {
			w.err = w.finishes(ctx)
		}
		w.done = ctx.Err() == nil
	}
	return nil
}

// chained merges each result onto the one before it, beside every branch.
func (s *Worker) chained(ctx context.Context, aboard []*waiting) (landing.Batch, error) {
	repo, onto := s.Machine.Repo, aboard[0].s.Look.Onto
	var members []landing.Member
	var links []landing.Link
	head := onto
	for _, w := range aboard {
		at := w.proposedAt()
		members = append(members, landing.Member{Run: w.Run, Issue: w.issue.ID, At: at, Priority: w.issue.Priority, Trusted: w.State.Trusted()})
		m, err := repo.Merge(ctx, head, at)
		if err != nil {
			return landing.Batch{}, err
		}
		link := landing.Link{Conflicts: m.Conflicts, Tree: m.Tree}
		if len(m.Conflicts) == 0 {
			if link.Commit, err = w.mergedOnto(ctx, head, at, m.Tree); err != nil {
				return landing.Batch{}, err
			}
			head = link.Commit
		}
		links = append(links, link)
	}
	return landing.NewBatch(onto, members, links), nil
}

// proposedAt is the commit of the result that waits to be proven: what its pull request
// holds, where there is one.
func (l *pass) proposedAt() string {
	if c, ok := landing.Pending(l.s); ok {
		if e, ok := landing.EffectOf(l.s, c).(landing.ProveEffect); ok {
			return e.At
		}
	}
	return l.commit
}

// stillReady looks once more at the pull requests that are about to land in one push,
// which no host holds back: people may have changed their minds while all was proven.
func (s *Worker) stillReady(ctx context.Context, of map[string]*waiting, together []landing.Member) error {
	if len(together) < 2 {
		return nil // the host merges it, and guards that
	}
	for _, m := range together {
		w := of[m.Run]
		if w.h == nil {
			continue
		}
		at, err := w.h.stands(ctx, w.result)
		if err != nil {
			return err
		}
		if step, _, why := factory.NextOfPull(w.h.seenIn(at.look, w.result, at.is)); step != factory.PullMerge || at.look.Head != m.At {
			return fmt.Errorf("pull request %d is not to be merged any more as it was proven: %s", at.look.Number, why)
		}
	}
	return nil
}

// mergedOnto is the commit that holds both: at itself where it has grown out of onto.
func (l *pass) mergedOnto(ctx context.Context, onto, at, tree string) (string, error) {
	repo := l.Machine.Repo
	if l.h != nil { // as the host would: a pull request is one commit
		message := fmt.Sprintf("%s (#%d)\n\nForge-Issue: %d\nForge-Run: %s\n", text.Titled("%s", l.issue.Title), l.s.Look.Pull.Number, l.issue.ID, l.Run)
		return repo.CommitTree(ctx, tree, []string{onto}, message, orchestrator.Ref(l.Run, "landing"))
	}
	if grown, err := repo.Holds(ctx, at, onto); err != nil || grown {
		return at, err
	}
	message := fmt.Sprintf("%s\n\nForge-Issue: %d\nForge-Run: %s\n", strings.TrimSpace(l.issue.Title), l.issue.ID, l.Run)
	return repo.MergeCommit(ctx, tree, []string{onto, at}, message, orchestrator.Ref(l.Run, "landing"))
}

// probe has the tree judged that holds the result and all before it, as one change of
// the target. What it came to before is not asked again.
func (l *pass) probe(ctx context.Context, b landing.Batch, m landing.Member, before []int64) (landing.Verdict, error) {
	if known, ok := landing.Known(l.s.Probes, b.Onto, m.Tree, b.Trusted()); ok {
		return known.Verdict, nil
	}
	c := landing.ProbeOf(l.s, m.Commit)
	after := context.WithoutCancel(ctx)
	note := journal.AttemptRow{Run: l.Run, Command: c.ID, Mark: runs.NewMark(), Started: l.Now()}
	if err := l.feed(after, landing.Started{Command: c}, journal.Append{Begin: []journal.AttemptRow{note}}); err != nil {
		return "", err
	}
	came, err := l.verified(ctx, l.p, l.State, note.Mark, toLand{commit: m.Commit, onto: b.Onto, before: b.Onto, trusted: b.Trusted()})
	if err == nil {
		err = ctx.Err() // what is cut off proves nothing
	}
	if err != nil {
		return "", errors.Join(err, l.Journal.DropAttempt(after, l.lease, c.ID))
	}
	p := landing.Probe{Onto: b.Onto, Commit: m.Commit, Tree: m.Tree, Verdict: came.verdict, Problem: came.problem, Mixed: came.mixed, Before: before, Trusted: b.Trusted(), Pages: came.pages}
	return came.verdict, l.feed(after, landing.Probed{Command: c, Probe: p}, journal.Append{End: []work.CommandID{c.ID}})
}

// provedWith takes the proof of a batch for that of the result.
func (l *pass) provedWith(ctx context.Context, p landing.Proof) error {
	c, ok := landing.Pending(l.s)
	if !ok || c.Step != landing.StepProve {
		return fmt.Errorf("land the result of run %s with others: it does not wait for a proof", l.Run)
	}
	after := context.WithoutCancel(ctx)
	if l.s.Look.Here {
		why, err := l.Machine.Repo.InTheWay(ctx, l.under(p.Onto, l.s.Look.Target), p.Commit)
		if err != nil {
			return err
		}
		p.InTheWay = why
	}
	if err := l.feed(after, landing.Started{Command: c}, journal.Append{}); err != nil {
		return err
	}
	return l.feed(after, landing.Proved{Command: c, Proof: p}, journal.Append{})
}
