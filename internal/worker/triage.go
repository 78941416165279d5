package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"forge/factory"
	"forge/factory/triage"
	"forge/gates"
	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
)

// triager says what is to be done about the issues of one project. It is the
// factory's Triage.
type triager struct {
	worker *Worker

	mu sync.Mutex
	// families hold one token each, so that an issue and its parts do not
	// spend the same money twice. By the outermost issue.
	families map[int64]chan struct{}
	// told is what threads that are over came to, by issue: they do not change.
	told map[int64]triage.Result
}

func newTriager(s *Worker) *triager {
	return &triager{worker: s, families: map[int64]chan struct{}{}, told: map[int64]triage.Result{}}
}

// Triage opens the issue's thread or goes on with it.
func (d *triager) Triage(ctx context.Context, i work.Issue) (factory.Triaged, error) {
	f, err := d.worker.For(ctx, i)
	if err != nil {
		return factory.Triaged{}, err
	}
	p := f.Project()
	line, err := d.lineage(ctx, i)
	if err != nil {
		return factory.Triaged{}, err
	}
	give, err := d.family(ctx, line[0].ID)
	if err != nil {
		return factory.Triaged{}, err
	}
	defer give()
	by, err := triageByOf(p)
	if err != nil {
		return factory.Triaged{}, err
	}
	sp, err := d.spec(ctx, p, line, by)
	if err != nil {
		return factory.Triaged{}, err
	}
	res, err := d.drive(ctx, p, sp, by)
	if err != nil {
		return factory.Triaged{}, err
	}
	d.remember(i.ID, res)
	return d.triaged(ctx, res)
}

// triaged is what a thread came to as the board needs to know it.
func (d *triager) triaged(ctx context.Context, res triage.Result) (factory.Triaged, error) {
	t := factory.Triaged{Reason: res.Why}
	switch res.Verdict {
	case triage.Planned:
		t.Verdict, t.Hints = factory.TriageReady, res.Hints
	case triage.Waiting:
		t.Verdict, t.Reason = factory.TriageWaits, fmt.Sprintf("waits for you: %s (%s)", res.Why, res.Checkpoint)
	case triage.Later:
		t.Verdict, t.Until = factory.TriageLater, res.Until
		t.Reason = fmt.Sprintf("tried again at %s: %s", res.Until.UTC().Format("15:04Z"), res.Why)
	case triage.Turned:
		t.Verdict = factory.TriageStopped
	case triage.Decomposed:
		done, reason, err := d.parts(ctx, res.Children)
		if err != nil {
			return t, err
		}
		if t.Verdict, t.Reason = factory.TriageWaits, reason; done {
			t.Verdict = factory.TriageDone
		}
	default:
		return t, fmt.Errorf("triage was interrupted: %s", res.Why)
	}
	t.Reason = factory.Line(t.Reason)
	return t, nil
}

// Answered says that somebody answered, or that the parts moved.
func (d *triager) Answered(ctx context.Context, i work.Issue) (bool, error) {
	d.mu.Lock()
	res, over := d.told[i.ID]
	d.mu.Unlock()
	if !over {
		row, _, ok, err := d.newest(ctx, i.ID)
		if err != nil || !ok {
			return !ok, err
		}
		if !row.Outcome.Final() {
			rows, err := d.worker.Journal.Inbox(ctx, row.ID)
			if err != nil || len(rows) > 0 || row.Outcome != work.RunFrozen && !row.Alive {
				return true, err
			}
			open, err := d.worker.Journal.Checkpoints(ctx, journal.CheckpointFilter{Run: row.ID, Status: work.CheckpointPending}, 10, "")
			for _, cp := range open {
				if cp.ExpiresAt != nil && !d.worker.Now().Before(*cp.ExpiresAt) {
					return true, err // the same is asked again
				}
			}
			return false, err
		}
		s, err := d.worker.TriageRun(ctx, row.ID)
		if err != nil {
			return false, err
		}
		res = s.Result()
		d.remember(i.ID, res)
	}
	if res.Verdict != triage.Decomposed {
		return true, nil
	}
	done, reason, err := d.parts(ctx, res.Children)
	return done || reason != i.Reason, err
}

