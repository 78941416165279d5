// Package backtest asks of past runs what another policy would have decided.
// It reads what was recorded and executes nothing.
package backtest

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// Boundary is one place of a run at which its policy decided, and what came of
// it.
type Boundary struct {
	gates.Moment
	Seq    int64
	Kind   string       // the point that it is named by; baseline for a red one
	Phase  string       // "" = the run as a whole
	Policy gates.Policy // that decided
	// Levels are those of the phase's own, which bound any policy of the run here;
	// at the result, those of all phases that it is the work of.
	Levels []string
	bound  func(gates.Policy) gates.Policy
	// Asked says that a checkpoint opened; then ID names it, and Answer is how
	// it was answered, pending while it was not.
	Asked  bool
	ID     string
	Answer work.CheckpointStatus
	// Ended is how its phase ended afterwards, or the run where it is about
	// the run; "" when it has not.
	Ended  string
	Failed bool // that was no success
	// Facts, at the end of an issue's run, are what its promotion was decided
	// on; nil elsewhere.
	Facts *review.RunResult
}

// Stops says that a person is asked here under p: at one of the points, or
// because the result is held.
func (b Boundary) Stops(p gates.Policy) bool {
	if b.bound != nil {
		p = b.bound(p)
	}
	if b.Facts == nil || p.Stops(b.Moment) {
		return p.Stops(b.Moment)
	}
	r := *b.Facts
	r.Autonomy = p.At(gates.PointPromote) == gates.Auto && p.Promote == gates.PromoteOnClean
	decision, _ := review.Promote(r)
	return decision != review.ToDone
}

// Story is a run as far as a policy has to do with it.
type Story struct {
	Run        string
	Spec       orchestrator.Spec // it began with
	Outcome    work.RunOutcome
	Boundaries []Boundary
	// Result is what a promotion is decided on, as it was when the result was
	// first judged, save for what the policy says; Judged is false for a run
	// that never came to that.
	Result review.RunResult
	Judged bool
}

// teller folds events into a Story.
type teller struct {
	story  Story
	opened func(work.Event) (orchestrator.Spec, error)
	policy gates.Policy
	files  map[string]int    // changed by each merged phase
	parent map[string]string // of sub-phases
	ends   map[string]work.PhaseFinishedData
	plan   map[string]work.Phase
	open   map[string]int // checkpoint → its boundary
	last   int64          // seq of the last boundary that no one was asked at
	facts  *review.RunResult
	looked looked
}

// Read folds the events of one run, from the first, of which opened knows what
// the run began with.
func Read(opened func(work.Event) (orchestrator.Spec, error), events iter.Seq2[work.Event, error]) (Story, error) {
	t := &teller{
		opened: opened, files: map[string]int{}, parent: map[string]string{}, ends: map[string]work.PhaseFinishedData{},
		plan: map[string]work.Phase{}, open: map[string]int{}, looked: newLooked(),
	}
	for e, err := range events {
		if err != nil {
			return t.story, err
		}
		err := t.tell(e)
		if err == nil {
			err = t.looked.tell(e) // after its boundary was read
		}
		if err != nil {
			return t.story, fmt.Errorf("read event %d (%s) of run %s: %w", e.Seq, e.Kind, e.Run, err)
		}
	}
	t.finish()
	return t.story, nil
}

// as decodes a payload and hands it on.
func as[T any](e work.Event, then func(T)) error {
	var d T
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	then(d)
	return nil
}

func (t *teller) tell(e work.Event) error {
	switch e.Kind {
	case work.RunStarted:
		return t.started(e)
	case work.GateDecided:
		return t.decided(e)
	case work.CheckpointOpened:
		return as(e, func(d question) { t.asked(e, d) })
	case work.CheckpointAnswered:
		return as(e, func(d struct {
			ID, Refused string
			Status      work.CheckpointStatus
		}) {
			if i, known := t.open[d.ID]; known && d.Refused == "" {
				t.story.Boundaries[i].Answer = d.Status
			}
		})
	case work.CheckpointOverdue:
		return as(e, func(d orchestrator.CheckpointOverdueData) {
			if i, known := t.open[d.ID]; known {
				t.open[d.Again] = i // the same boundary, asked again
			}
		})
	case work.PromotionDecided:
		return as(e, func(d orchestrator.PromotionDecidedData) { t.facts = &d.Facts })
	case work.PolicyChanged:
		return as(e, func(d orchestrator.PolicyChangedData) { t.policy = d.Policy })
	case work.SubPhaseSpawned:
		return as(e, func(d orchestrator.SubPhaseSpawnedData) { t.parent[d.Number] = e.Phase })
	case work.PhaseAdded:
		return as(e, func(d orchestrator.PhaseAddedData) {
			t.plan[d.Number] = work.Phase{Number: d.Number, Name: d.Name}
		})
	case work.PhaseMerged:
		return as(e, func(d struct{ Files int }) { t.files[e.Phase] = d.Files })
	case work.PhaseFinished:
		return as(e, func(d work.PhaseFinishedData) { t.ends[e.Phase] = d })
	case work.PhaseReopened:
		delete(t.ends, e.Phase)
	case work.RunFinished:
		return as(e, func(d work.RunFinishedData) { t.story.Outcome = d.Outcome })
	case work.RunResumed:
		t.story.Outcome = ""
	case work.ReviewFinished, work.ArbiterDecided:
		return t.reviewed(e)
	}
	return nil
}

