package orchestrator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"forge/gates"
	texts "forge/internal/text"
	"forge/internal/work"
)

// ChoiceAbort is the choice that cancels the whole run; every door offers it
// everywhere.
const ChoiceAbort = "abort"

// choiceRejectAll answers every sub-phase request of the phase that waits.
const choiceRejectAll = "reject_all"

// choices are the ways to answer at a point beside yes, no and a comment;
// aborting the run is always one.
func choices(pt gates.Point) []work.Choice {
	all := gates.Choices(pt)
	for _, c := range all {
		if c.Name == ChoiceAbort {
			return all
		}
	}
	return append(all, work.Choice{Name: ChoiceAbort, Answer: work.CheckpointRejected, Label: "abort the run"})
}

// mostHeard is how many reviews and comments one answer may carry.
const mostHeard = 100

// open opens a checkpoint; p is nil for one about the run as a whole. One
// answer answers the points of also, too.
func (d *decision) open(p *Phase, kind string, failed []string, question, facts string, also ...string) {
	s := d.s
	cp := work.Checkpoint{
		ID: fmt.Sprintf("%s.%d", s.Run, s.Asked+1), Run: s.Run, Kind: kind, Points: append([]string{kind}, also...), Revision: 1,
		Question: question, Facts: texts.ClipJSON(facts, 6<<10), Choices: choices(gates.Point(kind)), Policy: s.version,
		Status: work.CheckpointPending, OpenedAt: d.now.UTC(), ExpiresAt: d.expiry(),
	}
	if isAsk(kind) {
		cp.AnswerDue, cp.Choices = true, append(p.Asking.Due[0].choices(), cp.Choices...)
	}
	judged, number := s.Head, ""
	if p != nil {
		number = p.Number
		cp.Phase, cp.Revision, judged = p.Number, max(p.Iteration, 1), p.Last
		if p.Pull != nil {
			cp.Revision += p.Pull.Rounds
		}
		if s.Spec.Pulls.Remote() && p.Stage == StageProven {
			cp.Who = gates.RoleReviewer
		}
	}
	if kind == string(gates.PointFindings) {
		cp.ReasonDue, judged = p.critical(), p.Review.Commit
	}
	if kind == string(gates.PointFinal) {
		cp.Points = append(cp.Points, string(gates.PointFinalOutput))
	}
	if aboutResult(kind) {
		if s.Spec.Pulls.Remote() && s.Issue != nil {
			cp.Who = gates.RoleReviewer
		}
		cp.Revision = s.Final.Revision + 1
	}
	sum := sha256.Sum256([]byte(kind + "\x00" + judged + "\x00" + cp.Facts))
	cp.Hash = hex.EncodeToString(sum[:])
	d.phase(number, work.GateDecided, work.GateDecidedData{
		Gate: kind, Decision: decideAsk, By: s.policyName(), Policy: cp.Policy, Failed: failed, Reason: question,
	})
	d.phase(number, work.CheckpointOpened, cp)
}

// policyName is who decides where the policy does: its preset, or the version
// of one that has none.
func (s *State) policyName() string { return "policy:" + cmp.Or(s.Spec.Policy.Preset, s.version) }

// answered turns a person's answer into what follows from it, as docs/checkpoints.md says.
func (d *decision) answered(a work.Answer) {
	s := d.s
	if a.Message != nil {
		d.told(a)
		return
	}
	if len(a.Policy) > 0 {
		if d.changePolicy(a); a.Checkpoint == "" {
			return
		}
	}
	cp := s.Open[a.Checkpoint]
	a.By, a.Door = texts.ClipJSON(a.By, 200), texts.ClipJSON(a.Door, 40)
	data := CheckpointAnsweredData{
		ID: texts.ClipJSON(a.Checkpoint, 200), Status: work.CheckpointStatus(texts.ClipJSON(string(a.Status), 40)), Choice: texts.ClipJSON(a.Choice, 40),
		Reason: texts.ClipJSON(a.Comment, maxWords), By: a.By, Door: a.Door, Heard: clipList(a.Heard, mostHeard, 40),
		Threads: clipList(a.Threads, mostHeard, 40),
	}
	switch {
	case cp == nil:
		data.Refused = work.ErrAlreadyResolved.Error()
	case cp.ExpiresAt != nil && !a.At.Before(*cp.ExpiresAt):
		data.Refused = work.ErrExpired.Error()
	case a.Revision != 0 && a.Revision != cp.Revision:
		data.Refused = work.ErrConflict.Error()
	case a.Status != work.CheckpointApproved && a.Status != work.CheckpointChangesRequested && a.Status != work.CheckpointRejected:
		data.Refused = "not an answer: " + texts.ClipJSON(string(a.Status), 40)
	case cp.AnswerDue && a.Choice != "" && !offers(cp, a):
		data.Refused = "not an answer: " + texts.ClipJSON(a.Choice, 40)
	case cp.Wordless(a.Status, a.Choice, a.Comment):
		data.Refused = work.ErrEmptyFeedback.Error()
	}
	if data.Refused != "" {
		d.run(work.CheckpointAnswered, data)
		return
	}
	d.phase(cp.Phase, work.CheckpointAnswered, data)
	by := "person:" + a.By
	if a.Choice == ChoiceAbort {
		d.gate(cp.Phase, cp.Kind, decideStop, by, "the run was aborted")
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunCancelled, Reason: "aborted by " + a.By})
		return
	}
	if !d.pullFirst(cp, a) {
		d.follow(cp, a)
	}
}

