package temporal

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/work"
	"forge/orchestrator"
)

// Causes of the end of an effect, as its worker asks for them.
const (
	causeTold = "told"
	causeEnd  = "end"
)

// job is one command made ready to be carried out.
type job struct {
	command orchestrator.Command
	mark    string
	effect  orchestrator.Effect
}

// startPending begins every pending command that is not under way yet. Their
// started events, and those of what went before, are one write.
func (d *drive) startPending(ctx workflow.Context) error {
	var jobs []job
	begun := map[work.CommandID]bool{}
	// One by one: that a command begins may make another one due, or end the run.
	for c, due := d.under.Next(d.s, begun); due; c, due = d.under.Next(d.s, begun) {
		j, err := d.prepare(ctx, c)
		if err != nil {
			return err
		}
		if err := d.think(ctx, orchestrator.Began{Command: c}); err != nil {
			return err
		}
		begun[c.ID] = true
		d.batch.Began = append(d.batch.Began, engine.Attempt{Command: c.ID, Mark: j.mark})
		jobs = append(jobs, j)
	}
	if err := d.flush(ctx); err != nil {
		return err
	}
	for _, j := range jobs {
		if err := d.start(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

func (d *drive) prepare(ctx workflow.Context, c orchestrator.Command) (j job, err error) {
	d.marks++
	j = job{command: c, mark: markOf(d.seed, d.marks)}
	var known orchestrator.Known
	day, _ := c.Needs()
	if day {
		if known.Day, err = d.day(ctx); err != nil {
			return j, err
		}
	}
	known.Head = d.head
	j.effect, err = orchestrator.EffectOf(d.s, c, known)
	return j, err
}

// newSeed is what the marks of one part of a run are made of.
func newSeed() string {
	var b [16]byte
	// crypto/rand never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// markOf names the processes of one effect. Agents do not know the seed, so that
// none can guess another's mark.
func markOf(seed string, n int) string {
	mac := hmac.New(sha256.New, []byte(seed))
	fmt.Fprint(mac, n)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// start has an effect carried out.
func (d *drive) start(ctx workflow.Context, j job) error {
	raw, err := orchestrator.EncodeEffect(j.effect)
	if err != nil {
		return err
	}
	ectx, cancel := workflow.WithCancel(ctx)
	id := j.command.ID
	delete(d.causes, id)
	d.under = append(d.under, &engine.Going{Command: j.command, Mark: j.mark, End: func(cause error) {
		if d.causes[id] == "" {
			d.causes[id] = causeEnd
			if errors.Is(cause, effect.ErrTold) {
				d.causes[id] = causeTold
			}
		}
		cancel()
	}})
	in := DoInput{At: d.at(), Effect: raw, Mark: j.mark, Beat: d.in.Times.Beat, Patience: d.patience()}
	workflow.Go(ectx, func(ectx workflow.Context) {
		d.came = append(d.came, d.carry(ectx, j, in))
	})
	return nil
}

// carry has an effect done by a worker that can, however long none comes.
func (d *drive) carry(ectx workflow.Context, j job, in DoInput) result {
	ctx, _ := workflow.NewDisconnectedContext(ectx) // for what is done also when the effect was to end
	res := result{id: j.command.ID, mark: j.mark}
	for {
		queue, patience := d.queue(j)
		d.standing(ectx, res.id, queue)
		err := workflow.ExecuteActivity(d.doing(ectx, queue, patience), (*Activities).Do, in).Get(ectx, &res.done)
		if err == nil {
			d.standing(ectx, res.id, "")
			d.known(&res, j)
			return res
		}
		// Nobody took it: it has not begun.
		var late *temporal.TimeoutError
		if errors.As(err, &late) && late.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START && ectx.Err() == nil {
			if d.hosts[j.command.Phase] != "" && needsFolder(j.effect) {
				delete(d.hosts, j.command.Phase) // its host does not come back in time
				continue
			}
			d.waiting = noWorker(queue)
			workflow.GetLogger(ctx).Warn(d.waiting, "command", string(res.id))
			continue
		}
		d.unknown(ectx, ctx, &res, j, err)
		d.standing(ectx, res.id, "")
		return res
	}
}

// known takes what an effect came to.
func (d *drive) known(res *result, j job) {
	if host := res.done.Host; host != "" && j.command.Phase != "" {
		d.hosts[j.command.Phase] = host
	}
	if len(res.done.Fact) == 0 {
		return
	}
	var err error
	if res.fact, err = orchestrator.DecodeFact(res.done.Fact); err != nil {
		res.fact = orchestrator.Broke{Command: j.command, Problem: err.Error()}
	}
}

// standing notes on which queue an effect is, "" = on none.
func (d *drive) standing(ctx workflow.Context, id work.CommandID, queue string) {
	d.started = slices.DeleteFunc(d.started, func(e EffectStanding) bool { return e.Command == id })
	if queue != "" {
		d.started = append(d.started, EffectStanding{Command: id, Queue: queue, Since: workflow.Now(ctx)})
	} else {
		d.waiting = ""
	}
}

// queue is where a job goes, and how long it waits there.
func (d *drive) queue(j job) (string, time.Duration) {
	if host := d.hosts[j.command.Phase]; host != "" && needsFolder(j.effect) {
		return d.in.Queues.Host(host), d.patience()
	}
	needs, own := d.in.Requires[j.command.Phase]
	if !own {
		needs = d.in.Requires[""]
	}
	return d.in.Queues.Able(needs), cmp.Or(d.in.Times.Unserved, Usual().Unserved)
}

// doing is for effects: once for each attempt, since the core decides about
// attempts, and with a heartbeat from their first line.
func (d *drive) doing(ctx workflow.Context, queue string, patience time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: queue, ScheduleToStartTimeout: patience, StartToCloseTimeout: cmp.Or(d.in.Times.Effect, Usual().Effect),
		HeartbeatTimeout: cmp.Or(d.in.Times.Beat, Usual().Beat), WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
}

// unknown is an effect of which nobody knows what became: neither done nor failed.
// Its host is asked: one that outlived an outage of the server is waited for there, by
// ectx; what another left running is ended by its mark before it is done again.
func (d *drive) unknown(ectx, ctx workflow.Context, res *result, j job, err error) {
	var late *temporal.TimeoutError
	var ended *temporal.CanceledError
	switch {
	case errors.As(err, &late):
	case errors.As(err, &ended):
		// It was to end and had not begun.
		if it, ok := j.effect.(orchestrator.IterateEffect); ok {
			res.fact = interrupted(it, "it was ended before it began")
		}
		return
	default:
		var app *temporal.ApplicationError
		why := err.Error()
		if errors.As(err, &app) {
			why = app.Message()
		}
		res.fact = orchestrator.Broke{Command: j.command, Problem: "its worker could not carry it out: " + why}
		return
	}
	var host string
	if late.HasLastHeartbeatDetails() {
		_ = late.LastHeartbeatDetails(&host)
	}
	left, over := d.endLeft(ectx, ctx, host, engine.Attempt{Command: res.id, Mark: res.mark})
	if res.left = !over; res.left {
		delete(d.hosts, j.command.Phase) // nobody of that host came in its time, and is not waited for once more
	}
	if len(left.Done) == 1 && left.Done[0].Command == res.id {
		res.done = left.Done[0].Done
		d.known(res, j)
		return
	}
	if it, ok := j.effect.(orchestrator.IterateEffect); ok {
		res.fact = interrupted(it, "nobody knows what became of it: its worker is silent")
	}
}

// interrupted is an iteration that runs again from where it began.
func interrupted(e orchestrator.IterateEffect, why string) orchestrator.Fact {
	return orchestrator.IterationDone{Command: e.Command, Report: work.IterationReport{Outcome: work.OutcomeInterrupted, Detail: why}}
}

// endLeft ends what an effect left, on its host, and says whether it did, and what it
// came to where it had not died. When no worker of that host comes in time, the attempt
// stays on record as one that may run still, and whoever takes the run up next ends it.
func (d *drive) endLeft(ectx, ctx workflow.Context, host string, left engine.Attempt) (came Left, ended bool) {
	queue := d.in.Queues.Core(d.core)
	if host != "" {
		queue = d.in.Queues.Host(host)
	}
	options := workflow.ActivityOptions{
		TaskQueue: queue, ScheduleToStartTimeout: d.patience(), StartToCloseTimeout: cmp.Or(d.in.Times.Effect, Usual().Effect),
		HeartbeatTimeout: cmp.Or(d.in.Times.Beat, Usual().Beat), WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: 5 * time.Second, MaximumAttempts: 10},
	}
	in := EndInput{At: d.at(), Left: []engine.Attempt{left}, Beat: d.in.Times.Beat, Patience: d.patience()}
	var err error
	for {
		actx := ectx
		if in.Stop = ectx.Err() != nil; in.Stop {
			actx = ctx
		}
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(actx, options), (*Activities).End, in).Get(ctx, &came)
		if err == nil || in.Stop || ectx.Err() == nil {
			break // else it was called off before anybody took it
		}
	}
	if err != nil {
		workflow.GetLogger(ctx).Warn("what a silent worker left may still run", "host", host, "command", string(left.Command), "err", err)
	}
	return came, err == nil
}

// patience is how long an effect goes on by itself, once the server is back and nobody
// asks for it: as long as its host is waited for.
func (d *drive) patience() time.Duration { return cmp.Or(d.in.Times.Host, Usual().Host) }

func (d *drive) ended(ctx workflow.Context, res result) error {
	d.under.Drop(res.id)
	if !res.left {
		d.batch.Over = append(d.batch.Over, engine.Attempt{Command: res.id, Mark: res.mark})
	}
	fact := res.fact
	// One that was ended before it came to a result is done again; what says of
	// another command how it ended says nothing.
	of, is := orchestrator.ResultOf(fact)
	if short := res.done.Short; short != "" {
		if is {
			fact, _ = engine.Undone(fact, short)
		}
		if d.s.Stopping == nil {
			if err := d.think(ctx, orchestrator.Stop{Outcome: work.RunInterrupted, Reason: orchestrator.RanOut(short)}); err != nil {
				return err
			}
			d.under.EndAll()
		}
	}
	if !is || of != res.id {
		return nil
	}
	// What follows at once is written together with it, see startPending.
	return d.think(ctx, fact)
}

// abandon ends every effect and waits until it has; the results are lost, as if
// the process had died.
func (d *drive) abandon(ctx workflow.Context) {
	d.under.EndAll()
	for len(d.under) > 0 {
		if workflow.Await(ctx, func() bool { return len(d.came) > 0 }) != nil {
			return
		}
		d.under.Drop(d.came[0].id)
		d.came = d.came[1:]
	}
}
