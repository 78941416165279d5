package site

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	pages "forge/factory/web"
	"forge/internal/config"
	"forge/internal/jobs"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/internal/worker"
	"forge/orchestrator"
)

// jobPrefix begins the ids of jobs that a server opened: those it also goes
// on with by itself when it died in the middle of them.
const jobPrefix = "j-"

// Jobs starts and drives the jobs of a project within this process. tend
// has to run as long as jobs are to go on.
type Jobs struct {
	*view
	worker *worker.Worker

	mu      sync.Mutex
	driven  map[string]*driving
	ending  map[string]bool // a person ends them: nobody goes on with them
	running sync.WaitGroup
	poke    chan struct{}

	answering sync.Mutex // one answer to an interview at a time
}

// driving is one time that this process drives a job. The next may begin before
// the last has put itself away.
type driving struct{ stop context.CancelFunc }

func newJobs(s *view, w *worker.Worker) *Jobs {
	return &Jobs{view: s, worker: w, driven: map[string]*driving{}, ending: map[string]bool{}, poke: make(chan struct{}, 1)}
}

// Experts are the experts that a job may be given to.
func (j *Jobs) Experts(ctx context.Context) ([]string, error) {
	p, err := j.worker.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	all, err := p.Config.Experts()
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
	}
	return names, err
}

// Sources are the data sources that a job may be given.
func (j *Jobs) Sources(ctx context.Context) ([]string, error) {
	p, err := j.worker.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(p.Config.File.DataSources)), nil
}

// Levels are the levels that work may be opened with.
func (j *Jobs) Levels(ctx context.Context) (pages.Choices, error) {
	p, err := j.worker.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	return levels(p.Config.Presets()), nil
}

// Start opens a job with all the checks of forge job start, and drives it in
// this process.
func (j *Jobs) Start(ctx context.Context, o pages.JobOrder) (string, error) {
	id, err := j.start(ctx, o)
	return id, forPages(err)
}

func (j *Jobs) start(ctx context.Context, o pages.JobOrder) (string, error) {
	p, err := j.worker.Fresh(ctx)
	if err != nil {
		return "", err
	}
	order := jobs.Order{Description: o.Description, Expert: o.Expert, Sources: o.Sources, Policy: config.PolicyFlags{Job: o.Level}, MaxPhases: -1, NoMerge: true}
	for _, name := range slices.Sorted(maps.Keys(o.Documents)) {
		order.Documents = append(order.Documents, jobs.Document{Name: name, Data: o.Documents[name]})
	}
	b, err := jobs.Prepare(ctx, p, order)
	if err != nil {
		return "", err
	}
	id := jobPrefix + p.NewRunID()
	run, err := b.Open(ctx, p, j.worker.Machine, id, p.Journal.CreateRun)
	if err != nil {
		return "", err
	}
	return id, j.begin(ctx, p, run)
}

// begin drives a run that a server opened, and waits for its first event.
func (j *Jobs) begin(ctx context.Context, p *project.Checkout, run runs.Opened) error {
	j.drive(ctx, p, run.Lease, run.State, run.First)
	return j.opened(ctx, run.State.Run)
}

// drive drives a job until it ends, freezes or is cancelled. It outlives the
// request that began it, and ends with tend. One that a person is ending stops
// at once.
func (j *Jobs) drive(ctx context.Context, p *project.Checkout, lease *journal.Lease, st *orchestrator.State, first orchestrator.Fact) {
	j.beside(ctx, st.Run, func(ctx context.Context) {
		if err := j.worker.DriveRun(ctx, p, worker.Turn{Lease: lease, State: st, First: first, Log: p.Log.With("job", st.Run)}); err != nil {
			p.Log.Error("a job could not be driven", "job", st.Run, "err", err)
		}
	})
}