// remember keeps what does not change any more.
func (d *triager) remember(issue int64, res triage.Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.told, issue)
	if res.Verdict == triage.Decomposed {
		d.told[issue] = res
	}
}

func (d *triager) parts(ctx context.Context, ids []int64) (done bool, reason string, err error) {
	var parts []work.Issue
	for _, id := range ids {
		i, err := d.worker.Journal.Issue(ctx, d.worker.Project, id)
		if err != nil {
			return false, "", err
		}
		parts = append(parts, i)
	}
	done, reason = factory.Parts(parts)
	return done, reason, nil
}

// spec is what a thread about the last issue of a lineage is opened with.
func (d *triager) spec(ctx context.Context, p *project.Checkout, line []work.Issue, by triageBy) (triage.Spec, error) {
	i := line[len(line)-1]
	chain, err := policiesOf(p, line)
	if err != nil {
		return triage.Spec{}, err
	}
	bound, err := d.bound(p, line)
	if err != nil {
		return triage.Spec{}, err
	}
	set, err := config.Resolve(p.Config, onePhase("Issue", 0), config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return triage.Spec{}, err
	}
	sp := triage.Spec{
		OutageWaitSecs: set.OutageWaitSecs, ExpirySecs: set.CheckpointExpirySecs,
		Project: d.worker.Project, Issue: i.ID, Parent: i.Parent, Depth: len(line), Title: i.Title, Description: i.Description, Criteria: i.Criteria, Labels: i.Labels,
		Who: by.who, Why: by.why, Inferrer: by.name, Model: by.model, Tier: by.tier, CallUSD: config.ValueOf(p.Config.File.Factory.TriageCallUSD),
		Policy: gates.MeetAll(chain...), Bound: bound,
	}
	if len(line) > 1 {
		// What the work above has gathered counts here, too.
		sp.Risk, err = d.risk(ctx, line[len(line)-2])
	}
	return sp, err
}

// drive brings the issue's thread as far as it gets.
func (d *triager) drive(ctx context.Context, p *project.Checkout, sp triage.Spec, by triageBy) (triage.Result, error) {
	row, next, ok, err := d.newest(ctx, sp.Issue)
	if err != nil {
		return triage.Result{}, err
	}
	if sp.Attempt = next; ok {
		s, err := d.worker.TriageRun(ctx, row.ID)
		if err != nil {
			return triage.Result{}, err
		}
		same := triage.SameText(s.Spec, sp)
		switch {
		case same && s.Outcome == work.RunCompleted:
			return s.Result(), nil
		case !s.Outcome.Final():
			lease, err := d.worker.acquire(ctx, row.ID)
			if err != nil {
				return triage.Result{}, err
			}
			// Whoever held it before may have written since.
			if s, err = d.worker.TriageRun(ctx, row.ID); err == nil {
				err = runs.CheckAnchor(ctx, p, d.worker.Machine, row.ID)
			}
			if err != nil {
				return triage.Result{}, errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
			}
			if same {
				return d.run(ctx, p, lease, s, triage.Resumed{By: "factory", Policy: &sp.Policy}, by)
			}
			// The text that people and models were asked about is not the issue's
			// any more: nothing that was said of it holds.
			if err := d.close(ctx, p, lease, s, "factory", "the issue was edited"); err != nil {
				return triage.Result{}, err
			}
		}
	}
	return d.open(ctx, p, sp, by)
}

