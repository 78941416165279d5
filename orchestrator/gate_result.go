package orchestrator

import (
	"cmp"
	"slices"
	"strings"

	"forge/gates"
	texts "forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// resultGate is the gate before the result of the run lands: final, with promote
// for an issue, and evidence where its proof is in doubt.
func resultGate() gate {
	names := []string{string(gates.PointFinal), string(gates.PointPromote), string(gates.PointEvidence)}
	return gate{
		names: names, ofRun: true, answered: (*decision).answeredFinal, fold: foldResult,
		moves: map[string][]Stage{decideGo: {Stage(FinalDeliver)}, decideReject: {Stage(FinalDeliver)}},
	}
}

// gateJob is the rule that the result of a job lands as was decided at its end.
const gateJob = "job"

func jobGate() gate {
	return gate{
		names: []string{gateJob}, ofRun: true, moves: map[string][]Stage{decideGo: {Stage(FinalDeliver)}},
		fold: func(s *State, _ *Phase, d folded) { s.Final.Stage = FinalStage(d.to) },
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
	if _, due := s.pendingRest(); due {
		return // before anybody is asked about the result
	}
	done, left := s.Job == nil || s.Job.Status == gates.JobCompleted, ""
	for _, n := range s.Order {
		if p := s.Phases[n]; p.Parent == "" && p.Outcome != work.PhaseDone {
			done, left = false, n
			break
		}
	}
	switch {
	case s.Final.Stage == FinalDeliver && s.Together != nil:
		d.together()
	case (s.Final.Stage == FinalOver || s.Final.Stage == FinalNone && !done && s.untouched()) && d.endHooks():
	case s.Final.Stage == FinalOver:
		d.finished(done)
	case s.Final.Stage != FinalNone:
	case s.Job != nil && done && s.inDoubt():
		d.open(nil, string(gates.PointEvidence), s.doubtKinds(), "The proof of the job's result is in doubt. Land it all the same?", s.tellDoubts()+s.summary())
	case s.Job != nil && done:
		d.rule("", gateJob, decideGo, "it was decided at the end of the job")
	case !done && s.untouched():
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
	alone := s.passes(nil, gates.PointFinal) && s.passes(nil, gates.PointFinalOutput)
	facts := s.tellResults() + s.tellDoubts() + s.tellAssumed() + s.summary()
	if s.Final.Note != "" {
		facts = s.Final.Note + "\n" + facts
	}
	switch {
	case alone && s.inDoubt():
		d.open(nil, string(gates.PointEvidence), s.doubtKinds(), "The proof of run "+s.Run+" is in doubt. Land its result all the same?", facts)
	case s.inDoubt():
		d.open(nil, string(gates.PointFinal), append([]string{"gate"}, s.doubtKinds()...), "Land the result of run "+s.Run+"?", facts, string(gates.PointEvidence))
	case alone && len(s.Doubts) > 0:
		d.rule("", string(gates.PointEvidence), decideGo, "nobody is asked here at this level: "+texts.ClipJSON(s.tellDoubts(), 400))
		d.rule("", string(gates.PointFinal), decideGo, "nobody is asked here at this level")
	case alone:
		d.rule("", string(gates.PointFinal), decideGo, "nobody is asked here at this level")
	default:
		d.open(nil, string(gates.PointFinal), []string{"gate"}, "Land the result of run "+s.Run+"?", facts)
	}
}

func (d *decision) answeredFinal(_ *Phase, a answer) {
	if d.s.Issue != nil {
		d.answeredResult(a)
		return
	}
	switch last := d.s.Phases[d.s.LastMerged]; {
	case a.yes:
		d.sayRun(a, decideGo, a.Comment)
	case a.comment != "" && last != nil && d.s.Job == nil:
		d.sendBack(last, a, string(gates.PointFinal))
	default:
		d.sayRun(a, decideReject, a.Comment)
	}
}

// sendBack opens the phase that was merged last again, for what a person says of
// the result.
func (d *decision) sendBack(last *Phase, a answer, gate string) {
	d.sayRun(a, decideRework, a.comment)
	d.phase(last.Number, work.PhaseReopened, PhaseReopenedData{Why: reopenFinal, Budget: last.Budget})
	d.decide(last.Number, work.GateDecidedData{Gate: gate, Decision: decideRework, By: a.by, Comment: a.comment})
}

// answeredResult turns a person's answer about the result of an issue's run
// into what follows (final and promote, which may share a record).
func (d *decision) answeredResult(a answer) {
	s := d.s
	was := s.Issue.Decided
	switch last := s.Phases[s.LastMerged]; {
	case was == nil:
		// Only a journal by somebody else's hand asks before it decides.
		d.sayRun(a, decideReject, "nothing was decided about this result")
	case a.yes:
		d.personApproves(a.cp.Kind, a.By, a.Comment)
	case a.comment != "" && last != nil:
		d.sendBack(last, a, a.cp.Kind)
	default:
		if slices.Contains(a.cp.Points, string(gates.PointFinal)) {
			d.decided(review.NotMoved, nil, a.by, was.Facts, was.Unmet)
		}
		d.sayRun(a, decideReject, a.Comment)
	}
}

// personApproves lets a result land that a person said yes to, at a gate.
func (d *decision) personApproves(gate, who, words string) {
	s, was := d.s, d.s.Issue.Decided
	for _, id := range s.unmet(s.Issue.Evidence) {
		d.evidence(work.Evidence{
			Criterion: id, By: work.EvidencePerson, Who: who, Met: true, What: cmp.Or(strings.TrimSpace(words), "approved the result"), Commit: s.Head,
		})
	}
	d.decided(review.ToDone, was.Hold, "person:"+who, was.Facts, nil)
	d.gate("", gate, decideGo, "person:"+who, words)
}

func foldResult(s *State, _ *Phase, d folded) {
	switch d.Decision {
	case decideGo:
		s.Final.Stage = FinalStage(d.to)
		s.handOver()
		s.Final.Approved, _ = strings.CutPrefix(d.By, "person:")
		if !strings.HasPrefix(d.By, "person:") {
			s.Final.Approved = ""
		}
	case decideReject:
		s.Final.Stage, s.Final.Rejected = FinalStage(d.to), d.Reason
		s.handOver()
		if s.Final.Rejected == "" {
			s.Final.Rejected = "rejected by " + d.By
		}
	}
}
