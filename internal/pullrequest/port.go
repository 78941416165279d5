package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Port is the code host as a run's driver needs it.
type Port struct {
	Host host.Host
	Repo *git.Store
	// Patience is how long it asks again for what the host says it is not ready
	// for.
	Patience time.Duration
	// judged tells what was said before of the files that a checkpoint judges.
	judged func(ctx context.Context, checkpoint string) (string, error)
	// Notes says that an account is named that says at their lines what reviewers
	// found; otherwise that stands in the text alone.
	Notes bool
	// Fixes is of how many heads an agent is told what checks of the host found; 0
	// leaves them unread.
	Fixes int
	Warn  func(what any, pairs ...any)
	// Answer is the record of a checkpoint.
	Answer func(ctx context.Context, id string) (work.Checkpoint, error)
	// Picture is one that a proof keeps, by its sha256; nil = they stay with Forge.
	Picture func(ctx context.Context, sum string) ([]byte, error)
}

// hostPatience outlasts a host that computes mergeability or takes in a push.
const hostPatience = 20 * time.Second

// Again repeats do while what fails passes by itself.
func (h *Port) Again(ctx context.Context, do func() error) error {
	wait, end := 200*time.Millisecond, time.Now().Add(h.Patience)
	for {
		err := do()
		var t *work.HostTrouble
		if err == nil || !errors.As(err, &t) || !t.Passes() || time.Now().Add(wait).After(end) {
			return err
		}
		pause := time.NewTimer(max(wait, min(t.After, h.Patience)))
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
		wait = min(2*wait, 3*time.Second)
	}
}

// PullTrouble is what an error of a host means to a run; nil where Forge itself
// is to blame.
func PullTrouble(err error) *work.PullTrouble {
	var t *work.HostTrouble
	if !errors.As(err, &t) {
		return nil
	}
	return &work.PullTrouble{Kind: t.Kind, What: t.Error(), Fix: t.Fix, Passes: t.Passes()}
}

// both makes the run's branch on the host be base, and then that of a phase be
// head.
func (h *Port) both(ctx context.Context, base, baseCommit, refs, head, headCommit string, known []string, there bool) error {
	return h.Again(ctx, func() error {
		at, err := h.Host.Heads(ctx, base, head)
		if err != nil {
			return err
		}
		if err := h.base(ctx, base, baseCommit, refs, at[base]); err != nil {
			return err
		}
		return h.branch(ctx, head, headCommit, known, there, at[head])
	})
}

// base makes the run's branch, which is at a commit on the host, be the run's
// head. What is there is never thrown away.
func (h *Port) base(ctx context.Context, branch, commit, refs, at string) (err error) {
	if at == commit {
		return nil
	}
	if at != "" {
		if at, err = h.Host.Fetch(ctx, branch, refs+"/base"); err != nil || at == commit {
			return err
		}
	}
	if at != "" {
		held, err := h.Repo.Holds(ctx, commit, at)
		if err != nil {
			return err
		}
		if !held {
			return &work.HostTrouble{Kind: work.HostBaseMoved, Do: "push " + branch, What: "the branch of the run holds commits on the host that the run does not",
				Fix: "set " + branch + " back to " + commit + " there"}
		}
	}
	return h.Host.Push(ctx, branch, commit, at)
}

// branch makes the phase's branch, which is at a commit on the host, be commit,
// when that is where Forge left it.
func (h *Port) branch(ctx context.Context, branch, commit string, known []string, there bool, at string) error {
	switch {
	case at == commit:
		return nil
	case at == "" && there:
		return &work.HostTrouble{Kind: work.HostBranchGone, Do: "push " + branch, What: "the branch was deleted on the host", Fix: "restore it there, or answer by forge approve or forge request-changes"}
	case at != "" && !slices.Contains(known, at):
		return &work.HostTrouble{Kind: work.HostHeadMoved, Do: "push " + branch, What: "the branch has commits on the host that Forge has not seen", Fix: "they are read with the next answer"}
	}
	return h.Host.Push(ctx, branch, commit, at)
}

