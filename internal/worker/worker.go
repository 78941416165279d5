// Package worker works on the board of one project: it triages its issues, drives
// their runs, and lands their results.
package worker

import (
	"context"
	"sync"
	"time"

	"charm.land/log/v2"

	"forge/factory"
	"forge/factory/landing"
	"forge/gates"
	"forge/internal/board"
	"forge/internal/config"
	"forge/internal/hostwatch"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/trackers"
	"forge/internal/work"
	"forge/internal/workflow"
)

// Worker is one project whose issues a process works on.
type Worker struct {
	*board.Opened
	Machine *project.Machine
	Poke    chan struct{}    // has the loop look at the board at once
	Origins trackers.Origins // of the issues of its board
	Hints   *hostwatch.Hints // of the watch of its code host, nil = there is none
	Flow    *workflow.Runner // of the WORKFLOW.md that it works by, nil = there is none

	// beside is what runs for as long as the board is worked on: what is watched
	// outside.
	beside []func(context.Context)

	owner       journal.Owner
	engine      Engine
	concurrency *factory.Concurrency
	triage      *triager
	host        config.CodeHost // as it was when the worker was opened
	room        func(p *project.Checkout) error

	landing sync.Mutex // one result at a time, or one batch, is brought into the target
	// line are those that wait for that. It decides nothing, and may be lost.
	line struct {
		sync.Mutex
		of []*waiting
	}
	// unserved is why nobody takes what runs need done that others drive, by run: it
	// decides nothing, and may be lost.
	unserved struct {
		sync.Mutex
		of map[string]string
	}

	tidying   sync.Mutex
	tidied    time.Time // when it was last; with tidying
	admission struct {
		sync.Mutex
		at  time.Time
		of  factory.Admission
		err error
		// said is [host] when it was said that it counts later.
		said config.CodeHost
	}
	// seen is what the watch saw of pull requests, and the landings that were read
	// from the journal for that: it decides nothing, and may be lost.
	seen struct {
		sync.Mutex
		of       map[int64]landing.Seen // by issue
		landings map[string]landingAt   // by run
	}
}

// Engine is what drives the runs of a checkout in place of this process; nil where
// this process does.
type Engine func(p *project.Checkout) runs.Elsewhere

// engineOf is what drives the runs of p.
func (s *Worker) engineOf(p *project.Checkout) runs.Elsewhere {
	if s.engine == nil {
		return nil
	}
	return s.engine(p)
}

