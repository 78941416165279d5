package engine

import (
	"context"
	"time"

	"forge/internal/effect"
	"forge/internal/work"
	"forge/orchestrator"
)

// Engine drives a run: it appends what the core decides, has what is pending
// carried out, and feeds the core with what came of it, with what people answer
// and with the time. Every engine passes the suite of enginetest.
type Engine interface {
	// Run drives s from first (Opened or Resumed) until the run ends, freezes or
	// is stopped by ctx, and returns how. Every effect has ended when it returns.
	// An error means that the record could not be written; what it holds is whole.
	Run(ctx context.Context, s *orchestrator.State, first orchestrator.Fact) (work.RunFinishedData, error)
}

// Effects carries effects out; effect.Machine does. It may be called for several
// effects at once.
type Effects interface {
	// Do returns the fact that follows from e: nil when ctx ended it before it
	// came to a result, so that it has to be done again.
	Do(ctx context.Context, e orchestrator.Effect, a effect.Attending) orchestrator.Fact
	// Refute is told of events before they are written, Keep of those of a run
	// once they are; base is the commit that the run began with.
	Refute(ctx context.Context, evs []work.Event) error
	Keep(ctx context.Context, run, base string, evs []work.Event)
}

// Record is a run as every engine keeps it. Events are appended in their
// sequence, each of which follows the last one in the record: an append that does
// not go on from there fails, and writes nothing. An append is one durable
// transaction.
type Record interface {
	Append(ctx context.Context, b Batch) error
	Head(ctx context.Context) (count int64, hash string, err error)
	// Expire closes those of the checkpoints whose time is over at now and that
	// nobody answered, durably, and returns the ones that are closed so: they
	// take no answer any more, whoever asks. One that was answered has its row
	// in the inbox.
	Expire(ctx context.Context, checkpoints []string, now time.Time) ([]string, error)
	// Day is what the whole project consumed today (UTC).
	Day(ctx context.Context) (orchestrator.Day, error)
}

// Batch is what one step of the core writes, in one transaction.
type Batch struct {
	Events []work.Event
	Opened []work.Checkpoint
	Closed []string // checkpoints that take no answer any more: what they were about is dropped
	Expire bool     // the run is over: what is still open is held for ever
	Usage  []UsageEntry
	Upkeep
}

// Upkeep is what the embedded engine notes for itself.
type Upkeep struct {
	Consumed []int64   // inbox rows that the events answer
	Began    []Attempt // effects whose processes may be running from now on
	Over     []Attempt // effects whose processes are gone
}

// UsageEntry is what an iteration consumed, for the caps of the day.
type UsageEntry struct {
	Command work.CommandID
	USD     *float64
	Tokens  *int64
}

// Attempt names the processes of one effect by their mark.
type Attempt struct {
	Command work.CommandID
	Mark    string
}

// Inbox is an answer that a door wrote.
type Inbox struct {
	ID     int64
	Answer work.Answer
}

// Lease is what the embedded engine needs beside the record: it alone drives the
// run while it has the lease, hears answers from the inbox, and knows which
// effects a process that died had begun.
type Lease interface {
	Heartbeat(ctx context.Context) error
	Inbox(ctx context.Context) ([]Inbox, error)
	// Changed says whether another process wrote since the last call.
	Changed(ctx context.Context) (bool, error)
	// Attempts are the marks of effects that began and are not over: those of
	// a process that died.
	Attempts(ctx context.Context) ([]Attempt, error)
}

// Journal is a record under a lease: every call fails once the lease is lost.
type Journal interface {
	Record
	Lease
}

// Processes ends every process that carries a mark, and returns when none is
// left.
type Processes interface {
	End(ctx context.Context, mark string) error
}

// Watcher sees a run as it goes: the terminal, plain log lines, the JSON
// stream. It is called from one goroutine and must not block for long.
type Watcher interface {
	Events(evs []work.Event, s *orchestrator.State)
	Activity(a work.Activity)
}
