package effect

import (
	"context"

	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

func (m *Machine) merge(ctx context.Context, e orchestrator.MergeEffect) orchestrator.Fact {
	res, doing, err := m.mergeOnto(context.WithoutCancel(ctx), e)
	if err != nil {
		return broke(e.Command, doing, err)
	}
	return orchestrator.MergeDone{Command: e.Command, Result: res}
}

// mergeOnto merges a phase with a head; where that fails, it says at what.
func (m *Machine) mergeOnto(ctx context.Context, e orchestrator.MergeEffect) (res orchestrator.MergeFinishedData, doing string, err error) {
	c := e.Command
	res = orchestrator.MergeFinishedData{Command: c.ID, Head: e.Head, Moved: e.Head != e.Base, Commit: e.Last}
	changes, err := m.Repo.Changes(ctx, e.Base, e.Last)
	if err != nil {
		return res, "list the phase's changes", err
	}
	res.Files = len(changes)
	if e.Paths {
		res.Paths = orchestrator.PathMarks(changes)
	}
	merged, err := m.Repo.Merge(ctx, e.Head, e.Last)
	if err != nil {
		return res, "merge with the run head", err
	}
	res.Tree, res.Conflicts = merged.Tree, merged.Conflicts
	if res.Moved {
		if res.Commit, err = m.Repo.CommitTree(ctx, merged.Tree, []string{e.Head, e.Last}, e.Message, e.Ref); err != nil {
			return res, "keep the merged tree", err
		}
	}
	if res.Moved && e.Reviewed && len(res.Conflicts) == 0 {
		if res.Differs, err = m.differs(ctx, e.Head, e.Last, res.Commit); err != nil {
			return res, "compare the merged tree with the reviewed one", err
		}
	}
	return res, "", nil
}

// differs are the files of a phase's change whose content in the merged commit
// is not what was reviewed in last.
func (m *Machine) differs(ctx context.Context, head, last, merged string) ([]string, error) {
	change, err := m.Repo.Changes(ctx, head, merged)
	if err != nil {
		return nil, err
	}
	moved, err := m.Repo.Changes(ctx, last, merged)
	if err != nil {
		return nil, err
	}
	other := map[string]bool{}
	for _, f := range moved {
		other[f.Path] = true
	}
	var out []string
	for _, f := range change {
		if other[f.Path] {
			out = append(out, f.Path)
		}
	}
	return out, nil
}

func (m *Machine) land(ctx context.Context, e orchestrator.LandEffect) orchestrator.Fact {
	ctx = context.WithoutCancel(ctx)
	done, head := orchestrator.LandDone{Command: e.Command}, e.Head
	for _, one := range e.Before {
		// No reference: the branch moves once, to the last of them.
		commit, err := m.Repo.Squash(ctx, one.Tree, head, one.Message, "")
		if err != nil {
			return broke(e.Command, "commit phase "+one.Phase, err)
		}
		done.Before = append(done.Before, orchestrator.Landed{Phase: one.Phase, Commit: commit, Empty: commit == head})
		head = commit
	}
	commit, err := m.Repo.Squash(ctx, e.Tree, head, e.Message, e.Ref)
	if err != nil {
		return broke(e.Command, "commit the phase", err)
	}
	if err := m.Repo.Anchor(ctx, e.Run, e.Journal.Count, e.Journal.Hash); err != nil {
		return broke(e.Command, "anchor the journal", err)
	}
	done.Commit, done.Empty = commit, commit == head
	return done
}

func (m *Machine) deliver(ctx context.Context, e orchestrator.DeliverEffect) orchestrator.Fact {
	ctx, c := context.WithoutCancel(ctx), e.Command
	d := work.Delivery{Branch: e.Branch, Commit: c.Commit, Reason: e.Stays, Next: "git merge " + e.Branch}
	if e.Strip {
		// A job's documents stay in Forge's own repository.
		result, err := m.Repo.Strip(ctx, c.Commit, e.Base.Commit, work.JobDir, e.Message, e.Ref)
		if err != nil {
			return broke(c, "take the job's documents out of the result", err)
		}
		d.Commit = result
	}
	if len(e.Accepts) > 0 {
		// Before the delivery: what was accepted is not forgotten when the
		// process dies in between.
		if err := m.Evidence.Accept(ctx, e.Run, e.Accepts); err != nil {
			return broke(c, "record the accepted evidence", err)
		}
	}
	if err := m.Repo.Deliver(ctx, e.Branch, d.Commit); err != nil {
		return broke(c, "deliver the branch "+e.Branch, err)
	}
	if e.Stays != "" {
		return orchestrator.DeliverDone{Command: c, Delivery: d}
	}

	moved, err := m.Repo.FastForward(ctx, e.Base, d.Commit)
	if shortage.Of(err) != "" {
		return broke(c, "move the branch "+e.Base.Branch, err)
	}
	if err != nil {
		// The branch is there; that the checkout could not be moved takes
		// nothing away.
		d.Reason = err.Error()
		return orchestrator.DeliverDone{Command: c, Delivery: d}
	}
	moved.Branch, moved.Commit = e.Branch, d.Commit
	if !moved.FastForwarded && moved.Next == "" {
		moved.Next = d.Next
	}
	return orchestrator.DeliverDone{Command: c, Delivery: moved}
}