// Publish shows people what is judged.
func (h *Port) Publish(ctx context.Context, req orchestrator.PullPublish) (orchestrator.PullPublished, error) {
	var out orchestrator.PullPublished
	refs := orchestrator.Ref(req.Paper.Run, req.Paper.Phase+"/host")
	err := h.both(ctx, req.Base, req.BaseCommit, refs, req.Branch, req.Commit, req.Known, req.Number != 0)
	if err = h.ahead(ctx, req.Number, err); err == nil {
		err = h.OpenWith(ctx, req.Number, req.Paper.Record.Pages, func(pictures text.Markdown) (int64, error) {
			out.Number, out.URL, err = h.proposed(ctx, req, pictures)
			return out.Number, err
		})
	}
	if err == nil {
		h.Note(ctx, out.Number, req.Marker, req.Commit, req.Found)
	}
	if r := req.Red; err == nil && r != nil {
		err = h.Again(ctx, func() error { return h.Host.Comment(ctx, out.Number, "red "+r.Commit, TellRed(*r)) })
	}
	if err == nil && len(req.Replies) > 0 {
		var look work.PullLook
		if look, err = h.Look(ctx, out.Number); err == nil {
			err = h.Reply(ctx, look, req.Replies)
		}
	}
	if out.Trouble = PullTrouble(err); out.Trouble != nil {
		err = nil
	}
	return out, err
}

// proposed opens the pull request of a phase, or brings it up to date.
func (h *Port) proposed(ctx context.Context, req orchestrator.PullPublish, pictures text.Markdown) (number int64, address string, err error) {
	body, err := h.paper(ctx, req, pictures)
	if err != nil {
		return 0, "", err
	}
	err = h.Again(ctx, func() error {
		pr, err := h.Host.OpenPull(ctx, work.PullProposal{Marker: req.Marker, Branch: req.Branch, Base: req.Base, Title: Title(req), Body: body, Number: req.Number})
		number, address = pr.Number, pr.URL
		if err == nil && pr.State == work.PullMerged {
			return &work.HostTrouble{Kind: work.HostPullMerged, Do: fmt.Sprintf("update pull request %d", pr.Number), What: "it is merged into " + pr.Base, Fix: "answer by forge approve or forge request-changes"}
		}
		if err == nil && pr.State != work.PullOpen {
			err = &work.HostTrouble{Kind: work.HostPullClosed, Do: fmt.Sprintf("update pull request %d", pr.Number), What: "it is " + string(pr.State), Fix: "reopen it there, or answer by forge approve or forge request-changes"}
		}
		return err
	})
	return number, address, err
}

// ahead says that a run's branch is ahead of the run because the pull request
// was merged, where that is so: by a person, or by Forge when the host's answer
// never came.
func (h *Port) ahead(ctx context.Context, number int64, err error) error {
	var t *work.HostTrouble
	if number == 0 || !errors.As(err, &t) || t.Kind != work.HostBaseMoved {
		return err
	}
	if look, lookErr := h.Look(ctx, number); lookErr == nil && look.State == work.PullMerged {
		return &work.HostTrouble{Kind: work.HostPullMerged, Do: t.Do, What: fmt.Sprintf("pull request %d is merged there", number),
			Fix: "forge approve takes over what was merged, once it is proven"}
	}
	return err
}

// Look is how a pull request stands.
func (h *Port) Look(ctx context.Context, number int64) (work.PullLook, error) {
	var look work.PullLook
	err := h.Again(ctx, func() (err error) {
		look, err = h.Host.Look(ctx, number)
		if err == nil && h.Fixes > 0 {
			err = WithChecks(ctx, h.Host, &look)
		}
		return err
	})
	return look, err
}

// state is a pull request without what people said; that takes two requests
// where a look takes one for each review.
func (h *Port) state(ctx context.Context, number int64) (work.PullRequest, error) {
	var is work.PullRequest
	err := h.Again(ctx, func() error {
		look, err := h.Host.Verdicts(ctx, number)
		is = look.PullRequest
		return err
	})
	return is, err
}

// fetch brings a branch of the host here.
func (h *Port) fetch(ctx context.Context, branch, ref string) (commit string, err error) {
	err = h.Again(ctx, func() (err error) {
		commit, err = h.Host.Fetch(ctx, branch, ref)
		return err
	})
	return commit, err
}

// Close closes a pull request that nobody can merge any more.
func (h *Port) Close(ctx context.Context, req orchestrator.PullClose) (*work.PullTrouble, error) {
	p := work.PullProposal{Marker: req.Marker, Branch: req.Branch, Base: req.Base}
	err := h.Again(ctx, func() error { return h.Host.ClosePull(ctx, req.Number, p, req.Key, text.Quote(req.Why)) })
	if t := PullTrouble(err); t != nil {
		return t, nil
	}
	return nil, err
}

