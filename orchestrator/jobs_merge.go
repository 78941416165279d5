package orchestrator

import (
	"context"
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/shortage"
	"forge/internal/text"
	"forge/internal/work"
)

func (r *session) mergeJob(c Command, p *Phase) func(context.Context) Fact {
	head, base, last, reviewed, ofIssue := r.s.Head, p.Base, p.Last, r.s.reviews(p), r.s.Issue != nil
	ref := Ref(r.s.Run, fmt.Sprintf("%s/merge-%d", c.Phase, c.Iteration))
	message := fmt.Sprintf("merge of phase %s\n\nForge-Run: %s\nForge-Phase: %s\n", c.Phase, r.s.Run, c.Phase)
	return func(ctx context.Context) Fact {
		ctx = context.WithoutCancel(ctx)
		res := MergeFinishedData{Command: c.ID, Head: head, Moved: head != base, Commit: last}
		changes, err := r.Repo.Changes(ctx, base, last)
		if err != nil {
			return broke(c, "list the phase's changes", err)
		}
		res.Files = len(changes)
		if ofIssue {
			res.Paths = pathMarks(changes)
		}
		m, err := r.Repo.Merge(ctx, head, last)
		if err != nil {
			return broke(c, "merge with the run head", err)
		}
		res.Tree, res.Conflicts = m.Tree, m.Conflicts
		if res.Moved {
			if res.Commit, err = r.Repo.CommitTree(ctx, m.Tree, []string{head, last}, message, ref); err != nil {
				return broke(c, "keep the merged tree", err)
			}
		}
		if res.Moved && reviewed && len(res.Conflicts) == 0 {
			if res.Differs, err = r.differs(ctx, head, last, res.Commit); err != nil {
				return broke(c, "compare the merged tree with the reviewed one", err)
			}
		}
		return MergeDone{Command: c, Result: res}
	}
}

func (r *session) landJob(c Command, p *Phase, count int64, hash string) func(context.Context) Fact {
	head, tree, run := r.s.Head, p.Merge.Tree, r.s.Run
	message := fmt.Sprintf("%s\n\nForge-Run: %s\nForge-Phase: %s\nForge-Journal: %s\n", strings.TrimSpace(p.Plan.Name), run, p.Number, hash)
	return func(ctx context.Context) Fact {
		ctx = context.WithoutCancel(ctx)
		commit, err := r.Repo.Squash(ctx, tree, head, message, Ref(run, "head"))
		if err != nil {
			return broke(c, "commit the phase", err)
		}
		if err := r.Repo.Anchor(ctx, run, count, hash); err != nil {
			return broke(c, "anchor the journal", err)
		}
		return LandDone{Command: c, Commit: commit, Empty: commit == head}
	}
}

func (r *session) deliverJob(c Command) func(context.Context) Fact {
	spec, run, unproven, rejected := r.s.Spec, r.s.Run, r.s.Unproven, r.s.Final.Rejected != ""
	done := true
	for _, p := range r.s.Phases {
		if p.Parent == "" && p.Outcome != work.PhaseDone {
			done = false
		}
	}
	if j := r.s.Job; j != nil {
		done = j.Status == gates.JobCompleted
	}
	message := "result of the job\n"
	if r.s.Job != nil && r.s.Job.Claim != nil {
		message = text.ClipJSON(r.s.Job.Claim.Summary, 2000) + "\n"
	}
	message += fmt.Sprintf("\nForge-Run: %s\n", run)
	accepts := r.s.accepts()
	return func(ctx context.Context) Fact {
		ctx = context.WithoutCancel(ctx)
		d := work.Delivery{Branch: spec.Branch, Commit: c.Commit, Next: "git merge " + spec.Branch}
		if spec.Job != nil {
			// Its documents stay in Forge's own repository.
			result, err := r.Repo.Strip(ctx, c.Commit, spec.Base.Commit, work.JobDir, message, Ref(run, "result"))
			if err != nil {
				return broke(c, "take the job's documents out of the result", err)
			}
			d.Commit = result
		}
		if len(accepts) > 0 && done && !rejected {
			// Before the delivery: what was accepted is not forgotten when the
			// process dies in between.
			if err := r.Evidence.Accept(ctx, run, accepts); err != nil {
				return Broke{Command: c, Problem: fmt.Sprintf("record the accepted evidence: %v", err)}
			}
		}
		if err := r.Repo.Deliver(ctx, spec.Branch, d.Commit); err != nil {
			return broke(c, "deliver the branch "+spec.Branch, err)
		}
		switch {
		case rejected:
			d.Reason = "it was rejected"
		case !done:
			d.Reason = "not everything is done"
		case unproven:
			d.Reason = "a phase is done by the agent's word alone, without verify commands"
		case spec.NoMerge:
			d.Reason = "--no-merge was given"
		case spec.Base.Branch == "":
			d.Reason = "HEAD is detached"
		case spec.Base.Shallow:
			d.Reason = "the repository is a shallow clone"
		default:
			ff, err := r.Repo.FastForward(ctx, spec.Base, d.Commit)
			if shortage.Of(err) != "" {
				return broke(c, "move the branch "+spec.Base.Branch, err)
			}
			if err != nil {
				// The branch is there; that the checkout could not be moved
				// takes nothing away.
				d.Reason = err.Error()
				break
			}
			ff.Branch, ff.Commit = spec.Branch, d.Commit
			if !ff.FastForwarded && ff.Next == "" {
				ff.Next = d.Next
			}
			d = ff
		}
		return DeliverDone{Command: c, Delivery: d}
	}
}
