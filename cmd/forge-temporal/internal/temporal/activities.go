package temporal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

// Activities are what the workflow of a run has done, on this host. Those at the
// record may be carried out twice; Do is carried out once for each attempt.
type Activities struct {
	Places Places
	Host   string
	// Core is the version of this worker's; "" = CoreVersion.
	Core string
	// Causes asks a run why one of its effects is to end; client.Client does.
	Causes Asker
	// Beats tells the server that an effect is alive; nil = the SDK does, and an effect
	// ends with the first sign of life that does not get through.
	Beats Beats
	// Slots bounds the effects that are carried out at once; nil = nothing does.
	Slots chan struct{}
	// Most bounds the effects that are carried out at all; nil = nothing does.
	Most *Quota

	under underway
}

// Asker asks a workflow; client.Client does.
type Asker interface {
	QueryWorkflow(ctx context.Context, workflowID, runID, queryType string, args ...any) (converter.EncodedValue, error)
}

// LoadInput asks for a state as a program of Core writes it.
type LoadInput struct {
	At
	Core string
}

// open opens what in names; its errors are tried again where the record is away.
func (a *Activities) open(ctx context.Context, in At) (*Place, error) {
	p, err := a.Places.Open(ctx, in.Project, in.Run)
	return p, a.record(err)
}

// record says whether an error at the record is worth another try.
func (a *Activities) record(err error) error {
	var app *temporal.ApplicationError
	switch {
	case err == nil, errors.As(err, &app), a.Places.Away(err), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), errRecord, err)
}

// Load is the run's state as it is folded here.
func (a *Activities) Load(ctx context.Context, in LoadInput) ([]byte, error) {
	if own := cmp.Or(a.Core, CoreVersion); in.Core != own {
		return nil, fmt.Errorf("a state of core %s is asked for, and this worker has core %s", in.Core, own)
	}
	s, err := a.Places.Fold(ctx, in.Project, in.Run)
	if err != nil {
		return nil, a.record(err)
	}
	return s.Snapshot()
}

// Begin ends what a process that died left, and reads where the record ends.
func (a *Activities) Begin(ctx context.Context, in At) (b Begun, err error) {
	p, err := a.open(ctx, in)
	if err != nil {
		return b, err
	}
	defer p.Close()
	if b.Left, err = p.Record.Attempts(ctx); err != nil {
		return b, a.record(err)
	}
	if err := end(ctx, p, b.Left); err != nil {
		return b, a.record(err)
	}
	if b.Head.Count, b.Head.Hash, err = p.Record.Head(ctx); err != nil {
		return b, a.record(err)
	}
	b.Inbox, err = p.Record.Inbox(ctx)
	return b, a.record(err)
}

// End ends processes by their marks. An effect that is still carried out here, since
// it outlived an outage of the server, is waited for, unless it is to end; what it comes
// to is returned, as is what one came to of which the server never heard.
func (a *Activities) End(ctx context.Context, in EndInput) (out Left, err error) {
	p, err := a.open(ctx, in.At)
	if err != nil {
		return out, err
	}
	defer p.Close()
	for _, one := range in.Left {
		if done := a.cameTo(ctx, p.Notes, in, one); done != nil {
			out.Done = append(out.Done, DoneOf{Command: one.Command, Done: *done})
		}
	}
	if ctx.Err() != nil {
		return out, ctx.Err() // this worker stops; another is asked
	}
	defer a.alive(ctx, in.Beat)()
	return out, end(ctx, p, in.Left)
}

func end(ctx context.Context, p *Place, left []engine.Attempt) error {
	for _, one := range left {
		if err := p.Processes.End(ctx, one.Mark); err != nil {
			return fmt.Errorf("end what %s left running: %w", one.Command, err)
		}
	}
	return nil
}

// Append writes one batch, unless it is written already, and returns where the
// record ends then. A record that ends elsewhere was written by somebody else:
// nothing is added to it.
func (a *Activities) Append(ctx context.Context, in AppendInput) (orchestrator.Head, error) {
	p, err := a.open(ctx, in.At)
	if err != nil {
		return orchestrator.Head{}, err
	}
	defer p.Close()
	// Half of it must not stay undone because a worker is told to stop.
	ctx = context.WithoutCancel(ctx)
	written, err := a.written(ctx, p, &in)
	if err == nil && !written {
		if err = p.Effects.Refute(ctx, in.Batch.Events); err == nil {
			err = p.Record.Append(ctx, in.Batch)
		}
	}
	if err != nil {
		return orchestrator.Head{}, a.record(err)
	}
	p.Effects.Keep(ctx, in.Run, in.Base, in.Batch.Events)
	var head orchestrator.Head
	head.Count, head.Hash, err = p.Record.Head(ctx)
	return head, a.record(err)
}