func (t *teller) started(e work.Event) (err error) {
	t.story.Run = e.Run
	if t.story.Spec, err = t.opened(e); err != nil {
		return err
	}
	t.policy = t.story.Spec.Policy
	for _, p := range t.story.Spec.Plan.Phases {
		t.plan[p.Number] = p
	}
	return nil
}

// decided takes a decision that the policy made by itself.
func (t *teller) decided(e work.Event) error {
	// Of a decision no more is read than is asked about: they are most of what
	// a run records.
	type decision struct{ Gate, Decision, By string }
	return as(e, func(d decision) {
		pt := gates.Point(d.Gate)
		if d.Gate == "evidence" && d.Decision == "changed" {
			t.story.Result.Unverified = t.story.Result.Unverified || !t.story.Judged
		}
		rule := strings.HasPrefix(d.By, "rule:")
		ask := (pt == gates.PointQuestion || pt == gates.PointBlocker) && d.Decision == "decide" && strings.HasPrefix(d.By, "policy:")
		switch {
		case ask:
		case d.Decision == "ask", !rule && !strings.HasPrefix(d.By, "strategy:"):
			return // the checkpoint tells it; or a person, or a flag, decided
		case pt == gates.PointPhaseStart && (!rule || strings.HasPrefix(d.By, "rule:start_")),
			pt == gates.PointIteration && !rule,
			pt == gates.PointStale && !rule && d.Decision != "continue",
			(pt == gates.PointSubPhase || pt == gates.PointDecompose) && !rule && d.Decision == "approve",
			rule && d.Decision == "go" && d.By == "rule:"+d.Gate && boundary(pt):
		default:
			return
		}
		if ofResult(pt) && !t.whole() {
			return // what is done of a failed run lands under every policy
		}
		b := t.at(e, []gates.Point{pt})
		all := t.story.Boundaries
		if n := len(all); rule && boundary(pt) && n > 0 && t.last == e.Seq-1 && all[n-1].Phase == e.Phase && boundary(all[n-1].Points[0]) {
			// Points of one boundary are decided one after another, and would
			// have shared one checkpoint.
			all[n-1].Points, t.last = append(all[n-1].Points, pt), e.Seq
			t.phaseEnd(&all[n-1])
			t.judge(pt)
			return
		}
		t.last = e.Seq
		t.story.Boundaries = append(all, b)
		t.judge(pt)
	})
}

// boundary says that a point stands at the end of a phase or of the run.
func boundary(pt gates.Point) bool {
	switch pt {
	case gates.PointFinal, gates.PointEvidence, gates.PointPlanInitial, gates.PointPlanLater, gates.PointTactical:
		return true
	}
	return strings.HasPrefix(string(pt), "ckpt.") && pt != gates.PointQuestion
}

// ofResult says that a point stands before the result lands, whatever it is
// the result of. Where the gate is auto, evidence that is in doubt is asked
// about alone.
func ofResult(pt gates.Point) bool { return pt == gates.PointFinal || pt == gates.PointEvidence }

// question is what is read of a checkpoint.
type question struct {
	ID, Kind string
	Points   []string
}

func (t *teller) asked(e work.Event, cp question) {
	if i, again := t.open[cp.ID]; again {
		t.story.Boundaries[i].ID = cp.ID
		return
	}
	var points []gates.Point
	for _, pt := range append([]string{cp.Kind}, cp.Points...) {
		if !slices.Contains(points, gates.Point(pt)) {
			points = append(points, gates.Point(pt))
		}
	}
	if cp.Kind == orchestrator.PointBaseline {
		points = []gates.Point{gates.PointPhaseStart} // the gate that is looked at
	}
	b := t.at(e, points)
	b.Kind, b.Asked, b.ID, b.Answer = cp.Kind, true, cp.ID, work.CheckpointPending
	t.open[cp.ID] = len(t.story.Boundaries)
	t.story.Boundaries = append(t.story.Boundaries, b)
	t.judge(gates.Point(cp.Kind))
}

