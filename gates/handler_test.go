package gates

import (
	"errors"
	"testing"

	"forge/internal/work"
)

// says answers every checkpoint with one word.
type says work.CheckpointStatus

func (s says) OnCheckpoint(Point) work.CheckpointStatus { return work.CheckpointStatus(s) }

func TestDue(t *testing.T) {
	for _, tt := range []struct {
		name string
		h    Handler
		want work.CheckpointStatus
		err  error
	}{
		{"auto", AutoApprover{}, work.CheckpointApproved, nil},
		{"pending", PendingReviewer{}, work.CheckpointPending, nil},
		{"nobody", nil, work.CheckpointPending, ErrNoReviewer},
		{"an unknown word", says("yes"), work.CheckpointPending, nil},
		{"nothing", says(""), work.CheckpointPending, nil},
		{"expired", says(work.CheckpointExpired), work.CheckpointPending, nil},
	} {
		got, err := Due(tt.h, PointDeliverable)
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %s, %v; want %s, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
}

// Who handles a checkpoint follows from the policy alone.
func TestHandlerOfPolicy(t *testing.T) {
	for _, name := range (Catalogue{}).Names() {
		p, _ := Preset(name)
		for _, at := range append(Points(), PointPhaseTransition, PointDeliverable, PointFinalOutput, CheckpointPoint("notes"), "unknown") {
			got, err := Due(p.Handler(at), at)
			if err != nil || (got == work.CheckpointApproved) != (p.At(at) == Auto) {
				t.Errorf("%s at %s: %s, %v; the gate is %s", name, at, got, err, p.At(at))
			}
		}
	}
}
