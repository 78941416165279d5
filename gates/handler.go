package gates

import (
	"errors"
	"fmt"

	"forge/internal/work"
)

// ErrNoReviewer is a checkpoint that is due and that nobody handles. It is an
// error, never a yes.
var ErrNoReviewer = errors.New("no_reviewer")

// Handler says what comes of a checkpoint that falls due: approved, or pending
// until a person answers. The other results of a checkpoint are a person's.
type Handler interface {
	OnCheckpoint(at Point) work.CheckpointStatus
}

// AutoApprover lets every checkpoint pass.
type AutoApprover struct{}

// OnCheckpoint is approved.
func (AutoApprover) OnCheckpoint(Point) work.CheckpointStatus { return work.CheckpointApproved }

// PendingReviewer holds every checkpoint until a person answers it.
type PendingReviewer struct{}

// OnCheckpoint is pending.
func (PendingReviewer) OnCheckpoint(Point) work.CheckpointStatus { return work.CheckpointPending }

// Handler is who handles checkpoints at a point under p.
func (p Policy) Handler(at Point) Handler {
	if p.At(at) == Auto {
		return AutoApprover{}
	}
	return PendingReviewer{}
}

// Due is what comes of a checkpoint at a point. Without a handler, and of one
// that says anything but approved, it waits; the first is an error as well.
func Due(h Handler, at Point) (work.CheckpointStatus, error) {
	if h == nil {
		return work.CheckpointPending, fmt.Errorf("checkpoint at %s: %w", at, ErrNoReviewer)
	}
	if h.OnCheckpoint(at) == work.CheckpointApproved {
		return work.CheckpointApproved, nil
	}
	return work.CheckpointPending, nil
}
