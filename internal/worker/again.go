package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"forge/factory"
	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/orchestrator"
)

// pullStanding is how a result's pull request stands, and what follows from it.
type pullStanding struct {
	look work.PullLook
	is   proposal
	want string // what Forge would have the branch hold
	step factory.PullStep
}

// stands reads how a result's pull request stands.
func (h *resultHost) stands(ctx context.Context, r result) (at pullStanding, err error) {
	if at.look, err = h.Look(ctx, r.issue.Pull.Number); err != nil || at.look.State != work.PullOpen {
		return at, err
	}
	at.want = r.commit
	at.is = proposal{PullRequest: at.look.PullRequest, at: r.commit, holds: factory.HeadResult}
	if at.look.Head != r.commit {
		if at.is.at, at.want, at.is.holds, err = h.onBranch(ctx, r); err != nil {
			return at, err
		}
	}
	at.step, _, _ = factory.NextOfPull(h.seenIn(at.look, r, at.is))
	return at, nil
}

// conflicts says that a result conflicts with a commit that others went on from.
func conflicts(ctx context.Context, repo *git.Store, onto, result string) (bool, error) {
	m, err := repo.Merge(ctx, onto, result)
	return err == nil && len(m.Conflicts) > 0, err
}

// conflictOf is a result beside a commit that others went on from. What holds both
// is kept by ref.
func conflictOf(ctx context.Context, repo *git.Store, onto, result, with, ref string) (*work.Conflict, error) {
	m, err := repo.Merge(ctx, onto, result)
	if err != nil {
		return nil, err
	}
	both, err := repo.CommitTree(ctx, m.Tree, []string{onto, result}, "beside "+with+"\n", ref)
	return &work.Conflict{Result: result, Commit: both, Tree: m.Tree, Files: m.Conflicts, With: with}, err
}

// begun is what a run goes on from: an earlier result, and what people said of
// it and pushed on top, or what it conflicts with.
type begun struct {
	base     string
	told     orchestrator.PullReading
	pushed   *work.Pushed
	conflict *work.Conflict
}

// landsOn is what a result is merged with where there is no code host.
func (s *Worker) landsOn(ctx context.Context, p *project.Checkout) (string, error) {
	head, err := s.Machine.Repo.BranchHead(ctx, target(p))
	return cmp.Or(head, p.Base.Commit), err
}

// goesOn is where a run begins that goes on from the result of the run after.
func (s *Worker) goesOn(ctx context.Context, p *project.Checkout, i work.Issue, after string) (out begun, err error) {
	h, err := s.resultHost(p)
	if err != nil {
		return out, err
	}
	was, _, err := p.LoadRun(ctx, after)
	if err != nil {
		return out, fmt.Errorf("go on from run %s: %w", after, err)
	}
	r := resultIn(was, i)
	if i.Pull == nil {
		with := target(p)
		if h != nil { // there is one by now
			with, out.base, err = h.target(ctx, r.ref("target"))
		} else {
			out.base, err = s.landsOn(ctx, p)
		}
		if err == nil {
			out.conflict, err = conflictOf(ctx, s.Machine.Repo, out.base, r.commit, with, r.ref("clash"))
		}
		return out, err
	}
	var at pullStanding
	if h != nil {
		at, err = h.stands(ctx, r)
	}
	if err == nil && at.look.State != work.PullOpen {
		err = &work.HostTrouble{Kind: work.HostPullClosed, Do: fmt.Sprintf("go on from pull request %d", i.Pull.Number), What: "it is not open any more", Fix: fmt.Sprintf("forge issue retry %d begins anew", i.ID)}
	}
	if err == nil {
		out.base, err = h.Host.Fetch(ctx, at.look.Branch, "refs/forge/host/result")
	}
	if err == nil && out.base == "" {
		err = &work.HostTrouble{Kind: work.HostBranchGone, Do: "fetch " + at.look.Branch, What: "the host has no such branch", Fix: "restore it there"}
	}
	if err != nil {
		return out, err
	}
	pullrequest.WithLogs(ctx, h.Host, &at.look, h.Warn)
	out.told = pullrequest.Unheard(at.look, r.Final.Heard)
	switch {
	case at.is.holds == factory.HeadConflicts:
		out.conflict, err = conflictOf(ctx, h.Repo, out.base, at.want, "what people pushed to its branch", r.ref("clash"))
	case at.step == factory.PullMerge:
		var name string
		if name, out.base, err = h.target(ctx, r.ref("target")); err == nil {
			out.conflict, err = conflictOf(ctx, h.Repo, out.base, at.is.at, name, r.ref("clash"))
		}
	default:
		err = h.onResult(ctx, &out, r.commit, at.look)
	}
	if err != nil {
		return out, err
	}
	out.told.Heard = slices.Concat(r.Final.Heard, out.told.Heard)
	return out, nil
}

// onResult lets a run begin at the result that people saw, with what they pushed
// on top of it.
func (h *resultHost) onResult(ctx context.Context, out *begun, shown string, look work.PullLook) error {
	at := out.base
	grown, err := h.Repo.Exists(ctx, shown)
	if err == nil && grown {
		grown, err = h.Repo.Holds(ctx, at, shown)
	}
	if err != nil || !grown {
		return err
	}
	changes, err := h.Repo.Changes(ctx, shown, at)
	if err != nil || len(changes) == 0 {
		return err
	}
	tree, err := h.Tree(ctx, at)
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
	for _, c := range changes[:min(len(changes), pullrequest.MostListed)] {
		out = append(out, c.Path)
	}
	return out
}

// hints tell a planner and an agent what was done before.
func (b begun) hints() []string {
	var out []string
	if b.told.Said != "" {
		out = append(out, "What was said of the first result, which is there already, by people or by checks of the code host:\n"+b.told.Said)
	}
	if b.pushed != nil {
		out = append(out, "People pushed to the first result; that is there already, and stays: "+strings.Join(b.pushed.Files, ", "))
	}
	if b.conflict != nil {
		out = append(out, "All of it was done before, and does not go together with "+b.conflict.With+": it conflicts, or the project's commands fail on both together. What is left is to mend that.")
	}
	return out
}

// withPushed lets a request for changes begin with what people pushed to the
// result that it is about.
func (h *resultHost) withPushed(ctx context.Context, a *work.Answer, r result) error {
	if a.Edited != nil {
		return nil
	}
	at, want, holds, err := h.onBranch(ctx, r)
	if err != nil {
		return err
	}
	from, stays := r.commit, "Their changes are in your folder, they stay: "
	edited := &work.Edited{Base: r.commit, Commit: at}
	switch holds {
	case factory.HeadPeople:
	case factory.HeadConflicts:
		conflict, err := conflictOf(ctx, h.Repo, at, want, "what people pushed", r.ref("clash"))
		if err != nil || !orchestrator.NamesConflicts(conflict.Files) {
			return err
		}
		from, stays = r.issue.Pull.Shown, "Their changes are in your folder beside yours, with markers where they conflict; resolve that so that theirs stay: "
		edited.Commit, edited.Conflicts = conflict.Commit, conflict.Files
	default:
		return nil
	}
	changes, err := h.Repo.Changes(ctx, from, at)
	if err != nil || len(changes) == 0 {
		return err
	}
	if err := h.Repo.UpdateRef(ctx, r.ref("pushed"), edited.Commit, ""); err != nil {
		return err
	}
	edited.Files = pathsOf(changes)
	a.Edited = edited
	a.Comment += "\n\nPeople pushed to the branch. " + stays + strings.Join(edited.Files, ", ")
	return nil
}
