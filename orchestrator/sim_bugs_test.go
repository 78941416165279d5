package orchestrator

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/dag"
	"forge/gates"
	"forge/internal/pace"
	"forge/internal/work"
	"forge/review"
)

// rewrite replaces the payload of the events of one kind.
func rewrite[T any](kind work.EventKind, change func(s *State, e *work.Event, d *T)) func(*State, Fact, []work.Event) []work.Event {
	return func(s *State, _ Fact, evs []work.Event) []work.Event {
		for i := range evs {
			var d T
			if evs[i].Kind != kind || decode(evs[i], &d) != nil {
				continue
			}
			change(s, &evs[i], &d)
			evs[i].Data, _ = encode(d)
		}
		return evs
	}
}

// afterApply changes the state behind the back of the events.
func afterApply(change func(s *State, e work.Event)) func(*State, work.Event, func() error) error {
	return func(s *State, e work.Event, apply func() error) error {
		err := apply()
		if err == nil {
			change(s, e)
		}
		return err
	}
}

// forget is a run without a memory of what its reviews came to.
func (i *IssueState) forget() {
	if i != nil {
		i.Fixes, i.Warned, i.Proceeded = 0, false, false
	}
}

// TestSeededBugs shows that the simulation finds what it is there to find:
// each row breaks the core in one way, and has to fail within the same number
// of schedules for the reason that it should.
func TestSeededBugs(t *testing.T) {
	pace.Slow(t, "schedules until each bug is found")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	tests := []struct {
		name string
		bug  bug
		want []string // one of these is the complaint
	}{
		{"a red verify turned green", bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			d.OK = true
		})}, []string{"in truth it is not"}},
		{"a proof of something else believed", bug{fact: func(_ *State, f Fact) Fact {
			if v, ok := f.(VerifyDone); ok && v.Before != nil {
				b := *v.Before
				b.Key, b.Tree = v.Key.Key, v.Key.Tree
				v.Before = &b
				return v
			}
			return f
		}}, []string{"which never was", "which was red"}},
		{"what waits taken for stuck", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil && len(p.Seen.Iterations) > 0 {
				p.Seen.Iterations[len(p.Seen.Iterations)-1].Wait = nil
			}
		})}, []string{"is taken for stuck"}},
		{"a pivot forgotten before it was given", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil {
				p.Stale.Pivoted = true
			}
		})}, []string{"was never steered"}},
		{"the age of a proof ignored", bug{apply: afterApply(func(s *State, _ work.Event) {
			if s.Spec.Settings.Verify.ReuseSecs > 0 {
				s.Spec.Settings.Verify.ReuseSecs = 1 << 30
			}
		})}, []string{"which may be"}},
		{"--fresh ignored", bug{apply: afterApply(func(s *State, _ work.Event) { s.Spec.Fresh = false })}, []string{"in spite of --fresh"}},
		{"touched evidence ignored", bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			d.Touched, d.Floors = nil, slices.DeleteFunc(d.Floors, func(f work.VerifyOn) bool { return f == work.OnProtected })
		})}, []string{"whose protected files nobody checked"}},
		{"a proof that nobody held against the evidence counts", bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			if strings.HasPrefix(d.Problem, "nobody held") || strings.HasPrefix(d.Problem, "a proof is due") {
				d.OK, d.Held = true, true
			}
		})}, []string{"in truth it is not"}},
		{"hidden checks taken for green", bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			d.OK = d.OK || strings.HasPrefix(d.Problem, "a check of the project's owner") || strings.HasPrefix(d.Problem, "nobody ran the hidden")
		})}, []string{"in truth it is not", "which no hidden check passed"}},
		{"the trusted evidence not asked", bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			d.Floors = slices.DeleteFunc(d.Floors, func(f work.VerifyOn) bool { return f == work.OnTrusted })
		})}, []string{"which nobody held against the trusted evidence"}},
		{"what may be product never left in", bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			d.Floors = slices.DeleteFunc(d.Floors, func(f work.VerifyOn) bool { return f == work.OnTrustedChanged })
		})}, []string{"with what may be product left in it"}},
		{"red trusted evidence taken for green", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.VerifyFinished && p != nil && p.Judged.Outcome == outcomeEvidence {
				s.move(p, s.afterProof(p))
			}
		})}, []string{"which nobody held against the trusted evidence", "whose trusted evidence is red", "with what may be product left in it", "with tampered tests", "whose protected files nobody checked", "proven false"}},
		{"a test runner never asked", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; p != nil && p.Stage == StageControl {
				p.Proving.Ask = false
				s.move(p, s.afterProof(p))
			}
		})}, []string{"no test runner was asked about it"}},
		{"tests that cannot fail taken for green", bug{events: rewrite(work.ControlFinished, func(_ *State, _ *work.Event, d *work.ControlFinishedData) {
			d.Deaf = nil
		})}, []string{"on which no test can fail", "proven was"}},
		{"a judge that is installed otherwise taken for the trusted one", bug{events: rewrite(work.ControlFinished, func(_ *State, _ *work.Event, d *work.ControlFinishedData) {
			d.Replaced = nil
		})}, []string{"on which no test can fail", "proven was"}},
		{"lost tests ignored", bug{events: rewrite(work.ControlFinished, func(_ *State, _ *work.Event, d *work.ControlFinishedData) {
			d.Lost = nil
		})}, []string{"on which tests are lost", "proven was"}},
		{"tests that were made softer ignored", bug{events: rewrite(work.ControlFinished, func(_ *State, _ *work.Event, d *work.ControlFinishedData) {
			d.Softened = nil
		})}, []string{"were made softer, and nobody was asked"}},
		{"a doubt forgotten", bug{apply: afterApply(func(s *State, _ work.Event) { s.Doubts = nil })}, []string{"is in doubt, and nobody was asked", "cannot fail, and nobody was asked"}},
		{"what a sub-phase was proven with forgotten", bug{apply: afterApply(func(s *State, _ work.Event) {
			for _, p := range s.Phases {
				p.Parts = nil
			}
		})}, []string{"which nobody held against the evidence of its parts"}},
		{"the proof with the evidence of parts left out", bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			d.Floors = slices.DeleteFunc(d.Floors, func(f work.VerifyOn) bool { return f == work.OnParts })
		})}, []string{"which nobody held against the evidence of its parts"}},
		{"what controls had no time for never tried", bug{apply: afterApply(func(s *State, _ work.Event) { s.Rests = nil })}, []string{"was never tried"}},
		{"what the end of the run finds forgotten", bug{events: rewrite(work.RestFinished, func(_ *State, _ *work.Event, d *work.RestFinishedData) {
			d.Deaf, d.Problem, d.Failed = nil, "", ""
		})}, []string{"cannot fail, and nobody was asked"}},
		{"a test that cannot fail let pass by a policy", bug{apply: afterApply(func(s *State, _ work.Event) {
			s.Doubts = slices.DeleteFunc(s.Doubts, func(d work.Doubt) bool { return d.Kind == work.DoubtDisturbed })
		})}, []string{"cannot fail, and nobody was asked"}},
		{"a disturbed proof taken for green", bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			d.OK, d.Disturbed = d.OK || d.Disturbed != "", ""
		})}, []string{"in truth it is not"}},
		{"the merged tree not verified again", bug{events: rewrite(work.GateDecided, func(_ *State, _ *work.Event, d *work.GateDecidedData) {
			if d.Decision == decideReverify {
				d.Decision, d.To = decideLand, ""
			}
		})}, []string{"proven false", "proven was"}},
		{"a claim that leads past its proof", bug{events: rewrite(work.GateDecided, func(_ *State, _ *work.Event, d *work.GateDecidedData) {
			if d.To == string(StageVerify) {
				d.To = string(StageProven)
			}
		})}, []string{"and its rule to"}},
		{"conflict markers ignored", bug{events: rewrite(work.IterationFinished, func(_ *State, _ *work.Event, d *work.IterationFinishedData) {
			d.Conflicts = nil
		})}, []string{"with conflict markers"}},
		{"a conflict landed as it is", bug{events: rewrite(work.MergeFinished, func(_ *State, _ *work.Event, d *MergeFinishedData) {
			d.Conflicts = nil
		})}, []string{"with conflict markers"}},
		{"an issue's conflict taken for none", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.PhaseStarted && p != nil {
				p.Marked = nil
			}
		})}, []string{"with conflict markers"}},
		{"a claim taken from a failed iteration", bug{fact: func(_ *State, f Fact) Fact {
			if it, ok := f.(IterationDone); ok && it.Report.Outcome == work.OutcomeAgentFailed {
				it.Report.Outcome = work.OutcomeOK
				return it
			}
			return f
		}}, []string{"claimed its promise, and has not"}},
		{"another phase's promise taken", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil && len(p.Judged.Claims) > 0 {
				p.Judged.Claims = []string{p.Plan.Promise}
			}
		})}, []string{"claimed its promise, and has not"}},
		{"a reservation forgotten", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationStarted {
				clear(s.Ledger.Reserved)
				clear(s.top(p).Usage.Reserved)
			}
		})}, []string{"cap "}},
		{"silence counted as free", bug{apply: afterApply(func(s *State, e work.Event) {
			s.Ledger.UnknownUSD, s.Ledger.UnknownTokens = 0, 0
			for _, p := range s.Phases {
				p.Usage.UnknownUSD, p.Usage.UnknownTokens = 0, 0
			}
		})}, []string{"is unknown", "are unknown"}},
		{"a skipped dependent started", bug{events: func(s *State, _ Fact, evs []work.Event) []work.Event {
			for i, e := range evs {
				var d work.PhaseFinishedData
				if e.Kind == work.PhaseFinished && decode(e, &d) == nil && d.Reason == work.ReasonDependencyFailed {
					evs[i].Kind = work.PhaseStarted
				}
			}
			return evs
		}}, []string{"starts, but"}},
		{"the merge turn not held", bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.MergeStarted {
				s.Merger = ""
			}
		})}, []string{"lands in the turn of", "merge at once", "nobody waits for", "nobody merges it"}},
		{"an interrupted iteration not taken back", bug{apply: func(s *State, e work.Event, apply func() error) error {
			begun := map[*Phase]bool{}
			for _, p := range s.Phases {
				begun[p] = p.Begun && e.Kind == work.RunResumed
			}
			err := apply()
			for p, was := range begun {
				if was && p.Stage == StageGate {
					p.Begun, p.Stage = true, StageIterate
					p.Iteration++
				}
			}
			return err
		}}, []string{"runs twice", "ends in the books without having begun"}},
		{"an interrupted iteration lost", bug{apply: func(s *State, e work.Event, apply func() error) error {
			p := s.Phases[e.Phase]
			if e.Kind != work.IterationFinished || p == nil {
				return apply()
			}
			n := p.Iteration
			err := apply()
			p.Iteration = n
			return err
		}}, []string{"one is lost or done again"}},
		{"a doubled result accepted", bug{events: func(s *State, f Fact, evs []work.Event) []work.Event {
			it, ok := f.(IterationDone)
			if !ok || len(evs) != 1 || evs[0].Kind != work.Warned {
				return evs
			}
			evs[0] = work.Event{Kind: work.IterationFinished, Phase: it.Command.Phase, Iteration: it.Command.Iteration, Attempt: it.Command.Attempt}
			evs[0].Data, _ = json.Marshal(work.IterationFinishedData{Command: it.Command.ID, Outcome: work.OutcomeOK})
			return evs
		}}, []string{"or twice"}},
		{"an iteration beyond the budget", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p.Spent == p.Budget && p.Kind == IterationWork {
				p.Spent--
			}
		})}, []string{"beyond the budget"}},
		{"an answer for another revision accepted", bug{fact: func(_ *State, f Fact) Fact {
			if a, ok := f.(Answered); ok {
				a.Revision = 0
				return a
			}
			return f
		}}, []string{"which nobody said"}},
		{"an expired or unknown answer turned into yes", bug{fact: func(_ *State, f Fact) Fact {
			a, ok := f.(Answered)
			if ok && a.Status != work.CheckpointRejected && a.Status != work.CheckpointChangesRequested {
				a.Status = work.CheckpointApproved
				return a
			}
			return f
		}}, []string{"which nobody said"}},
		{"a no taken for a yes", bug{events: rewrite(work.GateDecided, func(_ *State, _ *work.Event, d *work.GateDecidedData) {
			if d.Decision == decideStop && strings.HasPrefix(d.By, "person:") {
				d.Decision = decideContinue
			}
		})}, []string{"after the answer"}},
		{"a human gate decided by a machine", bug{events: rewrite(work.GateDecided, func(_ *State, _ *work.Event, d *work.GateDecidedData) {
			if d.Decision == decideAsk {
				d.Decision, d.By = decideGo, "strategy:autonomous"
			}
		})}, []string{"is human, and", "without a yes of its own"}},
		{"a yes that serves twice", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p.Allowed > 0 {
				p.Allowed = p.Iteration + 1
			}
		})}, []string{"without a yes of its own"}},
		{"an answer that an expiry swallows", bug{hasty: true}, []string{"a door accepted an answer"}},
		{"an expiry taken as a yes", bug{events: func(_ *State, _ Fact, evs []work.Event) []work.Event {
			for i, e := range evs {
				var d CheckpointOverdueData
				if e.Kind == work.CheckpointOverdue && decode(e, &d) == nil {
					evs[i].Kind = work.CheckpointAnswered
					evs[i].Data, _ = encode(CheckpointAnsweredData{ID: d.ID, Status: work.CheckpointApproved, By: "test", Door: "cli"})
				}
			}
			return evs
		}}, []string{"which nobody said"}},
		{"an expiry that lets its phase go on", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.CheckpointOverdue && p != nil {
				p.Stage = p.AskedAt
			}
		})}, []string{"went on when"}},
		{"an expiry that asks nobody again", bug{events: func(_ *State, f Fact, evs []work.Event) []work.Event {
			if _, ok := f.(Overdue); ok && len(evs) > 0 {
				return evs[:1]
			}
			return evs
		}}, []string{"after an expiry comes", "nothing is pending"}},
		{"an answer lost with its process", bug{eager: true}, []string{"is lost"}},
		{"a cancelled run resumed", bug{events: func(s *State, f Fact, evs []work.Event) []work.Event {
			if _, ok := f.(Resumed); ok && s.Outcome == work.RunCancelled && len(evs) == 0 {
				return []work.Event{{Kind: work.RunResumed, Data: json.RawMessage("{}")}}
			}
			return evs
		}}, []string{"goes on"}},
		{"a run completed with phases that failed", bug{events: rewrite(work.RunFinished, func(_ *State, _ *work.Event, d *work.RunFinishedData) {
			if d.Outcome == work.RunFailed {
				d.Outcome = work.RunCompleted
			}
		})}, []string{"completes with phases", "the job completes"}},
		{"a run frozen too early", bug{events: func(s *State, _ Fact, evs []work.Event) []work.Event {
			if len(evs) > 0 && evs[len(evs)-1].Kind == work.CheckpointOpened && len(s.working) > 1 {
				evs = append(evs, work.Event{Kind: work.RunFinished})
				evs[len(evs)-1].Data, _ = json.Marshal(work.RunFinishedData{Outcome: work.RunFrozen})
			}
			return evs
		}}, []string{"freezes with", "under way"}},
		{"max_parallel ignored", bug{apply: afterApply(func(s *State, e work.Event) {
			s.Spec.Settings.MaxParallel = 9
		})}, []string{"phases run at once"}},
		{"an effect off the record", bug{events: func(_ *State, _ Fact, evs []work.Event) []work.Event {
			return slices.DeleteFunc(evs, func(e work.Event) bool { return e.Kind == work.IterationStarted })
		}}, []string{"without being on record"}},
		{"something that Apply decides by itself", bug{apply: func() func(*State, work.Event, func() error) error {
			n := 0
			return afterApply(func(s *State, e work.Event) {
				if n++; e.Kind == work.PhaseStarted {
					s.Phases[e.Phase].Budget += n % 2
				}
			})
		}()}, []string{"after a replay differs", "beyond the budget"}},
		{"a level that passes its bound", bug{events: rewrite(work.PolicyChanged, func(s *State, _ *work.Event, d *PolicyChangedData) {
			if s.Spec.Bound != nil {
				d.Policy, _ = gates.Preset(gates.PresetFull)
				d.Version = d.Policy.Version()
			}
		})}, []string{"freer than its bound"}},
		{"a level of a phase's own forgotten", bug{apply: afterApply(func(s *State, _ work.Event) {
			for _, p := range s.Phases {
				p.Set.Levels = nil
			}
		})}, []string{"names a person at", "is human, and"}},
		{"phases that nobody looked at forgotten", bug{apply: afterApply(func(s *State, _ work.Event) {
			for _, p := range s.Phases {
				p.Unseen = false
			}
		})}, []string{"is looked at"}},
		{"milestones forgotten", bug{apply: afterApply(func(s *State, _ work.Event) {
			s.Spec.Policy.Milestones = nil
		})}, []string{"is a milestone"}},
		{"a reviewer who is not sure taken for one who is", bug{apply: afterApply(func(s *State, _ work.Event) {
			for _, p := range s.Phases {
				for _, o := range p.Review.Of {
					sure := 1.0
					o.Confidence = &sure
				}
			}
		})}, []string{"sure"}},
		{"a stop of the agent waved through", bug{events: rewrite(work.GateDecided, func(_ *State, _ *work.Event, d *work.GateDecidedData) {
			if d.Gate == "ckpt.notes" && d.Decision == decideAsk {
				d.Decision, d.By = decideGo, "rule:ckpt.notes"
			}
		})}, []string{"is human, and", "nobody was asked"}},
		{"a missing review turned into a pass", bug{events: rewrite(work.ReviewFinished, func(_ *State, _ *work.Event, d *ReviewFinishedData) {
			if d.Verdict == work.VerdictUnknown {
				d.Verdict = work.VerdictPass
			}
		})}, []string{"without a review by", "without the answer of"}},
		{"critical findings forgotten", bug{events: rewrite(work.ReviewFinished, func(_ *State, _ *work.Event, d *ReviewFinishedData) {
			if d.Findings = nil; d.Verdict == work.VerdictFail {
				d.Verdict = work.VerdictWarn
			}
		})}, []string{"with a critical finding", "a critical finding"}},
		{"a reviewer that fails overheard", bug{events: rewrite(work.GateDecided, func(_ *State, _ *work.Event, d *work.GateDecidedData) {
			if d.Gate == gateReview && d.Decision == decideArbiter {
				d.Decision, d.To = decideGo, ""
			}
		})}, []string{"which nobody held against the trusted evidence", "without a review by", "with a critical finding", "whose protected files", "without the base's tests"}},
		{"merged content that nobody reviewed", bug{events: rewrite(work.MergeFinished, func(_ *State, _ *work.Event, d *MergeFinishedData) {
			d.Differs = nil
		})}, []string{"without a review by"}},
		{"fixes without an end", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.ArbiterDecided {
				p.Review.Attempts = 0
			}
		})}, []string{"gets fix"}},
		{"a fix that is red goes on", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; p != nil && p.Stage == StageArbiter {
				p.Review.Commit, p.Review.Tree = p.Last, p.Tree
			}
		})}, []string{"proven false", "without a review by", "without the answer of", "proven was", "in truth", "nobody waits for"}},
		{"a critical finding accepted without a reason", bug{events: rewrite(work.CheckpointOpened, func(s *State, e *work.Event, d *work.Checkpoint) {
			d.ReasonDue = false
		})}, []string{"without a reason"}},
		{"findings let pass by the arbiter's model", bug{events: func(s *State, _ Fact, evs []work.Event) []work.Event {
			for i := range evs {
				var d ArbiterDecidedData
				if evs[i].Kind == work.ArbiterDecided && decode(evs[i], &d) == nil && d.Said == "Proceed" {
					d.Verdict = "Proceed"
					evs = evs[:i+1]
					evs[i].Data, _ = encode(d)
					return evs
				}
			}
			return evs
		}}, []string{"lets a critical finding"}},
		{"an agent's question taken for a new one", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil {
				p.Asking.Said = slices.DeleteFunc(slices.Clone(p.Asking.Said), func(r Reply) bool { return !r.Due })
			}
		})}, []string{"a person is asked twice", "more than 5 times"}},
		{"an agent's question answered although a person is wanted", bug{events: rewrite(work.GateDecided, func(_ *State, _ *work.Event, d *work.GateDecidedData) {
			if d.Gate == string(gates.PointQuestion) && d.Decision == decideAsk {
				d.Decision, d.By = decideAlone, "rule:ckpt.question"
			}
		})}, []string{"is human, and"}},
		{"an answer that its agent never reads", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; p != nil {
				for i := range p.Asking.Said {
					p.Asking.Said[i].Due = false
				}
			}
		})}, []string{"was not told"}},
		{"a phase that works while its agent waits for an answer", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.CheckpointOpened && p != nil && p.Asking.Put {
				p.Stage = StageGate
			}
		})}, []string{"while a person is asked"}},
		{"what is left for later forgotten", bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.CheckpointAnswered {
				s.FollowUps = nil
			}
		})}, []string{"are left for later, and people left"}},
		{"what is left for later by who said no", bug{events: rewrite(work.CheckpointAnswered, func(_ *State, _ *work.Event, d *CheckpointAnsweredData) {
			if d.Status == work.CheckpointRejected {
				d.FollowUps = []string{"a.go:1: shorter"}
			}
		})}, []string{"and leaves something for later"}},
		{"a message that its agent is not given", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.PhaseTold && p != nil {
				p.Messages = nil
			}
		})}, []string{"is not told", "never read"}},
		{"what goes with a message forgotten", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.PhaseTold && p != nil {
				p.Messages = slices.Clone(p.Messages)
				for i := range p.Messages {
					p.Messages[i].Attached = nil
				}
			}
		})}, []string{"is not told"}},
		{"a new session that nobody begins", bug{apply: afterApply(func(s *State, e work.Event) {
			var d work.IterationFinishedData
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil && decode(e, &d) == nil && d.Session != "" && !d.Lost && p.Set.ContextTokens == 0 {
				p.Session = d.Session
			}
		})}, []string{"a person asked for a new one"}},
		{"a message that came late and counts as read", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil {
				for i := range p.Messages {
					p.Messages[i].Read = true
				}
			}
		})}, []string{"is not told", "never read"}},
		{"a message given twice", bug{events: rewrite(work.PhaseTold, func(_ *State, _ *work.Event, d *ToldData) {
			if d.Refused == "it was said before" {
				d.Refused = ""
			}
		})}, []string{"twice"}},
		{"a message given midway and once more", bug{apply: afterApply(func(s *State, e work.Event) {
			var d work.IterationFinishedData
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil && decode(e, &d) == nil {
				for i, m := range p.Messages {
					p.Messages[i].Read = m.Read && !slices.Contains(d.Heard, m.ID)
				}
			}
		})}, []string{"again", "which it was given before"}},
		{"a message that was taken and never given, and counts as read", bug{apply: afterApply(func(s *State, e work.Event) {
			var d TellFinishedData
			if p := s.Phases[e.Phase]; e.Kind == work.TellFinished && p != nil && decode(e, &d) == nil && d.Taken {
				for i := range p.Messages {
					p.Messages[i].Read = p.Messages[i].Read || p.Messages[i].ID == d.ID
				}
			}
		})}, []string{"is not told", "never read"}},
		{"a phase that lands with a message unread", bug{events: func(_ *State, _ Fact, evs []work.Event) []work.Event {
			return slices.DeleteFunc(evs, func(e work.Event) bool {
				var d work.GateDecidedData
				return e.Kind == work.GateDecided && decode(e, &d) == nil && d.Gate == gateMessage
			})
		}}, []string{"never read", errStuck.Error()}},
		{"a phase that is set back and keeps its later work", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.PhaseRewound && p != nil {
				p.Last = p.Snaps[len(p.Snaps)-1].Commit
			}
		})}, []string{"and was set back to"}},
		{"a wish to set back that is lost with its process", bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.RunResumed {
				for _, p := range s.Phases {
					p.Rewind = nil
				}
			}
		})}, []string{"which was to be set back", "was to be set back to"}},
		{"a phase that is set back twice", bug{events: rewrite(work.RewindAsked, func(_ *State, _ *work.Event, d *RewindAskedData) {
			if d.Refused == "it was asked before" {
				d.Refused = ""
			}
		})}, []string{"twice"}},
		{"an assumption forgotten", bug{apply: afterApply(func(s *State, _ work.Event) { s.Assumed = nil })}, []string{"there is a doubt"}},
		{"a lesson forgotten", bug{apply: afterApply(func(s *State, _ work.Event) { s.Proposed = nil })}, []string{"a lesson is lost"}},
		{"a lesson told that nobody kept", bug{apply: afterApply(func(s *State, _ work.Event) { s.Spec.Settings.Lessons = append(s.Spec.Settings.Lessons, s.Proposed...) })}, []string{"is told a lesson"}},
		{"an agent that is out is called", bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.AgentSwitched {
				s.Away = nil
			}
		})}, []string{"not the first that is free"}},
		{"nothing goes on though an agent is free", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil && p.Judged.Outcome == work.OutcomeRateLimited {
				for _, a := range p.Set.Agents {
					if a != p.Set.Agent {
						s.away(a, AwayAgent{Until: e.Time.Add(time.Hour)})
					}
				}
			}
		})}, []string{"waits for a provider, and agent", "is given to agent"}},
		{"the session of another agent", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.AgentSwitched && p != nil {
				p.Session = "s1"
			}
		})}, []string{"of another agent"}},
		{"blocked ignored", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; p != nil {
				p.Blocked = gates.BlockerTracker{}
			}
		})}, []string{"says again what stops it"}},
		{"blocked by what was named once", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil && len(p.Blockers) > 0 {
				p.Blocked.Same = p.Blockers[0]
			}
		})}, []string{"fails as blocked", "is taken for stuck"}},
		{"a part begun without what it needs", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.SubPhaseFolded && p != nil {
				for i := range p.Split.Tasks {
					if t := &p.Split.Tasks[i]; t.State == dag.Failed {
						t.State = dag.Done
					} else if t.State == dag.Skipped {
						t.State = ""
					}
				}
			}
		})}, []string{"which did not succeed", "it was to have"}},
		{"a part that gets more than was said", bug{events: rewrite(work.SubPhaseSpawned, func(_ *State, _ *work.Event, d *SubPhaseSpawnedData) {
			if d.Task != "" {
				d.Request.Budget++
			}
		})}, []string{"it was to have"}},
		{"nothing kept for the whole", bug{events: rewrite(work.GateDecided, func(s *State, e *work.Event, d *work.GateDecidedData) {
			if d.Gate == string(gates.PointDecompose) && d.Decision == decideReject && strings.Contains(d.Facts, "may be given away") && !strings.Contains(d.Facts, "\n") {
				d.Decision, d.By = decideApprove, "strategy:autonomous"
			}
		})}, []string{"nothing is kept"}},
		{"a command of the agent's that proves its part", bug{events: rewrite(work.SubPhaseSpawned, func(s *State, e *work.Event, d *SubPhaseSpawnedData) {
			if p := s.Phases[e.Phase]; d.Task != "" && p.Split.Person == "" {
				d.Verify = []string{"true"}
			}
		})}, []string{"nobody saw that it proves"}},
		{"an arbiter's model taken for sure that minor findings may stand", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.ArbiterFinished && p.Review.Answer != nil {
				sure := 1.0
				p.Review.Answer.Verdict, p.Review.Answer.Confidence = string(review.Proceed), &sure
			}
		})}, []string{"minor findings of phase"}},
		{"reviews that cost nothing", bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.ReviewStarted {
				clear(s.Ledger.Reserved)
				clear(s.Phases[e.Phase].Usage.Reserved)
			}
		})}, []string{"cap "}},
		{"a held issue that lands", bug{events: rewrite(work.PromotionDecided, func(_ *State, _ *work.Event, d *PromotionDecidedData) {
			d.Decision = review.ToDone
		})}, []string{"the issue is done, and", "the issue is Done by a person who said"}},
		{"an issue that lands undecided", bug{apply: afterApply(func(s *State, _ work.Event) {
			s.Issue = nil
		})}, []string{"the issue's result lands"}},
		{"a fix that nobody remembers", bug{apply: afterApply(func(s *State, _ work.Event) {
			s.Issue.forget()
		})}, []string{"there is a doubt"}},
		{"words about another tree", bug{apply: func(s *State, e work.Event, apply func() error) error {
			var before []Landing
			if s.Issue != nil {
				before = s.Issue.Landings
			}
			err := apply()
			if s.Issue != nil {
				copy(s.Issue.Landings, before)
			}
			return err
		}}, []string{"of another tree", "denied it", "which said nothing of the kind"}},
		{"a verify of another tree", bug{apply: func(s *State, e work.Event, apply func() error) error {
			var passed []string
			if s.Issue != nil {
				passed = s.Issue.Passed
			}
			err := apply()
			if e.Kind == work.PhaseMerged && s.Issue != nil {
				s.Issue.Passed = slices.Concat(s.Issue.Passed, passed)
			}
			return err
		}}, []string{"of another tree", "does not name"}},
		{"a criterion that nobody proves", bug{events: rewrite(work.CriterionEvidenced, func(_ *State, _ *work.Event, d *work.Evidence) {
			d.Met, d.By, d.Who = true, work.EvidenceReviewer, "security"
		})}, []string{"of another tree", "which said nothing of the kind", "denied it", "nothing proves"}},
		{"a full disk taken for a failed phase", bug{fact: func(_ *State, f Fact) Fact {
			if b, ok := f.(Broke); ok {
				b.Short = ""
				return b
			}
			return f
		}}, []string{"for want of room"}},
		{"the core that began a run taken for the one that goes on with it", bug{events: rewrite(work.RunStarted, func(_ *State, _ *work.Event, d *RunStartedData) {
			d.Core = Version
		})}, []string{"says that it was core"}},
		{"a merge turn that nobody gives back", bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.PhaseFinished && s.Merger == "" {
				s.Merger = e.Phase
			}
		})}, []string{errStuck.Error()}},
	}
	h := newHunter(t, newLab(t), 5000)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { h.hunt(t, tt.name, tt.bug, tt.want) })
	}
}
