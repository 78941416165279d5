package machine

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/config"
	"forge/internal/project"
	"forge/orchestrator"
)

const (
	// askFor is how long one question may take.
	askFor = 12 * time.Second
	// saidFor is how long an answer is good: pages ask for each of their lines.
	saidFor = 10 * time.Second
)

// Stalled asks the Temporal servers of checkouts. It keeps connections and answers.
func Stalled() project.Stalled {
	return (&asking{servers: map[string]*asked{}, said: map[string]answer{}}).ask
}

type asking struct {
	mu      sync.Mutex
	servers map[string]*asked // by the folder of a checkout
	said    map[string]answer // by the folder and the run
}

type asked struct {
	mu     sync.Mutex
	client client.Client // nil = not reached yet
	team   team
}

type answer struct {
	what string
	at   time.Time
}

func (a *asking) ask(ctx context.Context, p *project.Checkout, run string) string {
	root := p.Base.RepoRoot
	key := root + "\x00" + run
	a.mu.Lock()
	known, is := a.said[key]
	server := a.servers[root]
	if server == nil {
		server = &asked{}
		a.servers[root] = server
	}
	a.mu.Unlock()
	if is && time.Since(known.at) < saidFor {
		return known.what
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	what := server.ask(ctx, p, run)
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.said) > 1000 {
		clear(a.said)
	}
	a.said[key] = answer{what, time.Now()}
	return what
}

// ask says what a person can read also of a server that is not reached: then nobody
// takes anything either.
func (a *asked) ask(ctx context.Context, p *project.Checkout, run string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	cfg := p.Config
	if cfg == nil {
		var err error
		if cfg, err = project.RecordedConfig(p.Env, p.Base.RepoRoot); err != nil {
			return ""
		}
	}
	if a.client == nil {
		if what := a.connect(ctx, p, cfg); what != "" || a.client == nil {
			return what
		}
	}
	s, _, err := p.LoadRun(ctx, run)
	if err != nil || s.Outcome != "" {
		return ""
	}
	e := &temporal.Engine{Client: a.client, Queues: a.team.queues, Requires: cfg.Requires(namesOf(s))}
	return e.Stalled(ctx, run)
}

func (a *asked) connect(ctx context.Context, p *project.Checkout, cfg *config.Config) string {
	set, err := cfg.Engine()
	if err != nil || set.Kind != config.EngineTemporal {
		return ""
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return ""
	}
	if a.team, err = teamOf(ctx, p, repo, set); err != nil {
		return err.Error()
	}
	c, err := Connect(ctx, set, p.Journal)
	if err != nil {
		return err.Error()
	}
	a.client = c
	return ""
}

// namesOf are the names of a run's phases, by their numbers.
func namesOf(s *orchestrator.State) map[string]string {
	names := map[string]string{}
	for _, phase := range s.Spec.Plan.Phases {
		names[phase.Number] = phase.Name
	}
	return names
}
