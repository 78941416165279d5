package pullrequest

import (
	"context"
	"fmt"

	"forge/internal/config"
	"forge/internal/effect"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
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
	if port := PortAt(p, spec.Pulls, store); port != nil {
		port.judged, port.Fixes, port.Answer = judged, spec.Pulls.Fixes, p.Journal.Checkpoint
		port.Picture = PicturesOf(p, spec.Settings.Worktree)
		return port
	}
	return nil
}

// PortAt is the code host of a run or of one of its repositories, nil as PortOf says.
func PortAt(p *project.Checkout, at *work.PullSettings, store *git.Store) *Port {
	if at == nil {
		return nil
	}
	set, err := HostSettings(p)
	if err != nil {
		p.Log.Warn("the code host of this run cannot be asked", "err", err)
		return nil
	}
	if HostPlace(set) != at.Place() {
		p.Log.Warn("the run has its pull requests on another host than [host] names now", "was", at.Kind+" "+at.URL+"/"+at.Repo)
		return nil
	}
	h, err := OpenHost(p, set, store)
	if err != nil {
		p.Log.Warn("the code host of this run cannot be asked", "err", err)
		return nil
	}
	return &Port{Host: h, Repo: store, Patience: hostPatience, Notes: Notes(set), Warn: p.Log.Warn}
}

// Aim says where a new run has its pull requests: of its boundaries, or, where it works
// in several repositories, of the parts of its result. Each of those is proposed where
// its own configuration says.
func Aim(ctx context.Context, p *project.Checkout, spec *orchestrator.Spec) error {
	at, err := Settings(p)
	if err != nil || len(spec.Repositories) == 0 {
		spec.Pulls = at
		return err
	}
	if spec.Host, err = placeOf(at, work.HomeRepository); err != nil {
		return err
	}
	taken := map[work.PullSettings]string{}
	if at != nil {
		taken[at.Place()] = work.HomeRepository
	}
	for i := range spec.Repositories {
		r := &spec.Repositories[i]
		its, err := p.Beside(ctx, *r)
		if err != nil {
			return err
		}
		there, err := Settings(its)
		if err == nil {
			r.Host, err = placeOf(there, r.Name)
		}
		switch {
		case err != nil:
			return fmt.Errorf("the repository %s: %w", r.Name, err)
		case (r.Host == nil) != (spec.Host == nil):
			return refusal.New("name a [host] in each of them, or in none", "the repository %s %s, and the home %s: the parts of a result land on code hosts together, or here", r.Name, hasHost(r.Host), hasHost(spec.Host))
		case r.Host != nil && taken[r.Host.Place()] != "":
			return refusal.New("name each repository of a code host once", "the repositories %s and %s are both proposed at %s", taken[r.Host.Place()], r.Name, r.Host)
		case r.Host != nil:
			taken[r.Host.Place()] = r.Name
		}
	}
	return nil
}

// placeOf is where one part of a result is proposed.
func placeOf(at *work.PullSettings, repository string) (*work.PullSettings, error) {
	switch {
	case at == nil:
		return nil, nil
	case !at.Remote():
		return nil, refusal.New("take [host] out there, or name a code host", "the repository %s has its pull requests in Forge's own repository ([host] kind = local), where those of several cannot land together", repository)
	}
	place := at.Place()
	return &place, nil
}

func hasHost(at *work.PullSettings) string {
	if at == nil {
		return "has no code host"
	}
	return "has one"
}

// Notes says whether an account is named that says what reviewers found.
func Notes(set config.CodeHost) bool { return set.ReviewerToken.Name != "" }
