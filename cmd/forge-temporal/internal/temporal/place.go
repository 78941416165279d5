package temporal

import (
	"context"

	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// Record is a run's record as activities use it: any of them may be carried out
// twice, at any worker that reaches the record.
type Record interface {
	engine.Record
	// Events are those after the given number, in order.
	Events(ctx context.Context, after int64) ([]work.Event, error)
	// Attempts are effects that began and are not over.
	Attempts(ctx context.Context) ([]engine.Attempt, error)
	// Inbox is what doors answered and no event holds yet.
	Inbox(ctx context.Context) ([]engine.Inbox, error)
}

// Place is what a worker has of one run. Close gives it back.
type Place struct {
	Record    Record
	Effects   engine.Effects
	Processes engine.Processes
	// Room looks for room where the run is worked on; its error is a shortage.
	// nil = nobody looks.
	Room func() error
	// Notes is the folder in which the workers of this host note what effects come to;
	// "" = they do not.
	Notes string
	Close func()
}

// Places finds what a run of a project needs on this machine.
type Places interface {
	Open(ctx context.Context, project, run string) (*Place, error)
	// Fold is the run as its journal tells it.
	Fold(ctx context.Context, project, run string) (*orchestrator.State, error)
	// Away says that err is of a record that is out of reach for a while: what
	// failed with it is tried again until the record is back.
	Away(err error) bool
}