// written says that a batch is on record: this very batch, after the head that it
// is to follow.
func (a *Activities) written(ctx context.Context, p *Place, in *AppendInput) (bool, error) {
	count, hash, err := p.Record.Head(ctx)
	if err != nil {
		return false, err
	}
	if count == in.After.Count && (hash == in.After.Hash || count == 0) {
		if len(in.Batch.Events) == 0 {
			err = a.unconsumed(ctx, p, &in.Batch)
		}
		return false, err
	}
	if len(in.Batch.Events) > 0 && count == in.After.Count+int64(len(in.Batch.Events)) {
		there, err := p.Record.Events(ctx, in.After.Count)
		if err != nil {
			return false, err
		}
		if slices.EqualFunc(there, in.Batch.Events, same) {
			return true, nil
		}
	}
	return false, temporal.NewNonRetryableApplicationError(
		fmt.Sprintf("the journal of run %s has %d events, and %d were known: somebody else wrote to it", in.Run, count, in.After.Count), errConflict, nil)
}

// unconsumed leaves the rows out that are gone: a batch without events leaves no
// other trace of having been written.
func (a *Activities) unconsumed(ctx context.Context, p *Place, b *engine.Batch) error {
	rows, err := p.Record.Inbox(ctx)
	b.Consumed = slices.DeleteFunc(b.Consumed, func(id int64) bool {
		return !slices.ContainsFunc(rows, func(row engine.Inbox) bool { return row.ID == id })
	})
	return err
}

func same(a, b work.Event) bool {
	a.Time, b.Time = a.Time.UTC(), b.Time.UTC()
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

// Inbox is what nobody heard yet.
func (a *Activities) Inbox(ctx context.Context, in At) ([]engine.Inbox, error) {
	p, err := a.open(ctx, in)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	rows, err := p.Record.Inbox(ctx)
	return rows, a.record(err)
}

// Expire closes checkpoints whose time is over.
func (a *Activities) Expire(ctx context.Context, in ExpireInput) ([]string, error) {
	p, err := a.open(ctx, in.At)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	closed, err := p.Record.Expire(ctx, in.Checkpoints, in.Now)
	return closed, a.record(err)
}

// Day is what the whole project consumed today.
func (a *Activities) Day(ctx context.Context, in At) (orchestrator.Day, error) {
	p, err := a.open(ctx, in)
	if err != nil {
		return orchestrator.Day{}, err
	}
	defer p.Close()
	day, err := p.Record.Day(ctx)
	return day, a.record(err)
}

// Do carries an effect out. From its first line on the server hears that this
// worker is at it, and hears on what host, should that end.
func (a *Activities) Do(ctx context.Context, in DoInput) (Done, error) {
	e, err := orchestrator.DecodeEffect(in.Effect)
	if err != nil {
		return Done{Host: a.Host}, temporal.NewNonRetryableApplicationError(err.Error(), errRecord, err)
	}
	ectx, d := a.under.begin(ctx, in.Mark)
	go func() {
		done, err := a.carryOut(ectx, d, in, e)
		a.under.ended(in.Mark, d, done, err)
	}()
	a.attended(ctx, d, e.Of().ID, in.Beat, in.Patience)
	<-d.over
	return d.done, d.err
}

func (a *Activities) carryOut(ctx context.Context, d *doing, in DoInput, e orchestrator.Effect) (done Done, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("it panicked: %v\n%s", why, debug.Stack())
		}
	}()
	if !a.slot(ctx, e) {
		return done, nil
	}
	defer a.free(e)
	if a.Most == nil {
		done.Host = a.Host // one that goes when it has done its part has no folder to come back to
	}
	p, err := a.Places.Open(ctx, in.Project, in.Run)
	if err != nil {
		return done, err
	}
	defer p.Close()
	n, _ := takeNote(p.Notes, in.Mark, in.Beat) // without one it is done all the same
	d.noted(n)
	defer func() { n.ends(done, err) }()
	if done.Short = short(p); done.Short != "" {
		return done, nil
	}
	fact := p.Effects.Do(ctx, e, effect.Attending{Mark: in.Mark, Tell: func(work.Activity) {}})
	if fact == nil {
		return done, nil
	}
	done.Short = short(p)
	done.Fact, err = orchestrator.EncodeFact(fact)
	return done, err
}

func short(p *Place) string {
	if p.Room == nil {
		return ""
	}
	return shortage.Of(p.Room())
}

// slot waits for a place to work at, and says whether there is one. What is told
// to an agent needs none: the agent has it.
func (a *Activities) slot(ctx context.Context, e orchestrator.Effect) bool {
	if _, tells := e.(orchestrator.TellEffect); tells || a.Slots == nil {
		return true
	}
	select {
	case a.Slots <- struct{}{}:
	case <-a.Most.Full():
		return false
	case <-ctx.Done():
		return false
	}
	if a.Most.take() {
		return true
	}
	<-a.Slots
	return false
}

func (a *Activities) free(e orchestrator.Effect) {
	if _, tells := e.(orchestrator.TellEffect); !tells && a.Slots != nil {
		<-a.Slots
	}
}

// askFor is how long a run is asked why one of its effects is to end.
const askFor = 5 * time.Second

func (a *Activities) cause(ctx context.Context, id work.CommandID) error {
	if a.Causes == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	of := activity.GetInfo(ctx).WorkflowExecution
	value, err := a.Causes.QueryWorkflow(ctx, of.ID, of.RunID, causeQuery, id)
	var why string
	if err == nil && value.Get(&why) == nil && why == causeTold {
		return effect.ErrTold
	}
	return nil
}

var _ Asker = client.Client(nil)