// Open opens the project around dir for the factory; engine says what drives its
// runs, where that may be something else than this process. The caller closes it.
func Open(ctx context.Context, env project.Env, dir string, limit *factory.Concurrency, engine ...Engine) (*Worker, error) {
	env.Dir = dir
	b, err := board.Open(ctx, env, true)
	if err != nil {
		return nil, err
	}
	s := &Worker{Opened: b, owner: journal.Self(), concurrency: limit, Poke: make(chan struct{}, 1), room: runs.Room}
	if len(engine) > 0 {
		s.engine = engine[0]
	}
	s.Origins = trackers.NewOrigins(b)
	s.triage = newTriager(s)
	if s.Machine, err = b.Machine(ctx); err == nil {
		err = s.check(ctx)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// check says at once what keeps all issues of the project from being worked on.
func (s *Worker) check(ctx context.Context) error {
	p, err := s.Fresh(ctx)
	if err != nil {
		return err
	}
	if s.engineOf(p) == nil {
		if err := runs.CheckEngine(p); err != nil {
			return err
		}
	}
	s.host, _ = pullrequest.HostSettings(p) // Admission says what is wrong with it
	s.admission.said = s.host
	set, err := config.Resolve(p.Config, onePhase("Issue", 0), config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return err
	}
	if err := config.CheckHooks(p.Config, gates.Policy{}, true); err != nil {
		return err
	}
	if err := p.CheckSandbox(ctx, s.Machine, set.Sandbox); err != nil {
		return err
	}
	if err := s.sayTriage(p); err != nil {
		return err
	}
	if !config.ValueOf(p.Config.File.Verify.None) && len(set.Verify.Commands) == 0 {
		s.Log.Warn("there are no verify commands: every finished issue waits in review", "project", s.Project, "set", "[verify] commands")
	}
	s.tidyUp(ctx, p) // what the one before, which may have died, had no time for
	return nil
}

// Fresh is the project with its configuration as it is now: a server lives
// longer than a configuration. The journal is shared.
func (s *Worker) Fresh(ctx context.Context) (*project.Checkout, error) {
	p, err := project.Open(ctx, s.quietly())
	if err != nil {
		return nil, err
	}
	p.Env, p.Journal = s.Env, s.Journal
	return p, nil
}

// For is Fresh for the work on one issue, which may be an outsider's.
func (s *Worker) For(ctx context.Context, i work.Issue) (trackers.ForIssue, error) {
	f, err := trackers.Read(ctx, s.Opened, s.quietly(), s.Machine.Caps, i)
	if err != nil {
		return f, err
	}
	p := f.Project()
	p.Env, p.Journal = s.Env, s.Journal
	return f, nil
}

// quietly is the environment in which the configuration is read again: what it is
// warned of was said when the server began.
func (s *Worker) quietly() project.Env {
	quiet := s.Env
	quiet.Log = s.Log.With()
	quiet.Log.SetLevel(log.ErrorLevel)
	return quiet
}

// Loop is what works on the board; the caller runs it.
func (s *Worker) Loop() *factory.Loop {
	l := &factory.Loop{
		Board: s.Board, Cards: s.Journal, Claims: claims{s.Journal, s.owner}, Standings: standings{s.Journal, s.owner, s.Journal.Watch()},
		Triage: s.triage, Works: placed{s}, Origins: s.Origins, Concurrency: s.concurrency, Now: s.Now, Poke: s.Poke,
		Say: func(issue int64, what string) {
			if issue == 0 {
				s.Log.Info(text.Harmless(what), "project", s.Project)
				return
			}
			s.Log.Info(text.Harmless(what), "project", s.Project, "issue", issue)
		},
	}
	if s.engine != nil {
		l.Standings = stalled{l.Standings, s}
	}
	if s.Flow != nil {
		l.Works, l.Order, l.Room = retried{placed{s}}, s.Flow.Order, s.Flow.Room
		l.Standings = warned{l.Standings, s.Flow.Kept}
	}
	return l
}

// claims are the journal's claims for one owner.
type claims struct {
	store *journal.Store
	owner journal.Owner
}

func (c claims) Claims(ctx context.Context, project string) (map[int64]work.IssueClaim, error) {
	return c.store.Claims(ctx, project)
}

func (c claims) Claim(ctx context.Context, seen work.IssueClaim, change work.BoardChange) (work.IssueClaim, work.Issue, error) {
	return c.store.ClaimIssue(ctx, c.owner, seen, change)
}

func (c claims) Change(ctx context.Context, claim work.IssueClaim, change work.BoardChange) (work.Issue, error) {
	return c.store.ChangeClaimed(ctx, claim, change)
}

func (c claims) End(ctx context.Context, claim work.IssueClaim, change *work.BoardChange, later time.Time) (work.Issue, error) {
	return c.store.EndClaim(ctx, claim, change, later)
}

func (c claims) Keep(ctx context.Context, held []work.IssueClaim) ([]work.IssueClaim, error) {
	return c.store.KeepClaims(ctx, held)
}

// standings are the journal's standings for one owner.
type standings struct {
	store *journal.Store
	owner journal.Owner
	watch *journal.Watch
}

func (f standings) Floor(ctx context.Context, project string) (work.Floor, error) {
	return f.store.Floor(ctx, project)
}

func (f standings) SetFloor(ctx context.Context, project string, to work.Floor) error {
	return f.store.SetFloor(ctx, project, to)
}

func (f standings) Serve(ctx context.Context, project, note string) error {
	return f.store.Serve(ctx, project, f.owner, note)
}

func (f standings) Leave(ctx context.Context, project string) error {
	return f.store.Leave(ctx, project, f.owner)
}

func (f standings) Changed(ctx context.Context) (bool, error) { return f.watch.Changed(ctx) }

// termsFor is how long what was found out about a project's agents counts.
const termsFor = 30 * time.Second

// Admission reads the configuration as it is now. Whether the agent is there is
// looked up now and then only, since that starts programs.
func (s *Worker) Admission(ctx context.Context) (factory.Admission, error) {
	s.admission.Lock()
	defer s.admission.Unlock()
	if now := s.Now(); now.Sub(s.admission.at) > termsFor || now.Before(s.admission.at) {
		s.admission.of, s.admission.err = s.readAdmission(ctx)
		s.admission.at = now
	}
	return s.admission.of, s.admission.err
}

func (s *Worker) readAdmission(ctx context.Context) (t factory.Admission, err error) {
	p, err := s.Fresh(ctx)
	if err != nil {
		return t, err
	}
	set, err := config.Resolve(p.Config, onePhase("Issue", 0), config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return t, err
	}
	if err := p.CheckAgents(ctx, set); err != nil {
		return t, err
	}
	host, err := pullrequest.HostSettings(p)
	if err == nil {
		err = s.sameHost(host)
	}
	if err != nil {
		return t, err
	}
	s.sayHost(host)
	f := p.Config.File.Factory
	t.MaxRunning, t.MaxInReview = config.ValueOf(f.MaxRunning), config.ValueOf(f.MaxInReview)
	t.Agents = []string{set.Phases[onlyPhase].Agent}
	return t, nil
}

// overdue are the runs of begun issues that ask what nobody answered in time.
func (s *Worker) overdue(ctx context.Context) (map[string]bool, error) {
	return s.Journal.Overdue(ctx, s.Project, s.Now())
}

// News asks the journal what became of the runs of begun issues.
func (s *Worker) News(ctx context.Context) (map[int64]factory.News, error) {
	rows, err := s.Journal.IssueRuns(ctx, s.Project)
	if err != nil {
		return nil, err
	}
	news := map[int64]factory.News{}
	for _, r := range rows {
		pull, err := s.pullNews(ctx, r)
		if err != nil {
			return nil, err
		}
		news[r.Issue] = factory.News{Updated: r.Updated, Over: r.Outcome.Final(), Held: r.Alive, Pull: pull}
	}
	over, err := s.overdue(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if over[r.ID] {
			n := news[r.Issue]
			n.Overdue = true
			news[r.Issue] = n
		}
	}
	answers, err := s.Journal.Unheard(ctx, s.Project)
	for id, list := range answers {
		n := news[id]
		n.Answers = list
		news[id] = n
	}
	return news, err
}
