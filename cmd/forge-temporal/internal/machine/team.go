package machine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/objects"
	"forge/internal/project"
	"forge/internal/refusal"
)

// team is what the machines that work on the runs of a project have in common.
type team struct {
	// name is the project's for workers, so that nobody works on the runs of another one.
	name string
	// at is where the commits of runs are; "" = in the state folder that all have.
	at     string
	queues temporal.Queues
}

// teamOf is the team of a checkout: by its folder, or, where commits travel, by the
// repository that they are in, which each machine may call by another name.
func teamOf(ctx context.Context, p *project.Checkout, repo *git.Store, set config.EngineSettings) (team, error) {
	sum := sha256.Sum256([]byte(p.Base.RepoRoot))
	t := team{name: hex.EncodeToString(sum[:6]), at: set.Objects}
	if t.at != "" {
		var err error
		if t.name, err = (&objects.Place{Repo: repo, At: t.at}).Identity(ctx); err != nil {
			return t, refusal.New("look at engine.objects, and whether git lets you in there", "the repository for git objects is not reached: %v", err)
		}
	}
	t.queues = temporal.Queues{Prefix: set.Queues + "-" + t.name}
	return t, nil
}

// place is where the commits of runs are, for a run with that repository on this
// machine; nil = they do not travel.
func (t team) place(p *project.Checkout, repo *git.Store, about string) *objects.Place {
	if t.at == "" {
		return nil
	}
	return &objects.Place{Repo: repo, At: t.at, Tell: func(what string) {
		if what == "" {
			p.Log.Warn("the repository for git objects answers again", "of", about)
			return
		}
		p.Log.Warn(fmt.Sprintf("%s %s", about, what))
	}}
}
