package orchestrator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"forge/gates"
	"forge/internal/stuck"
	"forge/internal/text"
	"forge/internal/work"
)

// Decide says which events follow from an input, one step at a time: apply
// what it returns, then ask again with Settle until nothing follows. It
// changes nothing.
func Decide(s *State, in Input) []work.Event {
	d := &decision{s: s, now: in.Now, day: in.Day, gates: theGates}
	switch f := in.Fact.(type) {
	case Opened:
		d.opened(f)
	case Resumed:
		d.resumed(f)
	case Began:
		d.began(f.Command)
	case FolderDone:
		d.folderDone(f)
	case IterationDone:
		d.iterationDone(f)
	case TellDone:
		d.tellDone(f)
	case VerifyDone:
		d.verifyDone(f)
	case ControlDone:
		d.controlDone(f)
	case ReviewDone:
		d.reviewDone(f)
	case ArbiterDone:
		d.arbiterDone(f)
	case VoteDone:
		d.voteDone(f)
	case MergeDone:
		if d.awaited(f.Command) {
			d.emit(work.MergeFinished, f.Command, clipMerge(f.Result))
		}
	case TrainDone:
		d.trainDone(f)
	case LandDone:
		if d.awaited(f.Command) {
			d.landDone(f)
		}
	case PublishDone:
		d.publishDone(f)
	case ReadDone:
		d.readDone(f)
	case CloseDone:
		d.closeDone(f)
	case DeliverDone:
		if d.awaited(f.Command) {
			del := f.Delivery
			del.Reason, del.Undo, del.Next = text.ClipJSON(del.Reason, 1000), text.ClipJSON(del.Undo, 1000), text.ClipJSON(del.Next, 1000)
			d.emit(work.DeliverFinished, f.Command, DeliverFinishedData{Command: f.Command.ID, Delivery: del})
		}
	case TogetherDone:
		d.togetherDone(f)
	case HookDone:
		d.hookDone(f)
	case Broke:
		d.broke(f)
	case Answered:
		d.answered(f.Answer)
	case Overdue:
		d.overdue(f)
	case Stop:
		if s.Live && s.Stopping == nil {
			d.run(work.RunStopping, s.notHalf(f))
		}
	case Drained:
		d.drained()
	case Tick, settled:
		d.settle()
	}
	return d.out
}

// Feed decides, applies, and settles until nothing follows; it returns the
// events in order. The state is then that after the last one.
func Feed(s *State, in Input) ([]work.Event, error) {
	var all []work.Event
	for evs := Decide(s, in); len(evs) > 0; evs = Decide(s, Input{Now: in.Now, Day: in.Day, Fact: settled{}}) {
		for _, e := range evs {
			if err := Apply(s, e); err != nil {
				return nil, err
			}
		}
		all = append(all, evs...)
		if len(all) > 100*(len(s.Phases)+10) {
			return nil, fmt.Errorf("decide run %s: the same decisions follow each other without end", s.Run)
		}
	}
	return all, nil
}

// decision collects the events of one step.
type decision struct {
	s   *State
	now time.Time
	day Day
	out []work.Event
	// gates is the table that is decided by.
	gates *gateTable
	// granted are the nodes that may carry something out, see settle.
	granted map[string]bool
}

func (d *decision) add(e work.Event, data any) {
	raw, err := encode(data)
	if err != nil {
		// Payloads are our own types; what they cannot hold is kept out by
		// Usage.Clean and the clipping below.
		raw, _ = encode(WarnedData{What: "payload lost", Detail: err.Error()})
	}
	e.V, e.Seq, e.Time, e.Run, e.Data = work.EventVersion, d.s.Seq+int64(len(d.out))+1, d.now.UTC(), d.s.Run, raw
	d.out = append(d.out, e)
}

