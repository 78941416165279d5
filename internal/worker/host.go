package worker

import (
	"context"
	"time"

	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// resultHost is the code host on which the finished results of issues are
// looked at and merged.
type resultHost struct {
	*pullrequest.Port
	p     *project.Checkout
	place string // see work.PullSettings
	said  string // the target, where the owner names one
}

// resultHost is nil where the project has no code host.
func (s *Worker) resultHost(p *project.Checkout) (*resultHost, error) {
	set, err := pullrequest.HostSettings(p)
	if err == nil {
		err = s.sameHost(set)
	}
	if err != nil || set.Kind == "local" {
		return nil, err
	}
	h, err := pullrequest.OpenHost(p, set, s.Machine.Repo)
	if err != nil {
		return nil, err
	}
	port := &pullrequest.Port{Host: h, Repo: s.Machine.Repo, Patience: resultPatience, Notes: pullrequest.Notes(set), Fixes: set.CIFixes, Warn: s.Log.Warn, Answer: s.Journal.Checkpoint}
	return &resultHost{port, p, pullrequest.HostPlace(set).String(), p.Config.PullTarget()}, nil
}

// resultPatience outlasts a host that takes in a push; what takes longer is
// tried again anyway.
const resultPatience = 5 * time.Second

// target is the branch that results are for, at the commit where it is on the
// host, kept by ref. A host that is away is found out here, at once.
func (h *resultHost) target(ctx context.Context, ref string) (branch, commit string, err error) {
	if branch = h.said; branch == "" {
		access, err := h.Host.Access(ctx, "")
		if err != nil {
			return "", "", err
		}
		branch = access.Default
	}
	if branch == "" {
		return "", "", &work.HostTrouble{Kind: work.HostBranchGone, Do: "find the target", What: "the host names no default branch", Fix: "set factory.target"}
	}
	commit, err = h.Host.Fetch(ctx, branch, ref)
	if err == nil && commit == "" {
		err = &work.HostTrouble{Kind: work.HostBranchGone, Do: "fetch " + branch, What: "the host has no such branch, which results are for", Fix: "push it there, or set factory.target"}
	}
	return branch, commit, err
}

// startAt is where an issue's run begins: at the target as it is on the host.
func (h *resultHost) startAt(ctx context.Context, base work.Base) (work.Base, error) {
	_, commit, err := h.target(ctx, "refs/forge/host/target")
	base.Commit = commit
	return base, err
}

// result is a finished result that people look at on a host.
type result struct {
	*orchestrator.State
	issue work.Issue
	// commit is what people decide on; proven commands passed on it.
	commit string
}

// resultOf is the result of an issue's run as it is now.
func (s *Worker) resultOf(ctx context.Context, p *project.Checkout, i work.Issue) (result, error) {
	state, _, err := p.LoadRun(ctx, i.Run)
	if err != nil {
		return result{}, err
	}
	return resultIn(state, i), p.Bring(ctx, i.Run)
}

// resultIn is the result in a run's state.
func resultIn(state *orchestrator.State, i work.Issue) result {
	r := result{State: state, issue: i, commit: state.Head}
	if state.Delivery != nil && state.Delivery.Commit != "" {
		r.commit = state.Delivery.Commit
	}
	return r
}

// ref is one of Forge's own references of the result.
func (r result) ref(name string) string { return orchestrator.Ref(r.Run, "result/"+name) }
