package worker

import (
	"context"
	"slices"

	"forge/factory"
	"forge/internal/work"
)

// onBranch is what the branch of a result holds, and what Forge would have it
// hold.
func (h *resultHost) onBranch(ctx context.Context, r result) (at, want string, holds factory.PullHead, err error) {
	want = r.commit
	if at, err = h.Host.Fetch(ctx, r.Spec.Branch, r.ref("head")); err != nil || at == want {
		return at, want, factory.HeadResult, err
	}
	if at == "" {
		return at, want, factory.HeadGone, nil
	}
	if r.issue.Pull != nil {
		// What people pushed may have become the result, as one commit.
		if same, err := h.same(ctx, at, want); err != nil || same {
			return at, at, factory.HeadResult, err
		}
	}
	if more, err := h.Repo.Holds(ctx, at, want); err != nil || more {
		return at, want, factory.HeadPeople, err
	}
	if want, err = h.onTop(ctx, r, at); err != nil {
		return at, want, "", err
	}
	grown, err := h.Repo.Holds(ctx, want, at)
	if err != nil || grown {
		return at, want, factory.HeadResult, err
	}
	if conflict, err := h.conflicts(ctx, r, at, want); err != nil || conflict {
		return at, want, factory.HeadConflicts, err
	}
	return at, want, factory.HeadOther, nil
}

// besides says that people's commits and a newer result both grew out of what
// people were shown.
func (h *resultHost) besides(ctx context.Context, r result, commits ...string) (bool, error) {
	if r.issue.Pull == nil {
		return false, nil
	}
	for _, c := range commits {
		if grown, err := h.Repo.Holds(ctx, c, r.issue.Pull.Shown); err != nil || !grown {
			return false, err
		}
	}
	return true, nil
}

// conflicts says that they do, and conflict.
func (h *resultHost) conflicts(ctx context.Context, r result, at, want string) (bool, error) {
	if grown, err := h.besides(ctx, r, at, want); err != nil || !grown {
		return false, err
	}
	return conflicts(ctx, h.Repo, want, at)
}

// same says that two commits hold the same.
func (h *resultHost) same(ctx context.Context, a, b string) (bool, error) {
	one, err := h.Tree(ctx, a)
	if err != nil {
		return false, err
	}
	two, err := h.Tree(ctx, b)
	return one == two, err
}

// onTop is the result as a commit that grows out of those of people's which it
// took in, so that the branch only grows.
func (h *resultHost) onTop(ctx context.Context, r result, at string) (string, error) {
	for _, taken := range slices.Backward(r.Final.Taken) {
		parent, err := h.taken(ctx, taken, at)
		if err != nil {
			return "", err
		}
		if parent == "" {
			continue
		}
		tree, err := h.Tree(ctx, r.commit)
		if err != nil {
			return "", err
		}
		return h.Repo.CommitTree(ctx, tree, []string{r.commit, parent}, "what became of what people pushed\n", r.ref("taken"))
	}
	return r.commit, nil
}

// taken is what a result that took a commit in has of the branch at: that
// commit, or all of the branch where the commit grew out of it; "" = nothing.
func (h *resultHost) taken(ctx context.Context, commit, at string) (string, error) {
	known, err := h.Repo.Exists(ctx, commit)
	if err != nil || !known {
		return "", err
	}
	if held, err := h.Repo.Holds(ctx, at, commit); err != nil || held {
		return commit, err
	}
	if all, err := h.Repo.Holds(ctx, commit, at); err != nil || all {
		return at, err
	}
	return "", nil
}

// bring makes the branch hold the result, beside what people pushed to it.
func (h *resultHost) bring(ctx context.Context, r result) (string, factory.PullHead, error) {
	at, want, holds, err := h.onBranch(ctx, r)
	shown := r.issue.Pull != nil
	switch {
	case err != nil || holds == factory.HeadPeople || holds == factory.HeadConflicts || at == want || holds == factory.HeadGone && shown:
		return at, holds, err
	case holds == factory.HeadGone || holds == factory.HeadResult:
		return want, factory.HeadResult, h.Host.Push(ctx, r.Spec.Branch, want, at)
	case !shown:
		return at, "", &work.HostTrouble{Kind: work.HostBranchExists, Do: "push " + r.Spec.Branch, What: "a branch of this name is on the host already, with other content", Fix: "delete or rename it there"}
	}
	return h.beside(ctx, r, at, want)
}

// beside takes together what people pushed and what the agent did meanwhile.
func (h *resultHost) beside(ctx context.Context, r result, at, want string) (string, factory.PullHead, error) {
	if grown, err := h.besides(ctx, r, at, want); err != nil || !grown {
		return at, factory.HeadOther, err
	}
	m, err := h.Repo.Merge(ctx, want, at)
	if err != nil {
		return at, "", err
	}
	if len(m.Conflicts) > 0 {
		return at, factory.HeadConflicts, nil
	}
	both, err := h.Repo.CommitTree(ctx, m.Tree, []string{want, at}, "merge of what people pushed\n", r.ref("both"))
	if err != nil {
		return at, "", err
	}
	return both, factory.HeadPeople, h.Host.Push(ctx, r.Spec.Branch, both, at)
}
