package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/runs"
	"forge/internal/shortage"
	"forge/internal/work"
)

// pass carries out what the core of landings decides about one result, under the
// lease of its run.
type pass struct {
	*Worker
	p     *project.Checkout
	h     *resultHost // nil = the project has no code host
	lease *journal.Lease
	result
	shown func(work.IssuePull) error
	s     *landing.State
	// away is why the code host cannot be spoken with at all.
	away error
}

// Land brings the result of an issue's completed run into the target branch, on the
// code host where the project has one. That it is there already, from before a
// crash or by hand, is found by looking.
func (s *Worker) Land(ctx context.Context, i work.Issue, unwanted string, shown func(work.IssuePull) error) (factory.Landed, error) {
	return s.tried(ctx, i, landing.Begin{For: landing.ForLand, Unwanted: unwanted}, shown, nil)
}

// Show proposes a finished result that waits for a person on the code host.
func (s *Worker) Show(ctx context.Context, i work.Issue, shown func(work.IssuePull) error) (factory.Landed, error) {
	return s.tried(ctx, i, landing.Begin{For: landing.ForShow}, shown, nil)
}

// tried is what came of a try, and of those that follow because something moved.
// away says that nothing is to be asked of the host, and why.
func (s *Worker) tried(ctx context.Context, i work.Issue, begin landing.Begin, shown func(work.IssuePull) error, away error) (factory.Landed, error) {
	read, err := s.For(ctx, i)
	if err != nil {
		return factory.Landed{}, err
	}
	p := read.Project()
	r, err := s.resultOf(ctx, p, i)
	if err != nil {
		return factory.Landed{}, err
	}
	if len(r.Spec.Repositories) > 0 {
		return s.handedOver(p, r)
	}
	l := &pass{Worker: s, p: p, result: r, shown: shown, away: away}
	if l.away == nil {
		l.h, l.away = s.resultHost(p)
	}
	switch {
	case begin.For == landing.ForLand && (r.Delivery == nil || r.Delivery.Commit == ""):
		return factory.Landed{}, fmt.Errorf("run %s has no result that could land", i.Run)
	case begin.For == landing.ForShow && l.away == nil && (l.h == nil || !r.Spec.Pulls.Remote()):
		return factory.Landed{}, nil // it was begun without a host
	}
	if err := l.carryOut(ctx, begin); err != nil {
		return factory.Landed{}, err
	}
	return l.s.Outcome(), nil
}

// carryOut does what is pending until nothing is. An error is Forge's own: what the
// host does not do is an outcome.
func (l *pass) carryOut(ctx context.Context, begin landing.Begin) error {
	return l.landsInTurn(ctx, l.linesUp(ctx, l, begin))
}

// open takes the run's lease, and reads how its landing stands; give gives it back.
func (l *pass) open(ctx context.Context) (give func(), err error) {
	if l.lease, err = l.acquire(ctx, l.Run); err != nil {
		return nil, err
	}
	stop := l.lease.Keep(ctx)
	give = func() {
		stop()
		after := context.WithoutCancel(ctx)
		if l.s != nil {
			if err := runs.Anchor(after, l.p, l.Machine, l.Run); err != nil {
				l.Log.Warn("note the journal's length in Forge's repository", "err", err)
			}
		}
		if err := l.lease.Release(after); err != nil {
			l.Log.Warn("give the run back", "run", l.Run, "err", err)
		}
	}
	if err = l.endLanding(ctx, l.lease); err == nil {
		// Whoever held the run before may have written since.
		l.s, err = l.landingOf(ctx, l.Run)
	}
	if err != nil {
		give()
		return nil, err
	}
	return give, nil
}

// begins opens a try.
func (l *pass) begins(ctx context.Context, begin landing.Begin) error {
	begin.Issue, begin.Result, begin.Branch, begin.Pull = l.issue.ID, l.commit, l.State.Spec.Branch, l.issue.Pull
	return l.feed(context.WithoutCancel(ctx), begin, journal.Append{})
}

// finishes carries out what is pending until nothing is.
func (l *pass) finishes(ctx context.Context) error { return l.until(ctx, "") }

// until carries out what is pending until nothing is, or that step.
func (l *pass) until(ctx context.Context, step landing.Step) error {
	for {
		c, ok := landing.Pending(l.s)
		if !ok || c.Step == step {
			return nil
		}
		if err := l.step(ctx, c); err != nil {
			return err
		}
	}
}

// feed lets the core decide, and writes what it does together with what a needs.
func (l *pass) feed(ctx context.Context, f landing.Fact, a journal.Append) error {
	evs, err := landing.Feed(l.s, landing.Input{Now: l.Now(), Fact: f})
	if err != nil {
		return err
	}
	for _, e := range evs {
		var d landing.DecidedData
		if e.Kind == work.LandingDecided && work.Decode(e, &d) == nil {
			l.Log.Debug("landing", "issue", l.issue.ID, "try", d.Try, "decided", d.Decision, "hold", d.Hold, "why", d.Reason)
		}
	}
	if a.Events = evs; len(evs) == 0 && len(a.End) == 0 {
		return nil
	}
	return l.Journal.Append(ctx, l.lease, a)
}

