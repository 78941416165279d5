package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/factory"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/trackers"
	"forge/internal/work"
	"forge/orchestrator"
)

// An issue whose plan has phases in other repositories is handed over by its run: in all
// of them, or in none (orchestrator/together.go). It does not go through landing, where
// results are of the home alone; what is here says how such a run is opened, and what the
// board hears of it.

// alone says that an issue is worked on in the home alone, whatever a plan would say: it
// was written elsewhere, where landing asks whether it is wanted still, which such a run
// does not; it goes on from a result; or other machines or a WORKFLOW.md have a part in
// it, which know one repository.
func (s *Worker) alone(f trackers.ForIssue, i work.Issue, after string) bool {
	p := f.Project()
	return f.External() || after != "" || i.Pull != nil || i.Target != "" || s.Flow != nil || s.engineOf(p) != nil
}

// inSeveral makes spec one of several repositories, where its phases name them.
func (s *Worker) inSeveral(ctx context.Context, p *project.Checkout, spec *orchestrator.Spec, flags config.PolicyFlags) error {
	if !slices.ContainsFunc(spec.Plan.Phases, func(ph work.Phase) bool { return ph.Repository != "" }) {
		return nil
	}
	branch, err := s.targetOf(ctx, p)
	if err != nil {
		return err
	}
	spec.NoMerge, spec.Pulls, spec.Base.Branch = false, nil, branch
	if err := p.In(ctx, spec, flags); err != nil {
		return err
	}
	if err := pullrequest.Aim(ctx, p, spec); err != nil {
		return err
	}
	if spec.Host == nil {
		return s.apart(ctx, &spec.Base)
	}
	return nil
}

// apart notes of the home's target that nobody has it checked out here, and where it is.
func (s *Worker) apart(ctx context.Context, base *work.Base) error {
	here, err := s.Machine.Repo.OutHere(ctx, base.Branch)
	if err != nil || here {
		return err
	}
	base.Apart = true
	if base.Was, err = s.Machine.Repo.BranchHead(ctx, base.Branch); base.Was == base.Commit {
		base.Was = ""
	}
	return err
}

// targetOf is the branch that results of the home are for.
func (s *Worker) targetOf(ctx context.Context, p *project.Checkout) (string, error) {
	h, err := s.resultHost(p)
	if err != nil || h == nil {
		return target(p), err
	}
	branch, _, err := h.target(ctx, "refs/forge/host/target")
	return branch, err
}

// notMoved says that a run of several repositories is over, and moved none of them.
func notMoved(state *orchestrator.State) bool {
	return len(state.Spec.Repositories) > 0 && state.Outcome.Final() && (state.Delivery == nil || !state.Delivery.FastForwarded)
}

// handedOver is what became of the result of such a run.
func (s *Worker) handedOver(p *project.Checkout, r result) (factory.Landed, error) {
	switch held := r.HeldPulls(); {
	case len(held) > 0:
		set, err := pullrequest.HostSettings(p)
		if err != nil {
			return factory.Landed{}, err
		}
		return factory.Landed{Hold: factory.HoldPullBlocked, Reason: r.Reason, Waits: true, Until: s.Now().Add(max(set.Poll, time.Second))}, nil
	case r.Delivery == nil || r.Delivery.Commit == "":
		return factory.Landed{}, nil // people are asked about it
	case notMoved(r.State):
		return factory.Landed{Hold: factory.HoldTogether, Reason: fmt.Sprintf("no repository was moved: %s; forge issue retry %d does it anew, from what they hold by then", r.Delivery.Reason, r.issue.ID)}, nil
	}
	var where []string
	for _, one := range r.Delivery.Repositories {
		where = append(where, one.Repository+" ("+one.Target+")")
	}
	return factory.Landed{Commit: r.Delivery.Commit, Target: r.Spec.Base.Branch, Reason: "landed together in " + strings.Join(where, ", ")}, nil
}
