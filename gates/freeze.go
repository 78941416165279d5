package gates

import "forge/internal/work"

// Boundary is the end of one phase of a job.
type Boundary struct {
	Kind        work.PhaseKind // a kind that is none is judged as strategic and tactical at once
	Number      int            // a strategic phase with number 1 or less is the initial one
	JobComplete bool           // the agent has said <job-complete>
	End         PhaseEnd       // of the phase
}

// FreezeContext says where a job is frozen.
type FreezeContext string

// The places. NotFrozen is none of them.
const (
	NotFrozen        FreezeContext = ""
	InitialStrategic FreezeContext = "initial_strategic"
	LaterStrategic   FreezeContext = "later_strategic"
	AfterTactical    FreezeContext = "tactical"
	AtJobEnd         FreezeContext = "job_complete"
)

// FreezeContexts lists the places.
func FreezeContexts() []FreezeContext {
	return []FreezeContext{InitialStrategic, LaterStrategic, AfterTactical, AtJobEnd}
}

// JobStatus is how a job stands after a boundary.
type JobStatus string

// The states that a boundary or its answer leads to.
const (
	JobProcessing    JobStatus = "processing"
	JobPendingReview JobStatus = "pending_review"
	JobCompleted     JobStatus = "completed"
	JobCancelled     JobStatus = "cancelled"
	JobFailed        JobStatus = "failed"
)

// BoundaryDecision is what happens at a boundary, before the transition, so
// that nothing has to be undone.
type BoundaryDecision struct {
	Frozen FreezeContext // NotFrozen: it goes on
	Status JobStatus     // processing, completed or pending_review
	// Points are the gates that fall on the boundary; one checkpoint answers
	// all of them.
	Points []Point
	Why    string // a look that is due, "" = none is
}

// AtBoundary decides whether a job freezes. The end of the job is
// tested first, so that its last phase freezes once: there, a person who wants
// to see the result or the phase is asked for both. phase_transition is no
// part of it: a job's phases have gates of their own. A look that is due is.
func (p Policy) AtBoundary(b Boundary) BoundaryDecision {
	var points []Point
	frozen := NotFrozen
	if b.JobComplete {
		points, frozen = append(points, PointFinal), AtJobEnd
	}
	initial := b.Kind != work.KindTactical && b.Number <= 1
	for _, own := range []struct {
		at     Point
		frozen FreezeContext
		falls  bool
	}{
		{PointPlanInitial, InitialStrategic, initial},
		{PointPlanLater, LaterStrategic, b.Kind != work.KindTactical && !initial},
		{PointTactical, AfterTactical, b.Kind != work.KindStrategic},
	} {
		if !own.falls {
			continue
		}
		points = append(points, own.at)
		if frozen == NotFrozen {
			frozen = own.frozen
		}
	}
	why := p.Looks.Due(b.End)
	for _, pt := range points {
		if p.At(pt) == Human || why != "" {
			return BoundaryDecision{Frozen: frozen, Status: JobPendingReview, Points: points, Why: why}
		}
	}
	return BoundaryDecision{Status: either(b.JobComplete, JobCompleted, JobProcessing), Points: points}
}