// Tree is that of a commit.
func (h *Port) Tree(ctx context.Context, commit string) (string, error) {
	m, err := h.Repo.Merge(ctx, commit, commit)
	return m.Tree, err
}

// Land lets the host squash the branch, or takes over what people merged.
func (h *Port) Land(ctx context.Context, req orchestrator.PullLand) (orchestrator.PullLanded, error) {
	out, err := h.land(ctx, req)
	if out.Trouble == nil {
		if out.Trouble = PullTrouble(err); out.Trouble != nil {
			err = nil
		}
	}
	return out, err
}

func (h *Port) land(ctx context.Context, req orchestrator.PullLand) (orchestrator.PullLanded, error) {
	var out orchestrator.PullLanded
	refs := req.Keep + "-host"
	is, err := h.state(ctx, req.Number)
	if err != nil {
		return out, err
	}
	if req.Merged != "" {
		err := h.Again(ctx, func() error {
			at, err := h.Host.Heads(ctx, req.Base, req.Branch)
			if err != nil {
				return err
			}
			if head := at[req.Branch]; slices.Contains(req.Known, head) {
				req.Head = head // of what was merged, which nobody needs any more
			}
			return h.base(ctx, req.Base, req.Commit, refs, at[req.Base])
		})
		if err != nil {
			return out, err
		}
		return h.landed(ctx, req, req.Commit)
	}
	if host.Retargeted(is, req.Branch, req.Base) && is.State == work.PullOpen {
		return out, host.RetargetedTrouble(fmt.Sprintf("merge pull request %d", req.Number), is, req.Branch, req.Base, text.Harmless(h.Host.RetargetedBy(ctx, req.Number)))
	}
	if is.State == work.PullOpen {
		if err := h.both(ctx, req.Base, req.BaseHead, refs, req.Branch, req.Head, req.Known, true); err != nil {
			return out, err
		}
		h.TellAnswer(ctx, req.Number, req.Answered)
	}
	var made work.PullSquashed
	err = h.Again(ctx, func() (err error) {
		made, err = h.Host.Merge(ctx, work.PullMerge{Number: req.Number, Branch: req.Branch, Base: req.Base, Head: req.Head, BaseHead: req.BaseHead, Title: text.Titled("%s", req.Title), Message: req.Message})
		return err
	})
	if err != nil {
		return out, err
	}
	if err := h.arrived(ctx, req, made.Commit, refs+"/base"); err != nil {
		return out, err
	}
	if made.Parent != "" && made.Parent != req.BaseHead {
		out.Trouble = &work.PullTrouble{Kind: work.HostBaseMoved, What: "the base moved in the moment of the merge", Fix: "look at the result as it is now"}
	}
	done, err := h.landed(ctx, req, made.Commit)
	done.Trouble = out.Trouble
	return done, err
}

// arrived says that the run's branch holds what the host says it merged: a
// target that was changed in that very moment is found out here.
func (h *Port) arrived(ctx context.Context, req orchestrator.PullLand, commit, ref string) error {
	at, err := h.fetch(ctx, req.Base, ref)
	if err != nil {
		return err
	}
	there, err := h.Repo.Exists(ctx, commit)
	if err == nil && there && at != "" {
		there, err = h.Repo.Holds(ctx, at, commit)
	}
	if err != nil || there && at != "" {
		return err
	}
	return &work.HostTrouble{Kind: work.HostPullMerged, Do: fmt.Sprintf("merge pull request %d", req.Number),
		What: fmt.Sprintf("the host says that it is merged, and %s does not hold what came of it (%s)", req.Base, text.Short(commit)), Fix: "look on the host where it went"}
}

// landed keeps what was merged, and tidies up the branch.
func (h *Port) landed(ctx context.Context, req orchestrator.PullLand, commit string) (orchestrator.PullLanded, error) {
	tree, err := h.Tree(ctx, commit)
	out := orchestrator.PullLanded{Commit: commit, Tree: tree}
	if err != nil || tree != req.Tree {
		return out, err
	}
	if err := h.Repo.UpdateRef(ctx, req.Keep, req.Head, ""); err != nil {
		return out, err
	}
	if err := h.Repo.UpdateRef(ctx, req.Ref, commit, ""); err != nil {
		return out, err
	}
	if err := h.Host.DeleteBranch(ctx, req.Branch, req.Head); work.HostKindOf(err) == "" && err != nil {
		return out, err
	}
	return out, nil
}