// open opens the next thread of an issue.
func (d *triager) open(ctx context.Context, p *project.Checkout, sp triage.Spec, by triageBy) (triage.Result, error) {
	id := triage.ThreadID(sp.Issue, sp.Attempt)
	lease, err := d.worker.Journal.CreateIssueRun(ctx, id, journal.Self(), d.worker.Project, sp.Issue)
	if errors.Is(err, journal.ErrRunExists) {
		// Made by a process that died before its first event.
		if lease, err = d.worker.acquire(ctx, id); err == nil {
			var count int64
			if count, _, err = d.worker.Journal.Head(ctx, id); err == nil && count > 0 {
				err = fmt.Errorf("open %s: somebody else did", id)
			}
			if err != nil {
				err = errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
			}
		}
	}
	if err != nil {
		return triage.Result{}, err
	}
	first := triage.Opened{Inline: &sp}
	text, err := json.Marshal(sp)
	if err == nil && len(text) > work.MaxEventBytes/2 {
		first.Inline = nil
		first.Blob, err = d.worker.Journal.PutBlob(ctx, text)
	}
	if err != nil {
		return triage.Result{}, errors.Join(fmt.Errorf("record what %s is opened with: %w", id, err), lease.Release(context.WithoutCancel(ctx)))
	}
	if hidden := triage.NewState(id, sp).Spec.Hidden; hidden > 0 {
		d.worker.Log.Warn("the issue's text holds what nobody would see; it was left out", "issue", sp.Issue, "places", hidden)
	}
	return d.run(ctx, p, lease, triage.NewState(id, sp), first, by)
}

// run drives a thread under a lease, and gives that back.
func (d *triager) run(ctx context.Context, p *project.Checkout, lease *journal.Lease, s *triage.State, first triage.Fact, by triageBy) (triage.Result, error) {
	after := context.WithoutCancel(ctx)
	defer func() {
		if err := lease.Release(after); err != nil {
			d.worker.Log.Warn("give the thread back", "thread", s.Thread, "err", err)
		}
	}()
	driver := &triage.Driver{
		Journal: &runs.Held{Store: d.worker.Journal, Lease: lease, Now: d.worker.Now}, Board: &threadBoard{triager: d, p: p},
		Processes: runs.Processes{Kill: proc.KillMarked, Log: d.worker.Log}, Now: d.worker.Now, NewMark: runs.NewMark,
	}
	if s.Spec.Who == triage.ByModel {
		inferrer, done, err := d.inferrer(ctx, p, s, by)
		if err != nil {
			return triage.Result{}, err
		}
		defer done()
		driver.Inferrer = inferrer
	}
	res, err := driver.Run(ctx, s, first)
	if err != nil {
		return res, err
	}
	if err := runs.Anchor(after, p, d.worker.Machine, s.Thread); err != nil {
		d.worker.Log.Warn("note the journal's length in Forge's repository", "err", err)
	}
	d.notify(after, p, s)
	return res, nil
}

// close ends a thread that nobody goes on with.
func (d *triager) close(ctx context.Context, p *project.Checkout, lease *journal.Lease, s *triage.State, by, why string) error {
	after := context.WithoutCancel(ctx)
	defer func() { _ = lease.Release(after) }()
	driver := &triage.Driver{
		Journal: &runs.Held{Store: d.worker.Journal, Lease: lease, Now: d.worker.Now}, Board: &threadBoard{triager: d, p: p},
		Processes: runs.Processes{Kill: proc.KillMarked, Log: d.worker.Log}, Now: d.worker.Now, NewMark: runs.NewMark,
	}
	_, err := driver.Dismiss(after, s, by, why)
	return err
}

// endTriage closes what the triage of an issue asks, since nobody wants the
// answer any more. One that a process is at stops with that.
func endTriage(ctx context.Context, b *board.Opened, i work.Issue, by factory.By) error {
	d := newTriager(&Worker{Opened: b})
	row, _, ok, err := d.newest(ctx, i.ID)
	if err != nil || !ok || row.Outcome.Final() {
		return err
	}
	lease, err := d.worker.acquire(ctx, row.ID)
	if errors.Is(err, factory.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := b.TriageRun(ctx, row.ID)
	if err != nil {
		return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	return d.close(ctx, b.Checkout, lease, s, by.Name, "the issue was cancelled")
}