// encode writes angle brackets as they are: six bytes each would make events
// of a page of HTML larger than an event may be.
func encode(data any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(data)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (d *decision) run(kind work.EventKind, data any) { d.add(work.Event{Kind: kind}, data) }

func (d *decision) phase(number string, kind work.EventKind, data any) {
	e := work.Event{Kind: kind, Phase: number}
	if p := d.s.Phases[number]; p != nil {
		e.Iteration = p.Iteration
	}
	d.add(e, data)
}

func (d *decision) emit(kind work.EventKind, c Command, data any) {
	d.add(work.Event{Kind: kind, Phase: c.Phase, Iteration: c.Iteration, Attempt: c.Attempt}, data)
}

// awaited records a result that nobody waits for any more, and drops it.
func (d *decision) awaited(c Command) bool {
	if d.s.Live && d.s.expects(c) {
		return true
	}
	if d.s.Live {
		d.phase(c.Phase, work.Warned, WarnedData{What: "late result ignored", Detail: string(c.ID)})
	}
	return false
}

func (d *decision) opened(f Opened) {
	if d.s.Seq != 0 {
		return
	}
	sp := d.s.Spec
	fork := ""
	if f := sp.Fork; f != nil {
		fork = fmt.Sprintf("run %s, phase %s, iteration %d", f.Run, f.Phase, f.Iteration)
	}
	d.run(work.RunStarted, RunStartedData{
		Spec: f.Inline, Blob: f.Blob, Policy: d.s.version, Level: d.s.Level(),
		Branch: sp.Branch, Base: sp.Base.Commit, Phases: len(sp.Plan.Phases), Fork: fork,
		Core: f.Core,
	})
}

func (d *decision) resumed(f Resumed) {
	if d.s.Seq == 0 || d.s.Outcome == work.RunCompleted || d.s.Outcome == work.RunCancelled {
		return
	}
	if d.s.Outcome == work.RunFailed && !f.Reopen {
		return
	}
	d.run(work.RunResumed, f.RunResumedData)
	if d.s.Outcome != work.RunFailed {
		return
	}
	if s := d.s; s.Job != nil {
		if p := s.lastOfJob(); p != nil && p.Stage == StageFinished && p.Outcome != work.PhaseDone {
			d.phase(p.Number, work.PhaseReopened, PhaseReopenedData{Why: reopenResume, Budget: d.budgetOf(p, f)})
		}
		return
	}
	// In the graph's order, so that a cause is open again before its dependents.
	for _, n := range d.s.topo {
		p := d.s.Phases[n]
		if p.Stage != StageFinished || p.Outcome == work.PhaseDone {
			continue
		}
		d.phase(n, work.PhaseReopened, PhaseReopenedData{Why: reopenResume, Budget: d.budgetOf(p, f)})
	}
}

func (d *decision) budgetOf(p *Phase, f Resumed) int {
	if b, ok := f.Budgets[p.Number]; ok {
		return b
	}
	return p.Set.Budget
}

func (d *decision) began(c Command) {
	if !d.s.Live || d.s.Stopping != nil && c.Step != StepClose || !d.s.expects(c) {
		return
	}
	switch c.Step {
	case StepFolder:
		d.emit(work.FolderStarted, c, EffectData{Command: c.ID})
	case StepIterate:
		p := d.s.Phases[c.Phase]
		if p.Begun {
			return
		}
		session := d.s.sessionOf(p)
		d.emit(work.IterationStarted, c, work.IterationStartedData{
			Command: c.ID, Agent: p.Set.Agent, Session: session, Prompt: promptKind(d.s, p),
			Told: p.unreadIDs(), Lessons: d.s.lessonsTold(session), Fix: c.Kind.Free(), Reserved: d.s.Spec.Settings.Cost.IterationUSD,
		})
	case StepTell:
		d.emit(work.TellStarted, c, TellStartedData{Command: c.ID, ID: c.Message})
	case StepBase, StepVerify:
		d.emit(work.VerifyStarted, c, work.VerifyStartedData{Command: c.ID, On: c.On, Commit: c.Commit, Repository: d.s.repositoryOf(c)})
	case StepControl:
		d.emit(work.ControlStarted, c, work.VerifyStartedData{Command: c.ID, On: c.On, Commit: c.Commit, Repository: d.s.repositoryOf(c)})
	case StepRest:
		d.emit(work.RestStarted, c, work.VerifyStartedData{Command: c.ID, On: c.On, Commit: c.Commit, Repository: d.s.repositoryOf(c)})
	case StepReview:
		d.reviewBegan(c)
	case StepArbiter:
		d.arbiterBegan(c)
	case StepVote:
		d.voteBegan(c)
	case StepMerge:
		d.emit(work.MergeStarted, c, EffectData{Command: c.ID})
	case StepTrain:
		members := d.s.nextTrain()
		if d.s.Train != nil {
			members = d.s.Train.Members
		}
		d.emit(work.TrainStarted, c, TrainStartedData{Command: c.ID, Members: members})
	case StepLand:
		d.emit(work.LandStarted, c, EffectData{Command: c.ID})
	case StepPublish:
		p := d.s.Phases[c.Phase]
		if u := cmp.Or(p.Pull, d.s.proposed(p)); u.Publishing == nil {
			d.emit(work.PublishBegan, c, PublishStarted{Command: c.ID, Checkpoint: c.Checkpoint, Branch: u.Branch, Commit: c.Commit})
		}
	case StepPull:
		d.emit(work.PullStarted, c, EffectData{Command: c.ID})
	case StepClose:
		d.emit(work.CloseStarted, c, EffectData{Command: c.ID})
	case StepHook:
		d.hookBegan(c)
	case StepDeliver:
		d.emit(work.DeliverStarted, c, EffectData{Command: c.ID})
	case StepPrepare, StepUpdate, StepPropose, StepLink, StepLook, StepMove, StepTakeBack:
		d.emit(work.TogetherStarted, c, TogetherStartedData{Command: c.ID, Step: c.Step, Repository: Called(c.Repository), Commit: c.Commit})
	}
}

func (d *decision) folderDone(f FolderDone) {
	if !d.awaited(f.Command) {
		return
	}
	data := FolderFinishedData{Command: f.Command.ID, OK: f.Setup.OK, Problem: text.ClipJSON(f.Setup.Problem, 500)}
	if failed := f.Setup.Failed(); failed != nil {
		data.Output = text.ClipMiddle(failed.Output, maxOutput)
	}
	if !f.Setup.OK && data.Problem == "" {
		data.Problem = "the folder could not be made ready"
	}
	d.emit(work.FolderFinished, f.Command, data)
}

func (d *decision) iterationDone(f IterationDone) {
	if !d.awaited(f.Command) {
		return
	}
	p, r := d.s.Phases[f.Command.Phase], f.Report
	if !p.Begun {
		return
	}
	data := work.IterationFinishedData{
		Command: f.Command.ID, Outcome: r.Outcome, Detail: text.ClipJSON(r.Detail, 500),
		Changed: f.Snapshot.Changed, Files: len(f.Snapshot.Files), Signals: clipSignals(r.Signals),
		Claims: r.Claims, Usage: r.Usage.Clean(), Total: r.Total.Clean(),
		Snapshot: f.Snapshot.Commit, Tree: f.Snapshot.Tree, Fix: f.Command.Kind.Free(),
		Session: text.ClipJSON(r.Session, 200), Lost: r.SessionLost, Denied: clipList(r.Denied, 10, 100), Dropped: clipList(f.Snapshot.Dropped, 10, 100),
		ExitCode: r.ExitCode, Left: r.LeftBehind, Sandbox: r.Sandbox, ResetAt: r.ResetAt,
		Message: text.ClipJSON(r.Message, 1000), Heard: clipList(r.Heard, maxMessages, 60), Conflicts: clipList(f.Markers, 10, 100), Todos: p.checked(f.Todos),
		Trace: trace(r, f.Snapshot), Network: clipHosts(r.Network), Size: f.Size,
	}
	if data.Outcome == "" {
		data.Outcome, data.Detail = work.OutcomeAgentFailed, "the agent's outcome is unknown"
	}
	if stop := d.s.Stopping; data.Outcome == work.OutcomeInterrupted && stop != nil && stop.Outcome == work.RunCancelled {
		data.Outcome = work.OutcomeCancelled
	}
	if !data.Outcome.KeepsClaim() {
		data.Claims = nil
	}
	data.Claims = distinct(data.Claims)
	if p.Set.Permission == work.PermissionReadonly && f.Snapshot.Changed {
		data.Outcome, data.Detail = work.OutcomeReadonlyViolation, fmt.Sprintf("a readonly phase changed %s", text.Number(len(f.Snapshot.Files), "file"))
		data.Snapshot, data.Tree, data.Claims = "", "", nil
	}
	if data.Outcome == work.OutcomeInterrupted || data.Outcome == work.OutcomeRateLimited {
		// Such an iteration runs again from where it began.
		data.Snapshot, data.Tree = "", ""
	}
	for _, leave := range []func(){
		func() { data.Trace = nil }, // what has no room is judged by the count of what changed
		func() { data.Signals.Summaries = nil },
		func() { data.Signals.Replies = nil },
	} {
		if size, err := encode(data); err == nil && len(size) <= work.MaxEventBytes {
			break
		}
		leave()
	}
	d.emit(work.IterationFinished, f.Command, data)
}

// trace is what was seen of an iteration, within its bounds.
func trace(r work.IterationReport, snap work.Snapshot) *stuck.Trace {
	t := r.Trace.Clipped()
	if t == nil {
		return nil
	}
	t.Shape, t.Bare = snap.Shape, snap.Bare
	for _, f := range snap.Files {
		t.Files = append(t.Files, f.Path)
	}
	return t.Clipped()
}

// distinct keeps the first two different claims: said twice is said once, and
// with two different ones nothing is claimed.
func distinct(claims []string) []string {
	var out []string
	for _, c := range claims {
		if c = text.ClipJSON(c, 2*work.MaxPromiseBytes); len(out) == 0 || c != out[0] {
			if out = append(out, c); len(out) == 2 {
				break
			}
		}
	}
	return out
}

// broke ends what could not be carried out: it is neither red nor green, so
// the phase cannot go on. Where the machine ran out of something, the phase is
// not to blame: the run stops.
func (d *decision) broke(f Broke) {
	if !d.awaited(f.Command) {
		return
	}
	if f.Short != "" && f.Command.Step != StepClose {
		if d.s.Stopping == nil {
			d.run(work.RunStopping, RunStoppingData{Outcome: work.RunInterrupted, Reason: RanOut(f.Short)})
		}
		return // it is done again by whoever resumes the run
	}
	switch trouble := Unreached("carry it out", errors.New(text.ClipJSON(f.Problem, 300))); f.Command.Step {
	case StepRest:
		d.restFinished(f.Command, work.RestFinishedData{ControlFinishedData: work.ControlFinishedData{ID: f.Command.ID}, Failed: text.ClipJSON(f.Problem, 300)})
		return
	case StepTrain:
		d.trainBroke(f)
		return
	case StepTell:
		d.tellDone(TellDone{Command: f.Command, Report: work.TellReport{Why: f.Problem}})
		return
	case StepVote:
		d.voteDone(VoteDone{Command: f.Command, Report: work.VoteReport{Why: "it could not be asked: " + f.Problem}})
		return
	case StepHook:
		d.hookDone(HookDone{Command: f.Command, Report: work.HookReport{Ended: "it could not be asked: " + f.Problem}})
		return
	case StepPublish:
		d.publishDone(PublishDone{Command: f.Command, Result: PullPublished{Trouble: trouble}})
		return
	case StepPull:
		d.readDone(ReadDone{Command: f.Command, Reading: PullReading{Trouble: trouble}})
		return
	case StepClose:
		d.closeDone(CloseDone{Command: f.Command, Trouble: trouble})
		return
	}
	p := d.s.Phases[f.Command.Phase]
	if p == nil {
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunInterrupted, Reason: StopInternal + text.ClipJSON(f.Problem+d.s.tellHalf(), 500)})
		return
	}
	d.finish(p, work.PhaseFailed, work.ReasonInternal, f.Problem)
}

