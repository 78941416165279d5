package machine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/approval"
	"forge/internal/config"
	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/engine/embedded"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// Places are the runs of one checkout, whose journal is open, or those of a project that
// this machine has a mirror of.
type Places struct {
	p       *project.Checkout
	machine *project.Machine
	team    team
	mirror  *mirror // nil = p is a checkout

	mu      sync.Mutex
	drivers map[string]*driver
}

// driver is what one run needs, for as long as somebody uses it.
type driver struct {
	used   int
	once   sync.Mutex
	engine *embedded.Engine // its parts; it drives nothing
	done   func()
	here   *project.Checkout // that the run is worked on in
	from   string            // the checkout that it began in
}

func (d *driver) opened() bool {
	d.once.Lock()
	defer d.once.Unlock()
	return d.engine != nil
}

// NewPlaces opens what the runs of p need of this machine; with is a mirror that takes
// the place of a checkout, or nil.
func NewPlaces(ctx context.Context, p *project.Checkout, set config.EngineSettings, with *mirror) (*Places, error) {
	m, err := p.Machine(ctx)
	if err != nil {
		return nil, err
	}
	t, err := teamOf(ctx, p, m.Repo, set)
	if err != nil {
		return nil, err
	}
	return &Places{p: p, machine: m, team: t, mirror: with, drivers: map[string]*driver{}}, nil
}

// ownerOf is who holds the lease of a run that Temporal's engine drives: no single
// process.
func ownerOf(run string) journal.Owner {
	return journal.Owner{ID: "temporal/" + run, Host: "temporal"}
}