// beside does what outlives the request that began it, under an id by which it is
// ended; it ends with tend. What a person is ending stops at once.
func (j *Jobs) beside(ctx context.Context, id string, do func(context.Context)) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	this := &driving{cancel}
	j.mu.Lock()
	j.driven[id] = this
	if j.ending[id] {
		cancel()
	}
	j.mu.Unlock()
	j.running.Go(func() {
		defer func() {
			cancel()
			j.mu.Lock()
			if j.driven[id] == this {
				delete(j.driven, id)
			}
			j.mu.Unlock()
			j.wake()
		}()
		do(ctx)
	})
}

// has says whether something is done under an id.
func (j *Jobs) has(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.driven[id] != nil
}

// end stops what is done under an id.
func (j *Jobs) end(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now := j.driven[id]; now != nil {
		now.stop()
	}
}

func (j *Jobs) wake() {
	select {
	case j.poke <- struct{}{}:
	default:
	}
}

// tendEvery is how often jobs are looked after when nothing is answered on a page.
const tendEvery = 2 * time.Second

// Tend goes on with jobs whose answer has come, and with those of this kind of
// server that a dead one left. It returns when ctx is cancelled and every job
// has been left where it can be resumed.
func (j *Jobs) Tend(ctx context.Context) {
	watch := j.p.Journal.Watch()
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	refused := map[string]int64{} // by job: the event at which it could not be gone on with
	for {
		if changed, err := watch.Changed(ctx); err != nil || changed {
			if err := j.GoOn(ctx, refused); err != nil && ctx.Err() == nil {
				j.p.Log.Error("jobs cannot be looked after", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			j.mu.Lock()
			for _, now := range j.driven {
				now.stop()
			}
			j.mu.Unlock()
			j.running.Wait()
			return
		case <-tick.C:
		case <-j.poke:
		}
	}
}

// GoOn takes up what may go on now. Refused are the jobs that could not, by the
// event at which that was; it is kept between calls.
func (j *Jobs) GoOn(ctx context.Context, refused map[string]int64) error {
	rows, err := j.p.Journal.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Events == 0 || r.Alive || r.Issue != 0 || refused[r.ID] == r.Events {
			continue
		}
		f, err := j.factsOf(ctx, r.ID)
		if err != nil {
			return err
		}
		inbox, err := j.p.Journal.Inbox(ctx, r.ID)
		if err != nil {
			return err
		}
		left := r.Outcome == "" || r.Outcome == work.RunInterrupted
		begun := strings.HasPrefix(r.ID, jobPrefix) || strings.HasPrefix(r.ID, RunPrefix)
		switch {
		case begun && (left || len(inbox) > 0), f.job && len(inbox) > 0, slices.ContainsFunc(inbox, answeredHere):
		default:
			continue
		}
		j.mu.Lock()
		ending := j.ending[r.ID]
		j.mu.Unlock()
		if ending {
			continue
		}
		if err := j.resume(ctx, r.ID); err != nil {
			refused[r.ID] = r.Events
			j.p.Log.Error("a job cannot go on", "job", r.ID, "err", err)
		}
	}
	return nil
}

// answeredHere says that somebody answered by this server: whoever did so in a
// terminal goes on there as well.
func answeredHere(row journal.InboxRow) bool {
	return row.Answer.Door == "web" || row.Answer.Door == "api"
}

// resume goes on with a job where its events left it.
func (j *Jobs) resume(ctx context.Context, run string) error {
	p, err := j.worker.Fresh(ctx)
	if err != nil {
		// It goes on with what it was opened with.
		if p, err = project.OpenRecorded(ctx, j.p.Env); err != nil {
			return err
		}
		p.Journal = j.p.Journal
	}
	lease, err := p.Journal.AcquireRun(ctx, run, journal.Self())
	if errors.Is(err, journal.ErrLease) {
		return nil // somebody was quicker
	}
	if err != nil {
		return err
	}
	st, err := j.worker.TakenUp(ctx, p, run)
	if st != nil && st.Outcome.Final() && !st.Live {
		return lease.Release(ctx) // somebody ended it meanwhile
	}
	if err != nil {
		return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	first := orchestrator.Resumed{}
	first.By = "factory"
	j.drive(ctx, p, lease, st, first)
	return nil
}
