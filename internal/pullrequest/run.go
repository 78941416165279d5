package pullrequest

import (
	"context"

	"forge/internal/config"
	"forge/internal/effect"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// Settings are where boundaries of a new run become pull requests; nil
// where nobody named a code host, or none by its name.
func Settings(p *project.Checkout) (*work.PullSettings, error) {
	set, err := HostSettings(p)
	if err != nil || !set.Named {
		return nil, err
	}
	at := HostPlace(set)
	at.Always, at.Fixes = set.Always, set.CIFixes
	return &at, nil
}

// HostPlace is where a host has its pull requests.
func HostPlace(set config.CodeHost) work.PullSettings {
	out := work.PullSettings{Kind: set.Kind, URL: set.URL}
	if out.Remote() {
		out.Repo = set.Owner + "/" + set.Repo
	}
	return out
}

// PortOf is the code host of a run; nil where it has none, or where this
// process cannot speak with it: then the run's pull requests stay as they are,
// and say why. judged says what people said earlier of the files of a checkpoint.
func PortOf(p *project.Checkout, spec orchestrator.Spec, store *git.Store, judged func(ctx context.Context, checkpoint string) (string, error)) effect.Host {
	if spec.Pulls == nil {
		return nil
	}
	set, err := HostSettings(p)
	if err != nil {
		p.Log.Warn("the code host of this run cannot be asked", "err", err)
		return nil
	}
	if HostPlace(set) != spec.Pulls.Place() {
		p.Log.Warn("the run has its pull requests on another host than [host] names now", "was", spec.Pulls.Kind+" "+spec.Pulls.URL+"/"+spec.Pulls.Repo)
		return nil
	}
	h, err := OpenHost(p, set, store)
	if err != nil {
		p.Log.Warn("the code host of this run cannot be asked", "err", err)
		return nil
	}
	return &Port{Host: h, Repo: store, Patience: hostPatience, judged: judged, Notes: Notes(set), Fixes: spec.Pulls.Fixes, Warn: p.Log.Warn, Answer: p.Journal.Checkpoint}
}

// Notes says whether an account is named that says what reviewers found.
func Notes(set config.CodeHost) bool { return set.ReviewerToken.Name != "" }