// Open is a run of this checkout.
func (l *Places) Open(_ context.Context, name, run string) (*temporal.Place, error) {
	if name != l.team.name {
		return nil, fmt.Errorf("this worker serves project %s, and run %s is of %s", l.team.name, run, name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.drivers[run]
	if d == nil {
		d = &driver{}
		l.drivers[run] = d
	}
	d.used++
	e := &effects{places: l, run: run, driver: d}
	left := runs.Processes{Kill: proc.KillMarked, Log: l.p.Log}
	return &temporal.Place{Record: &record{p: l.p, run: run}, Effects: e, Processes: left, Room: e.room, Notes: filepath.Join(l.p.State, "effects"), Close: func() { l.close(run, d) }}, nil
}

func (l *Places) close(run string, d *driver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.used--; d.used > 0 {
		return
	}
	delete(l.drivers, run)
	if d.done != nil {
		d.done()
	}
}

// Fold is the run as its journal tells it.
func (l *Places) Fold(ctx context.Context, _, run string) (*orchestrator.State, error) {
	s, _, err := l.p.LoadRun(ctx, run)
	return s, err
}

// Away says that the journal is not within reach for a while: its file is locked, or
// its server is away for longer than one call waits. What is to be written waits in
// the workflow, and effects that were carried out stand in its history meanwhile.
func (l *Places) Away(err error) bool {
	return errors.Is(err, journal.ErrLocked) || errors.Is(err, journal.ErrServer)
}

// effects carries out what a run needs; who does is made when it is known how the
// run was opened.
type effects struct {
	places *Places
	run    string
	driver *driver
}

func (e *effects) parts(ctx context.Context, first []work.Event) (*embedded.Engine, error) {
	e.driver.once.Lock()
	defer e.driver.once.Unlock()
	if e.driver.engine != nil {
		return e.driver.engine, nil
	}
	spec, s, err := e.begun(ctx, first)
	if err != nil {
		return nil, err
	}
	p, m, err := e.places.p, e.places.machine, error(nil)
	if e.places.mirror != nil {
		p, m, err = e.places.mirror.checkout(ctx, e.places, e.run, spec.Base.Commit)
	}
	if err == nil && e.places.team.at != "" {
		p.Relocate(spec)
		s, err = orchestrator.NewState(e.run, *spec)
	}
	if err != nil {
		return nil, err
	}
	e.driver.engine, e.driver.done, err = runs.Driver(ctx, p, m, nil, s, runs.Options{Judged: approval.JudgedIn(p)})
	if err != nil {
		return nil, err
	}
	e.driver.here = p
	if at, is := e.driver.engine.Effects.(*effect.Machine); is && e.places.team.at != "" {
		// What one machine remembers as green another may know to be red by now.
		at.Proofs = nil
		at.Repo = carried{m.Repo, e.run}
	}
	return e.driver.engine, nil
}

// begun is the run as it was opened: by what stands in the journal, or is about to.
func (e *effects) begun(ctx context.Context, first []work.Event) (*orchestrator.Spec, *orchestrator.State, error) {
	p := e.places.p
	there, err := p.Journal.Events(ctx, e.run, 0)
	if err != nil {
		return nil, nil, err
	}
	if len(there) == 0 {
		there = first
	}
	s, err := p.BeginRun(ctx, e.run, there)
	if err != nil {
		return nil, nil, err
	}
	spec, err := p.SpecOf(ctx, there[0])
	e.driver.from = spec.Base.RepoRoot
	return &spec, s, err
}

// Do carries an effect out here.
func (e *effects) Do(ctx context.Context, of orchestrator.Effect, a effect.Attending) orchestrator.Fact {
	defer beating(ctx, e.places.p, e.run, beatEvery)()
	refused := func(ref string) {
		e.places.p.Log.Warn("an iteration was taken over by another worker: what this one made does not count, and is kept", "run", e.run, "command", string(of.Of().ID), "ref", ref)
	}
	do := func(of orchestrator.Effect) orchestrator.Fact { return e.doHere(ctx, of, a) }
	if place := e.places.team.place(e.places.p, e.places.machine.Repo, "run "+e.run); place != nil {
		return travel{place: place, run: e.run, refused: refused}.do(ctx, of, a, do)
	}
	it, iterates := of.(orchestrator.IterateEffect)
	if !iterates {
		return do(of)
	}
	return fenced(ctx, e.places.machine.Repo, e.run, a.Mark, it, do, refused)
}

// doHere carries an effect out with what is here.
func (e *effects) doHere(ctx context.Context, of orchestrator.Effect, a effect.Attending) orchestrator.Fact {
	parts, err := e.parts(ctx, nil)
	if err == nil && e.places.team.at != "" {
		of, err = relocated(of, e.driver.from, e.driver.here)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return orchestrator.Broke{Command: of.Of(), Problem: err.Error()}
	}
	return parts.Effects.Do(ctx, of, a)
}

func (e *effects) Refute(ctx context.Context, evs []work.Event) error {
	if len(evs) == 0 || e.places.team.at != "" { // then nobody remembers any

		return nil
	}
	parts, err := e.parts(ctx, evs)
	if err != nil {
		return err
	}
	return parts.Effects.Refute(ctx, evs)
}

func (e *effects) Keep(ctx context.Context, run, base string, evs []work.Event) {
	if len(evs) == 0 || e.places.team.at != "" {
		return
	}
	parts, err := e.parts(ctx, evs)
	if err != nil {
		e.places.p.Log.Warn("keep what was proven", "run", run, "err", err)
		return
	}
	parts.Effects.Keep(ctx, run, base, evs)
}

func (e *effects) room() error {
	if e.places.team.at != "" && !e.driver.opened() {
		return nil // its commits are brought first, however long that takes
	}
	parts, err := e.parts(context.Background(), nil)
	if err != nil {
		return nil // Do says why
	}
	return parts.Room()
}

// record is a run in the journal. Who appends joins the lease that the engine holds.
type record struct {
	p   *project.Checkout
	run string
}

func (r *record) held(ctx context.Context) (*runs.Held, error) {
	lease, err := r.p.Journal.JoinRun(ctx, r.run, ownerOf(r.run))
	if err != nil {
		return nil, err
	}
	return &runs.Held{Store: r.p.Journal, Lease: lease, Now: r.p.Now}, nil
}

func (r *record) Append(ctx context.Context, b engine.Batch) error {
	h, err := r.held(ctx)
	if err != nil {
		return err
	}
	if err := h.Append(ctx, b); err != nil {
		return err
	}
	for _, e := range b.Events {
		if e.Kind == work.RunFinished {
			// Whoever goes on with it need not wait until the lease has run out.
			return h.Lease.Release(ctx)
		}
	}
	return nil
}

func (r *record) Head(ctx context.Context) (int64, string, error) {
	return r.p.Journal.Head(ctx, r.run)
}

func (r *record) Expire(ctx context.Context, ids []string, now time.Time) ([]string, error) {
	return r.p.Journal.Expire(ctx, r.run, ids, now)
}

func (r *record) Day(ctx context.Context) (orchestrator.Day, error) {
	return (&runs.Held{Store: r.p.Journal, Now: r.p.Now}).Day(ctx)
}

func (r *record) Events(ctx context.Context, after int64) ([]work.Event, error) {
	return r.p.Journal.Events(ctx, r.run, after)
}

func (r *record) Attempts(ctx context.Context) (out []engine.Attempt, err error) {
	rows, err := r.p.Journal.Attempts(ctx, r.run)
	for _, row := range rows {
		out = append(out, engine.Attempt{Command: row.Command, Mark: row.Mark})
	}
	return out, err
}

func (r *record) Inbox(ctx context.Context) (out []engine.Inbox, err error) {
	rows, err := r.p.Journal.Inbox(ctx, r.run)
	for _, row := range rows {
		out = append(out, engine.Inbox{ID: row.ID, Answer: row.Answer})
	}
	return out, err
}