// follow turns a valid answer into what it means at its point.
func (d *decision) follow(cp *work.Checkpoint, a work.Answer) {
	s, by := d.s, "person:"+a.By
	yes, comment := a.Status == work.CheckpointApproved, ""
	if a.Status == work.CheckpointChangesRequested {
		comment = texts.ClipJSON(a.Comment, maxWords)
		if a.Edited != nil {
			defer d.edited(cp, *a.Edited, by)
		}
	}
	p := s.Phases[cp.Phase]
	if p == nil {
		d.answeredRun(cp, a, by, comment)
		return
	}
	say := func(decision string) {
		d.phase(p.Number, work.GateDecided, work.GateDecidedData{
			Gate: cp.Kind, Decision: decision, By: by, Policy: cp.Policy, Reason: texts.ClipJSON(a.Comment, 500), Comment: comment,
		})
	}
	if d.s.Job != nil && atBoundary(cp.Kind) {
		d.answeredBoundary(p, a, comment, say)
		return
	}
	if isAsk(cp.Kind) {
		d.answeredAsk(p, cp, a)
		return
	}
	if isStop(cp.Kind) {
		d.answeredStop(p, cp.Kind, a, yes, comment, say)
		return
	}
	switch gates.Point(cp.Kind) {
	case gates.PointPhaseStart:
		if yes || comment != "" {
			say(decideGo)
			d.start(p)
			return
		}
		say(decideReject)
		d.finish(p, work.PhaseSkipped, work.ReasonUser, a.Comment)
	case gates.PointIteration:
		if yes || comment != "" {
			say(decideApprove)
			return
		}
		say(decideReject)
		d.finish(p, work.PhaseFailed, work.ReasonRejected, a.Comment)
	case gates.PointStale:
		switch {
		case yes:
			say(decideContinue)
		case comment != "":
			say(decidePivot)
		default:
			say(decideStop)
			d.finish(p, work.PhaseFailed, work.ReasonStale, "stopped by a person: "+a.Comment)
		}
	case gates.PointSubPhase:
		d.answeredSubPhase(p, a, yes, say)
	case gates.PointFindings:
		switch {
		case yes:
			say(decideGo)
		case comment != "":
			say(decideFix)
		default:
			say(decideReject)
			d.finish(p, work.PhaseFailed, p.reviewReason(), "rejected by "+a.By+": "+a.Comment)
		}
	case gates.PointPhaseTransition:
		switch {
		case yes:
			say(decideGo)
		case comment != "":
			say(decideRework)
		default:
			say(decideReject)
			d.finish(p, work.PhaseFailed, work.ReasonRejected, a.Comment)
		}
	}
}

func (d *decision) answeredSubPhase(p *Phase, a work.Answer, yes bool, say func(string)) {
	if len(p.Requests) == 0 {
		return
	}
	if yes {
		say(decideApprove)
		d.spawn(p, p.Requests[0])
		return
	}
	n := 1
	if a.Choice == choiceRejectAll {
		n = len(p.Requests)
	}
	for range n {
		say(decideReject)
	}
}

func (d *decision) answeredRun(cp *work.Checkpoint, a work.Answer, by, comment string) {
	yes := a.Status == work.CheckpointApproved
	if cp.Kind == PointBaseline {
		if yes || comment != "" {
			d.gate("", PointBaseline, decideGo, by, a.Comment)
			return
		}
		d.gate("", PointBaseline, decideStop, by, a.Comment)
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunCancelled, Reason: ReasonRedBaseline})
		return
	}
	if d.s.Issue != nil {
		d.answeredResult(cp, a, by, comment)
		return
	}
	switch last := d.s.Phases[d.s.LastMerged]; {
	case yes:
		d.gate("", cp.Kind, decideGo, by, a.Comment)
	case comment != "" && last != nil && d.s.Job == nil:
		d.gate("", cp.Kind, decideRework, by, comment)
		d.phase(last.Number, work.PhaseReopened, PhaseReopenedData{Why: reopenFinal, Budget: last.Budget})
		d.phase(last.Number, work.GateDecided, work.GateDecidedData{Gate: string(gates.PointFinal), Decision: decideRework, By: by, Comment: comment})
	default:
		d.gate("", cp.Kind, decideReject, by, a.Comment)
	}
}

