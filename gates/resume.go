package gates

import "forge/internal/work"

// NextKind names what a job does after an answer.
type NextKind string

// What may follow.
const (
	FirstTactical     NextKind = "first_tactical"
	NextTactical      NextKind = "next_tactical"
	NextStrategic     NextKind = "next_strategic"
	ReworkStrategic   NextKind = "rework_strategic"   // the same phase again, and then its gate again
	FeedbackStrategic NextKind = "feedback_strategic" // a strategic phase about the comments
	JobEnd            NextKind = "end"
)

// TodoSet names the todos that a phase begins with; "" is none.
type TodoSet string

// The sets.
const (
	TodosStaged     TodoSet = "staged"     // those that the strategic phase wrote
	TodosTransition TodoSet = "transition" // looking back, planning on
	TodosResume     TodoSet = "resume"     // working through feedback
)

// Resumption is what a job does after the answer to its freeze.
type Resumption struct {
	Next   NextKind
	Phase  work.PhaseKind // of what is next; "" at the end
	Todos  TodoSet
	Status JobStatus
	Merge  bool // the frozen phase's work is merged first
}

// ResumeAfter is the table of docs/jobs.md: what follows the answer to a frozen
// job. ok is false for a place or an answer that is none; such a job stays
// held.
func ResumeAfter(frozen FreezeContext, answer work.CheckpointStatus) (_ Resumption, ok bool) {
	type row struct{ approved, changes, rejected Resumption }
	tactical := func(next NextKind) Resumption {
		return Resumption{Next: next, Phase: work.KindTactical, Todos: TodosStaged, Status: JobProcessing, Merge: true}
	}
	again := func(next NextKind) Resumption {
		return Resumption{Next: next, Phase: work.KindStrategic, Todos: TodosResume, Status: JobProcessing}
	}
	cancelled := Resumption{Next: JobEnd, Status: JobCancelled}
	rows := map[FreezeContext]row{
		InitialStrategic: {tactical(FirstTactical), again(ReworkStrategic), cancelled},
		LaterStrategic:   {tactical(NextTactical), again(ReworkStrategic), cancelled},
		AfterTactical: {
			Resumption{Next: NextStrategic, Phase: work.KindStrategic, Todos: TodosTransition, Status: JobProcessing, Merge: true},
			again(FeedbackStrategic), cancelled,
		},
		AtJobEnd: {
			Resumption{Next: JobEnd, Status: JobCompleted, Merge: true},
			again(FeedbackStrategic), Resumption{Next: JobEnd, Status: JobFailed},
		},
	}
	r, ok := rows[frozen]
	if !ok {
		return Resumption{}, false
	}
	switch answer {
	case work.CheckpointApproved:
		return r.approved, true
	case work.CheckpointChangesRequested:
		return r.changes, true
	case work.CheckpointRejected:
		return r.rejected, true
	}
	return Resumption{}, false
}