func (d *decision) finish(p *Phase, outcome work.PhaseOutcome, reason work.Reason, detail string) {
	if p.merged() && (outcome == work.PhaseFailed || outcome == work.PhaseCancelled && d.s.Stopping == nil) {
		// A rework came to nothing: what was merged before stands, and the
		// next final question says so.
		why := cmp.Or(string(reason), string(outcome))
		outcome, detail, reason = work.PhaseDone, fmt.Sprintf("the rework was dropped (%s): %s", why, detail), ""
	}
	data := work.PhaseFinishedData{Outcome: outcome, Reason: reason, Detail: text.ClipJSON(detail, 500), Iterations: p.Iteration}
	if outcome == work.PhaseDone {
		data.Proof = p.Proof
	}
	d.phase(p.Number, work.PhaseFinished, data)
}

func (d *decision) gate(number, gate, decision, by, reason string) {
	d.decide(number, work.GateDecidedData{
		Gate: gate, Decision: decision, By: by, Reason: text.ClipJSON(reason, 500), Policy: d.s.versionOf(d.s.Phases[number]),
	})
}

func (d *decision) rule(number, gate, decision, reason string) {
	d.gate(number, gate, decision, "rule:"+gate, reason)
}

// strategy records what the strategy answered, under the decision's own word.
func (d *decision) strategy(number string, gate gates.Point, decision string, dec gates.Decision) {
	d.decide(number, work.GateDecidedData{
		Gate: string(gate), Decision: decision, By: dec.By, Passed: dec.Passed, Failed: dec.Failed,
		Facts: text.ClipJSON(dec.Facts, 500), Reason: text.ClipJSON(dec.Reason, 500), Policy: d.s.versionOf(d.s.Phases[number]),
	})
}