// aboutResult says that a checkpoint is about the result of a run as a whole.
func aboutResult(kind string) bool {
	switch gates.Point(kind) {
	case gates.PointFinal, gates.PointPromote, gates.PointEvidence:
		return true
	}
	return false
}

// end decides on the result once every phase is over.
func (d *decision) end() {
	s := d.s
	if len(s.pendingCloses()) > 0 {
		return // what nobody can merge any more is closed first
	}
	done, left := s.Job == nil || s.Job.Status == gates.JobCompleted, ""
	for _, n := range s.Order {
		if p := s.Phases[n]; p.Parent == "" && p.Outcome != work.PhaseDone {
			done, left = false, n
			break
		}
	}
	switch {
	case s.Final.Stage == FinalOver:
		d.finished(done)
	case s.Final.Stage != FinalNone:
	case s.Job != nil && done && s.inDoubt():
		d.open(nil, string(gates.PointEvidence), s.doubtKinds(), "The proof of the job's result is in doubt. Land it all the same?", s.tellDoubts()+s.summary())
	case s.Job != nil && done:
		d.rule("", gateJob, decideGo, "it was decided at the end of the job")
	case !done && s.Head == s.Spec.Base.Commit:
		d.rule("", string(gates.PointFinal), decideNothing, "phase "+left+" is not done, and nothing was merged")
		d.finished(false)
	case !done:
		d.rule("", string(gates.PointFinal), decideGo, "phase "+left+" is not done; what is done is kept on the branch")
	case s.Issue != nil:
		d.promotion()
	default:
		d.landing()
	}
}

// landing decides whether the result lands unasked.
func (d *decision) landing() {
	s := d.s
	alone := s.passes(gates.PointFinal) && s.passes(gates.PointFinalOutput)
	facts := s.tellDoubts() + s.tellAssumed() + s.summary()
	if s.Final.Note != "" {
		facts = s.Final.Note + "\n" + facts
	}
	switch {
	case alone && s.inDoubt():
		d.open(nil, string(gates.PointEvidence), s.doubtKinds(), "The proof of run "+s.Run+" is in doubt. Land its result all the same?", facts)
	case s.inDoubt():
		d.open(nil, string(gates.PointFinal), append([]string{"gate"}, s.doubtKinds()...), "Land the result of run "+s.Run+"?", facts, string(gates.PointEvidence))
	case alone && len(s.Doubts) > 0:
		d.rule("", string(gates.PointEvidence), decideGo, "the gate is auto: "+texts.ClipJSON(s.tellDoubts(), 400))
		d.rule("", string(gates.PointFinal), decideGo, "the gate is auto")
	case alone:
		d.rule("", string(gates.PointFinal), decideGo, "the gate is auto")
	default:
		d.open(nil, string(gates.PointFinal), []string{"gate"}, "Land the result of run "+s.Run+"?", facts)
	}
}

func (s *State) summary() string {
	text := ""
	for _, n := range s.Order {
		p := s.Phases[n]
		how := string(p.Outcome)
		if p.Reason != "" {
			how += " " + string(p.Reason)
		}
		if p.Review.Let != "" {
			how += ", findings let pass by " + p.Review.Let
		}
		text += fmt.Sprintf("%s %s: %s, %s, %s\n", n, p.Plan.Name, how, texts.Number(p.Iteration, "iteration"), texts.Number(max(p.Files, 0), "file"))
	}
	return texts.ClipMiddle(text, 4<<10)
}

func (d *decision) finished(done bool) {
	outcome, reason := work.RunCompleted, ""
	if !done {
		outcome = work.RunFailed
	}
	if d.s.Final.Rejected != "" {
		outcome, reason = work.RunFailed, "rejected: "+d.s.Final.Rejected
	}
	d.finishRun(outcome, reason)
}

func (d *decision) finishRun(outcome work.RunOutcome, reason string) {
	data := work.RunFinishedData{Outcome: outcome, Reason: texts.ClipJSON(reason, 500), CostUSD: d.s.Ledger.Cost()}
	if d.s.Delivery != nil {
		data.Branch, data.Commit = d.s.Delivery.Branch, d.s.Delivery.Commit
	}
	d.run(work.RunFinished, data)
}

// drained ends the process's part in the run: after a stop, or frozen when all
// that is left waits for a person.
func (d *decision) drained() {
	s := d.s
	switch {
	case !s.Live:
	case s.Stopping == nil && len(Pending(s)) == 0 && len(s.Open) > 0:
		d.finishRun(work.RunFrozen, "waits for a person")
	case s.Stopping == nil:
	default:
		if s.Stopping.Outcome.Final() {
			shown := len(s.pendingCloses()) > 0
			for _, n := range s.Order {
				if p := s.Phases[n]; p.Stage != StageFinished {
					shown = shown || p.Pull.shown()
					d.finish(p, work.PhaseCancelled, "", s.Stopping.Reason)
				}
			}
			if shown {
				return // what people see is closed before the run is over
			}
		}
		d.finishRun(s.Stopping.Outcome, s.Stopping.Reason)
	}
}
