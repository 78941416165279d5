package gitea

import (
	"context"
	"fmt"
	"net/http"

	"forge/internal/work"
)

// LandsTogether says that one push may land several pull requests: the repository lets
// them be marked as merged by hand, the branch has no rules that the merge of each is
// held against, and the account that proposes is the one that merges.
func (h *Host) LandsTogether(ctx context.Context, base string) (bool, error) {
	if h.cfg.MergeToken != h.cfg.Token {
		return false, nil
	}
	const do = "ask whether pull requests can be marked as merged"
	r, t := h.repo(ctx, do)
	if t != nil {
		return false, t
	}
	if !r.ByHand || !r.Permissions.Push {
		return false, nil
	}
	if base == "" {
		base = r.Default
	}
	b, t := h.branch(ctx, do, base, "")
	if t != nil {
		return false, t
	}
	return !b.Protected, nil
}

// MarkMerged marks a pull request as merged by a commit that its base holds; one that
// is merged already stays as it is.
func (h *Host) MarkMerged(ctx context.Context, number int64, commit string) error {
	do := fmt.Sprintf("mark pull request %d as merged", number)
	_, t := h.ask(ctx, request{do: do, method: http.MethodPost, path: pullPath(number) + "/merge", body: map[string]any{"Do": "manually-merged", "MergeCommitID": commit}}, nil)
	if t == nil {
		return nil
	}
	if is, err := h.Pull(ctx, number); err == nil && is.State == work.PullMerged {
		return nil // before a crash, or while the answer was lost
	}
	return t
}
