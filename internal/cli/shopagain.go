package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"forge/factory"
	"forge/internal/host"
	"forge/internal/work"
	"forge/orchestrator"
)

// again says that another run goes on from the branch of a result that was
// decided to be done: people ask for changes, or pushed what nobody reviewed.
func (s *shop) again(ctx context.Context, p *project, i work.Issue, state *orchestrator.State) (bool, error) {
	if i.Pull == nil || !state.Outcome.Final() {
		return false, nil
	}
	h, err := s.resultHost(p)
	if h == nil || err != nil {
		return false, err
	}
	look, err := h.look(ctx, i.Pull.Number)
	if err != nil || look.State != work.PullOpen {
		return false, err
	}
	r := resultIn(state, i)
	is := proposal{PullRequest: look.PullRequest, at: r.commit, holds: factory.HeadResult}
	if look.Head != r.commit {
		if is.at, _, is.holds, err = h.onBranch(ctx, r); err != nil {
			return false, err
		}
	}
	if step, _, _ := factory.NextOfPull(h.seenIn(look, r, is)); step != factory.PullAgain {
		return false, nil
	}
	// Nobody else answers what this run owes, once another one goes on.
	return true, h.answers(ctx, state, look)
}

// begun is what a run goes on from: an earlier result, and what people said of
// it and pushed on top.
type begun struct {
	base   string
	told   orchestrator.PullReading
	pushed *work.Pushed
}

// goesOn is where a run begins that works on what people did to an earlier
// result.
func (s *shop) goesOn(ctx context.Context, p *project, i work.Issue) (out begun, err error) {
	h, err := s.resultHost(p)
	if err != nil {
		return out, err
	}
	var look work.PullLook
	if h != nil {
		look, err = h.look(ctx, i.Pull.Number)
	}
	if err == nil && look.State != work.PullOpen {
		err = &work.HostTrouble{Kind: work.HostPullClosed, Do: fmt.Sprintf("go on from pull request %d", i.Pull.Number), What: "it is not open any more", Fix: fmt.Sprintf("forge issue retry %d begins anew", i.ID)}
	}
	if err == nil {
		out.base, err = h.branches.Fetch(ctx, look.Branch, "refs/forge/host/result")
	}
	if err == nil && out.base == "" {
		err = &work.HostTrouble{Kind: work.HostBranchGone, Do: "fetch " + look.Branch, What: "the host has no such branch", Fix: "restore it there"}
	}
	if err != nil {
		return out, err
	}
	shown, heard := i.Pull.Shown, []string(nil)
	if was, _, loadErr := p.load(ctx, i.Run); loadErr == nil {
		r := resultIn(was, i)
		shown, heard = r.commit, r.Final.Heard
	} else {
		// Forge died before it opened the run that the card names. What the one
		// before it heard is told again, but for threads that have their answer.
		look.Threads = slices.DeleteFunc(look.Threads, func(t work.PullThread) bool { return t.Comments[len(t.Comments)-1].Own })
	}
	out.told = unheard(look, heard)
	if err := h.onResult(ctx, &out, shown, look); err != nil {
		return out, err
	}
	out.told.Heard = slices.Concat(heard, out.told.Heard)
	return out, nil
}

// onResult lets a run begin at the result that people saw, with what they pushed
// on top of it.
func (h *resultHost) onResult(ctx context.Context, out *begun, shown string, look work.PullLook) error {
	at := out.base
	grown, err := h.repo.Exists(ctx, shown)
	if err == nil && grown {
		grown, err = h.repo.Holds(ctx, at, shown)
	}
	if err != nil || !grown {
		return err
	}
	changes, err := h.repo.Changes(ctx, shown, at)
	if err != nil || len(changes) == 0 {
		return err
	}
	tree, err := h.tree(ctx, at)
	if err != nil {
		return err
	}
	out.base, out.pushed = shown, &work.Pushed{Commit: at, Tree: tree, Files: pathsOf(changes)}
	if stand := host.Stand(look.Reviews, at); stand.Verdict == work.PullApproved {
		out.pushed.Approved = stand.Counting[len(stand.Counting)-1].By
		// No agent is told anything, so nothing but that is heard.
		out.told = orchestrator.PullReading{Heard: out.told.Reviews}
	}
	return nil
}

// pathsOf are the first paths of a change.
func pathsOf(changes []work.FileChange) []string {
	var out []string
	for _, c := range changes[:min(len(changes), mostListed)] {
		out = append(out, c.Path)
	}
	return out
}

// hints tell a planner and an agent what was done before.
func (b begun) hints() []string {
	var out []string
	if b.told.Said != "" {
		out = append(out, "What people said of the first result, which is there already:\n"+b.told.Said)
	}
	if b.pushed != nil {
		out = append(out, "People pushed to the first result; that is there already, and stays: "+strings.Join(b.pushed.Files, ", "))
	}
	return out
}

// withPushed lets a request for changes begin with what people pushed to the
// result that it is about.
func (h *resultHost) withPushed(ctx context.Context, a *work.Answer, r result) error {
	if a.Edited != nil {
		return nil
	}
	at, _, holds, err := h.onBranch(ctx, r)
	if err != nil || holds != factory.HeadPeople {
		return err
	}
	changes, err := h.repo.Changes(ctx, r.commit, at)
	if err != nil || len(changes) == 0 {
		return err
	}
	if err := h.repo.UpdateRef(ctx, r.ref("pushed"), at, ""); err != nil {
		return err
	}
	a.Edited = &work.Edited{Base: r.commit, Commit: at, Files: pathsOf(changes)}
	a.Comment += "\n\nPeople pushed to the branch. Their changes are in your folder, they stay: " + strings.Join(a.Edited.Files, ", ")
	return nil
}
