package orchestrator

import (
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
	if d.hooked(p, work.HookOnApproval, fmt.Sprintf("%s-%d", kind, s.hooksOf(p).Opened), question) {
		return
	}
	cp := work.Checkpoint{
		ID: fmt.Sprintf("%s.%d", s.Run, s.Asked+1), Run: s.Run, Kind: kind, Points: append([]string{kind}, also...), Revision: 1,
		Question: question, Facts: texts.ClipJSON(facts, 6<<10), Choices: choices(gates.Point(kind)), Policy: s.versionOf(p),
		Status: work.CheckpointPending, OpenedAt: d.now.UTC(), ExpiresAt: d.expiry(),
	}
	if isAsk(kind) {
		cp.AnswerDue, cp.Choices = true, append(p.Asking.Due[0].choices(), cp.Choices...)
	}
	judged, number := s.heads(), ""
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
	if asksWhichTry(kind) {
		over, _ := s.contestants(p)
		cp.Choices = append(choicesOfTries(over), cp.Choices...)
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
	d.decide(number, work.GateDecidedData{
		Gate: kind, Decision: decideAsk, By: s.policyName(p), Policy: cp.Policy, Failed: failed, Reason: question,
	})
	d.phase(number, work.CheckpointOpened, cp)
}

// answered turns a person's answer into what follows from it, as docs/checkpoints.md says.
func (d *decision) answered(a work.Answer) {
	s := d.s
	if a.Message != nil {
		d.told(a)
		return
	}
	if a.Rewind != nil {
		d.rewindAsked(a)
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
	case (cp.AnswerDue || asksWhichTry(cp.Kind)) && a.Choice != "" && !offers(cp, a):
		data.Refused = "not an answer: " + texts.ClipJSON(a.Choice, 40)
	case !d.s.mayMend(cp, a):
		data.Refused = work.ErrConflict.Error()
	case cp.Wordless(a.Status, a.Choice, a.Comment):
		data.Refused = work.ErrEmptyFeedback.Error()
	}
	if data.Refused != "" {
		d.run(work.CheckpointAnswered, data)
		return
	}
	if a.Status == work.CheckpointApproved {
		data.FollowUps = clipList(a.FollowUps, maxFollowUps, maxFollowUp)
	}
	d.phase(cp.Phase, work.CheckpointAnswered, data)
	by := decides(a)
	if a.Choice == ChoiceAbort {
		d.gate(cp.Phase, cp.Kind, decideStop, by, "the run was aborted")
		d.run(work.RunStopping, RunStoppingData{Outcome: work.RunCancelled, Reason: "aborted by " + a.By})
		return
	}
	if !d.pullFirst(cp, a) {
		d.follow(cp, a)
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