// step carries one command out. What was begun is noted before any process of it
// runs, so that whoever comes after a death finds them.
func (l *pass) step(ctx context.Context, c landing.Command) error {
	after := context.WithoutCancel(ctx)
	note := journal.AttemptRow{Run: l.Run, Command: c.ID, Mark: runs.NewMark(), Started: l.Now()}
	if err := l.feed(after, landing.Started{Command: c}, journal.Append{Begin: []journal.AttemptRow{note}}); err != nil {
		return err
	}
	f, err := l.do(ctx, landing.EffectOf(l.s, c), note.Mark)
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), l.Journal.DropAttempt(after, l.lease, c.ID)) // the next one looks anew
	}
	if err != nil {
		f = l.broke(c, err)
	}
	if feedErr := l.feed(after, f, journal.Append{End: []work.CommandID{c.ID}}); feedErr != nil {
		return feedErr
	}
	if b, ok := f.(landing.Broke); ok && b.Trouble == nil && b.Short == "" && c.Step != landing.StepTidy {
		return err
	}
	return nil
}

// broke is what an error means: the host's are for the core to decide on, and so are
// those of a machine that ran out of something, whatever failed for that.
func (l *pass) broke(c landing.Command, err error) landing.Broke {
	out := landing.Broke{Command: c, Trouble: pullrequest.PullTrouble(err), Short: cmp.Or(shortage.Of(err), shortage.Of(l.room(l.p)))}
	if out.Trouble == nil {
		out.Problem = err.Error()
		return out
	}
	var t *work.HostTrouble
	if errors.As(err, &t) {
		out.After = t.After
	}
	return out
}

// do carries an effect out.
func (l *pass) do(ctx context.Context, e landing.Effect, mark string) (landing.Fact, error) {
	switch e := e.(type) {
	case landing.LookEffect:
		if l.away != nil {
			return nil, unhosted(l.away)
		}
		look, err := l.lookAt(ctx, e)
		return landing.Looked{Command: e.Command, Look: look}, err
	case landing.ProveEffect:
		proof, err := l.prove(ctx, e, mark)
		return landing.Proved{Command: e.Command, Proof: proof}, err
	case landing.LandEffect:
		made, err := l.land(ctx, e)
		return landing.Landed{Command: e.Command, Made: made}, err
	case landing.CheckEffect:
		check, err := l.check(ctx, e, mark)
		return landing.Checked{Command: e.Command, Check: check}, err
	case landing.TidyEffect:
		return landing.Tidied{Command: e.Command}, l.tidyBranch(ctx, e)
	}
	return nil, fmt.Errorf("land the result of run %s: nothing carries out %T", l.Run, e)
}

// unhosted is that a code host cannot be spoken with at all: a person may mend
// that at any time, so it is tried again.
func unhosted(err error) error {
	out := &work.HostTrouble{Kind: work.HostNotYet, What: err.Error()}
	var t *work.HostTrouble
	if errors.As(err, &t) {
		*out = *t
		out.Kind = work.HostNotYet
	}
	return out
}

// landingOf is how the landing of a run's result stands.
func (s *Worker) landingOf(ctx context.Context, run string) (*landing.State, error) {
	evs, err := s.Journal.Events(ctx, run, 0)
	if err != nil {
		return nil, err
	}
	out := landing.NewState(run)
	for _, e := range evs {
		if err := landing.Apply(out, e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// again says that another run goes on from a result that was decided to be done, as
// landing it found: people ask for changes, pushed what nobody reviewed or what
// conflicts with it, or it does not go together with what has landed meanwhile.
func (s *Worker) again(ctx context.Context, o factory.Order, r result) (bool, error) {
	was, err := s.landingOf(ctx, r.Run)
	if err != nil || !was.Again() && (!o.Again || was.Handed == nil) {
		return false, err
	}
	read, err := s.For(ctx, r.issue)
	if err != nil {
		return false, err
	}
	p := read.Project()
	l := &pass{Worker: s, p: p, result: r}
	l.h, l.away = s.resultHost(p)
	if err := l.carryOut(ctx, landing.Begin{For: landing.ForAgain, Retry: o.Again}); err != nil || !l.s.Again() {
		return false, err
	}
	if l.h == nil || l.issue.Pull == nil {
		return true, nil
	}
	look, err := l.h.Look(ctx, l.issue.Pull.Number)
	if err != nil {
		return false, err
	}
	// Nobody else answers what this run owes, once another one goes on.
	return true, l.h.answers(ctx, r.State, look)
}

// Pauses before a run is tried to be opened again whose host did not do its part.
const (
	firstOpen = time.Second
	mostOpen  = 10 * time.Minute
)

// openAgain is when that is: after as long again as it was tried for. Its run has
// no journal yet, so the card's history tells that.
func (s *Worker) openAgain(ctx context.Context, issue int64, err error) (time.Time, error) {
	now, wait := s.Now(), mostOpen
	lines, readErr := s.Journal.IssueHistory(ctx, s.Project, issue, journal.MaxIssuePage, 0)
	if readErr != nil {
		return now, readErr
	}
	for _, line := range lines { // the newest first
		moved := slices.ContainsFunc(line.Fields, func(f work.FieldChange) bool { return f.Field == "column" })
		if line.Action == work.IssueClaimed && moved {
			wait = now.Sub(line.At)
			break
		}
	}
	var t *work.HostTrouble
	if errors.As(err, &t) {
		wait = max(wait, t.After)
	}
	return now.Add(min(max(wait, firstOpen), mostOpen)), nil
}