// at is a boundary with its facts as they are at e.
func (t *teller) at(e work.Event, points []gates.Point) Boundary {
	b := Boundary{Moment: gates.Moment{Points: points}, Seq: e.Seq, Kind: string(points[0]), Phase: e.Phase, Policy: t.policy}
	if ofResult(points[0]) || points[0] == gates.PointPromote {
		b.Facts = t.facts
	}
	set, known := t.story.Spec.Settings.Phases[e.Phase]
	if parent := t.parent[e.Phase]; parent != "" {
		b.SubPhase, set = true, t.story.Spec.Settings.Phases[parent]
	} else if t.story.Spec.Job != nil && !known {
		set = t.story.Spec.Job.Phase
	}
	b.Marked = set.AskIteration
	b.Start = gates.PhaseFacts{
		Phase: e.Phase, Name: t.plan[e.Phase].Name, Permission: set.Permission, Sensitive: set.Sensitive != "",
		Threshold: t.story.Spec.Settings.AutoApproveThreshold,
	}
	t.phaseEnd(&b)
	t.bounded(&b, set)
	for _, n := range t.plan[e.Phase].DependsOn {
		files, merged := t.files[n]
		if !merged {
			files = -1
		}
		b.Start.DependencyFiles = append(b.Start.DependencyFiles, files)
	}
	return b
}

// phaseEnd puts what looks go by beside b, where b is the end of a phase.
func (t *teller) phaseEnd(b *Boundary) {
	if b.Phase != "" && t.parent[b.Phase] == "" && endsPhase(b.Points) {
		b.End = t.looked.at(b.Phase, t.plan[b.Phase].Name)
	}
}

// bounded puts the levels beside b that bound the run's there.
func (t *teller) bounded(b *Boundary, set work.PhaseSettings) {
	b.Levels = set.Levels
	if b.Phase == "" {
		for _, ph := range t.story.Spec.Plan.Phases {
			if t.ends[ph.Number].Outcome != work.PhaseSkipped {
				b.Levels = append(slices.Clip(b.Levels), t.story.Spec.Settings.Phases[ph.Number].Levels...)
			}
		}
	}
	if levels := b.Levels; len(levels) > 0 {
		b.bound = func(p gates.Policy) gates.Policy { return t.story.Spec.Bounded(p, levels) }
	}
}

// whole says that every phase of the plan is done.
func (t *teller) whole() bool {
	for n, end := range t.ends {
		if t.parent[n] == "" && end.Outcome != work.PhaseDone {
			return false
		}
	}
	return true
}

// judge notes what a promotion rests on, once, when the result is judged.
func (t *teller) judge(pt gates.Point) {
	if !ofResult(pt) || t.story.Judged {
		return
	}
	r := &t.story.Result
	t.story.Judged, r.Pipeline, r.Autonomy, r.Auto = true, "failed", true, true
	if t.whole() {
		r.Pipeline = "completed"
	}
	if r.Reviews == "" {
		r.Reviews = "none"
	}
	for _, end := range t.ends {
		r.Unverified = r.Unverified || end.Proof == work.ProofClaim
	}
}

func (t *teller) reviewed(e work.Event) error {
	r, judged := &t.story.Result, t.story.Judged
	if e.Kind == work.ReviewFinished {
		return as(e, func(d struct{ Verdict work.Verdict }) {
			switch {
			case judged:
			case d.Verdict == work.VerdictPass && r.Reviews == "":
				r.Reviews = "passed"
			case d.Verdict != work.VerdictPass:
				r.Reviews = "warnings"
			}
		})
	}
	return as(e, func(d orchestrator.ArbiterDecidedData) {
		switch d.Verdict {
		case review.Proceed:
			r.Proceeded = r.Proceeded || !judged && len(d.Findings) > 0
		case review.Fix:
			if !judged {
				r.Fixes++
			}
		case review.FailPhase:
			t.last = e.Seq
			t.story.Boundaries = append(t.story.Boundaries, t.at(e, []gates.Point{gates.PointFindings}))
		}
	})
}

// finish says of each boundary what came after it.
func (t *teller) finish() {
	for i := range t.story.Boundaries {
		b := &t.story.Boundaries[i]
		if b.Phase == "" {
			b.Ended, b.Failed = string(t.story.Outcome), t.story.Outcome == work.RunFailed || t.story.Outcome == work.RunCancelled
			continue
		}
		end, over := t.ends[b.Phase]
		if !over {
			continue
		}
		b.Ended, b.Failed = string(end.Outcome), end.Outcome != work.PhaseDone
		if end.Reason != "" {
			b.Ended += " (" + string(end.Reason) + ")"
		}
	}
}
