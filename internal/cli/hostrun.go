package cli

import (
	"context"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// pullSettings are where boundaries of a new run become pull requests; nil
// where nobody named a code host, or none by its name.
func pullSettings(p *project.Checkout) (*work.PullSettings, error) {
	set, err := hostSettings(p)
	if err != nil || !set.Named {
		return nil, err
	}
	at := hostPlace(set)
	at.Always = set.Always
	return &at, nil
}

// hostPlace is where a host has its pull requests.
func hostPlace(set config.CodeHost) work.PullSettings {
	out := work.PullSettings{Kind: set.Kind, URL: set.URL}
	if out.Remote() {
		out.Repo = set.Owner + "/" + set.Repo
	}
	return out
}

// codeHostOf is the code host of a run; nil where it has none, or where this
// process cannot speak with it: then the run's pull requests stay as they are,
// and say why.
func codeHostOf(p *project.Checkout, spec orchestrator.Spec, store *git.Store) orchestrator.Host {
	if spec.Pulls == nil {
		return nil
	}
	set, err := hostSettings(p)
	if err != nil {
		p.Log.Warn("the code host of this run cannot be asked", "err", err)
		return nil
	}
	if hostPlace(set) != spec.Pulls.Place() {
		p.Log.Warn("the run has its pull requests on another host than [host] names now", "was", spec.Pulls.Kind+" "+spec.Pulls.URL+"/"+spec.Pulls.Repo)
		return nil
	}
	h, err := openHost(p, set, store)
	if err != nil {
		p.Log.Warn("the code host of this run cannot be asked", "err", err)
		return nil
	}
	branches, one := h.(pullBranches)
	pulls, two := h.(pullRequests)
	if !one || !two {
		return nil
	}
	return &hostPort{branches: branches, pulls: pulls, repo: store, patience: hostPatience, judged: func(ctx context.Context, cp string) (string, error) { return judgedBefore(ctx, p, cp) }, notes: noterOf(set, h), warn: p.Log.Warn, answer: p.Journal.Checkpoint}
}

// noterOf is the host where an account is named that says what reviewers found.
func noterOf(set config.CodeHost, h codeHost) noter {
	if n, ok := h.(noter); ok && set.ReviewerToken.Name != "" {
		return n
	}
	return nil
}
