package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"forge/internal/host"
	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// One part of the result of several repositories, as a pull request of its own. It is
// merged when all of them can be, see orchestrator.ResultPull.

// whyOf turns what a host did not do into words; any other error stays one.
func whyOf(err error) (string, error) {
	t := PullTrouble(err)
	if t == nil {
		return "", err
	}
	why := t.What
	if t.Fix != "" {
		why += ": " + t.Fix
	}
	return text.OneLine(why, 300), nil
}

// heads are the commits of branches on the host.
func (h *Port) heads(ctx context.Context, branches ...string) (at map[string]string, err error) {
	err = h.Again(ctx, func() (err error) {
		at, err = h.Host.Heads(ctx, branches...)
		return err
	})
	return at, err
}

// Aims is why the result cannot be proposed: its target is not where it was proven. onto
// is where it went on to.
func (h *Port) Aims(ctx context.Context, req orchestrator.ResultPull) (onto, why string, err error) {
	at, err := h.heads(ctx, req.Target)
	if err == nil {
		if why = aims(at[req.Target], req); why == "" {
			return "", "", nil
		}
		if onto, err = h.wentOn(ctx, req); err == nil {
			return onto, why, nil
		}
	}
	why, err = whyOf(err)
	return "", why, err
}

// wentOn is where the target is that has grown out of where the result was proven, and
// does not hold the result; "" = it was set back, is gone, or holds it.
func (h *Port) wentOn(ctx context.Context, req orchestrator.ResultPull) (string, error) {
	at, err := h.fetch(ctx, req.Target, req.Keep)
	if err != nil || at == "" {
		return "", err
	}
	if grown, err := h.Repo.Outgrown(ctx, req.From, at, req.Commit); err != nil || !grown {
		return "", err
	}
	return at, nil
}

func aims(at string, req orchestrator.ResultPull) string {
	switch at {
	case req.From:
		return ""
	case "":
		return "the host has no branch " + req.Target + ": push it"
	}
	return fmt.Sprintf("%s is at %s on the host, and it was proven at %s: what was proven is not what would come of a merge", req.Target, text.Short(at), text.Short(req.From))
}

// Propose sees to it that there is one pull request of the result. One that people
// closed or merged stays as it is: See tells.
func (h *Port) Propose(ctx context.Context, req orchestrator.ResultPull) (is orchestrator.ResultPulled, why string, err error) {
	if req.Number == 0 {
		var at map[string]string
		if at, err = h.heads(ctx, req.Branch); err == nil {
			err = h.Again(ctx, func() error { return h.branch(ctx, req.Branch, req.Commit, nil, false, at[req.Branch]) })
		}
	}
	if err == nil {
		var body text.Markdown
		if body, err = h.resultPaper(ctx, req); err != nil {
			return is, "", err
		}
		err = h.Again(ctx, func() error {
			pr, err := h.Host.OpenPull(ctx, work.PullProposal{Marker: req.Marker, Branch: req.Branch, Base: req.Target, Title: req.ResultTitle(), Body: body, Number: req.Number})
			is.Number, is.URL = pr.Number, pr.URL
			return err
		})
	}
	why, err = whyOf(err)
	return is, why, err
}

// See is how the pull request stands: merged, ready, or what is in the way.
func (h *Port) See(ctx context.Context, req orchestrator.ResultPull) (is orchestrator.ResultPulled, why string, err error) {
	look, at, err := h.seen(ctx, req)
	if err != nil {
		why, err = whyOf(err)
		return is, why, err
	}
	is.Number, is.URL, is.Closed = look.Number, look.URL, look.State == work.PullClosed
	if look.State != work.PullMerged || look.Base != req.Target {
		if why = inTheWay(look, req); why == "" {
			if why = aims(at, req); why != "" {
				is.Onto, err = h.wentOn(ctx, req)
			}
		}
		if err != nil {
			why, err = whyOf(err)
		}
		return is, why, err
	}
	is.Merged, why, err = h.cameTo(ctx, req, look.MergeCommit)
	return is, why, err
}

// seen reads the pull request and its target, until the host has computed whether it
// can be merged, or for as long as one waits for that.
func (h *Port) seen(ctx context.Context, req orchestrator.ResultPull) (look work.PullLook, at string, err error) {
	err = h.Again(ctx, func() (err error) {
		if look, err = h.Host.Look(ctx, req.Number); err == nil && look.State == work.PullOpen && look.Mergeable == work.MergeComputing {
			err = &work.HostTrouble{Kind: work.HostNotYet, Do: "look at the pull request", What: "the host computes whether it can be merged"}
		}
		return err
	})
	if err != nil {
		return look, "", err
	}
	heads, err := h.heads(ctx, req.Target)
	return look, heads[req.Target], err
}

// inTheWay is why a pull request cannot be merged as it stands, wherever its target is.
// Nothing that is not known to be in order passes.
func inTheWay(look work.PullLook, req orchestrator.ResultPull) string {
	stand := host.Stand(look.Reviews, req.Commit)
	switch {
	case look.State == work.PullMerged:
		return "it was merged into " + text.OneLine(look.Base, 100) + ", and not into " + req.Target
	case look.State == work.PullClosed:
		return "it was closed: reopen it there, or close all of them to give the result up"
	case look.State != work.PullOpen:
		return "it is in a state that Forge does not know"
	case host.Retargeted(look.PullRequest, req.Branch, req.Target):
		return "it was pointed at another branch: set its target back to " + req.Target
	case look.BranchGone || look.Head != req.Commit:
		return "its branch is not at what was proven: set it back to " + text.Short(req.Commit)
	case stand.Verdict == work.PullChangesRequested:
		return "somebody asks for changes there"
	case look.Checks == work.ChecksFailed:
		return "its checks fail"
	case look.Checks == work.ChecksPending:
		return "its checks are not over"
	case look.Checks != work.ChecksPassed && look.Checks != work.ChecksNone:
		return "nobody knows how its checks stand"
	case stand.Verdict != work.PullApproved && req.Approved == "":
		return "nobody has approved it yet"
	case look.Mergeable != work.Mergeable:
		why := text.OneLine(look.Why, 200)
		if why == "" {
			why = string(look.Mergeable)
		}
		return "the host does not let it be merged: " + why
	}
	return ""
}

// cameTo is the commit that a merge made, once it is known to be on the target; why
// where it is not what was proven.
func (h *Port) cameTo(ctx context.Context, req orchestrator.ResultPull, commit string) (merged, why string, err error) {
	at, err := h.fetch(ctx, req.Target, req.Keep)
	there := false
	if err == nil && commit != "" && at != "" {
		if there, err = h.Repo.Exists(ctx, commit); err == nil && there {
			there, err = h.Repo.Holds(ctx, at, commit)
		}
	}
	if err != nil {
		why, err = whyOf(err)
		return "", why, err
	}
	if !there {
		return "", "the host says that it is merged, and " + req.Target + " does not hold what came of it: look there where it went", nil
	}
	proven := req.Tree
	if proven == "" {
		if proven, err = h.Tree(ctx, req.Commit); err != nil {
			return "", "", err
		}
	}
	tree, err := h.Tree(ctx, commit)
	if err != nil {
		return "", "", err
	}
	if tree != proven {
		return commit, "what was merged there (" + text.Short(commit) + ") is not what was proven", nil
	}
	return commit, "", nil
}

// Merge lets the host squash the branch into its target, guarded by the proven commit
// and the target's place.
func (h *Port) Merge(ctx context.Context, req orchestrator.ResultPull) (is orchestrator.ResultPulled, why string, err error) {
	if is, why, err = h.See(ctx, req); err != nil || why != "" || is.Merged != "" {
		return is, why, err
	}
	var made work.PullSquashed
	err = h.Again(ctx, func() (err error) {
		made, err = h.Host.Merge(ctx, work.PullMerge{
			Number: req.Number, Branch: req.Branch, Base: req.Target, Head: req.Commit, BaseHead: req.From, Title: req.ResultTitle(), Message: "Forge-Run: " + req.Run + "\n",
		})
		return err
	})
	if err != nil {
		why, err = whyOf(err)
		return is, why, err
	}
	if is.Merged, why, err = h.cameTo(ctx, req, made.Commit); err != nil || why != "" {
		return is, why, err
	}
	var t *work.HostTrouble
	if err = h.Host.DeleteBranch(ctx, req.Branch, req.Commit); errors.As(err, &t) {
		err = nil // it is merged, and somebody else may tidy up
	}
	return is, "", err
}

// Holds says that a branch of the host holds a commit.
func (h *Port) Holds(ctx context.Context, branch, commit string) (bool, error) {
	at, err := h.heads(ctx, branch)
	if err != nil || at[branch] == "" {
		return false, err
	}
	if at[branch] == commit {
		return true, nil
	}
	tip, err := h.fetch(ctx, branch, "refs/forge/host/"+branch)
	if err != nil || tip == "" {
		return false, err
	}
	return h.Repo.Holds(ctx, tip, commit)
}

// resultPaper is the text of the pull request of one part of a result.
func (h *Port) resultPaper(ctx context.Context, req orchestrator.ResultPull) (text.Markdown, error) {
	changes, err := h.Repo.Changes(ctx, req.Began, req.Commit)
	if err != nil {
		return text.Markdown{}, err
	}
	p := req.Paper
	return text.Join("",
		text.Section("What changed", TellChanges(changes)),
		text.Section("Together with", tellOthers(req)),
		text.Section("Why", text.Quote(p.Why)),
		text.Section("Evidence", text.Join("\n\n", narrate.TellDoubted(p.Record.Doubts), TellProof(p.Proof), narrate.TellRecord(p.Record))),
		text.Section("Doubts", text.Quote(p.Doubts)),
		text.Section("Read first", ReadFirst(changes)),
		text.Section("How to answer", tellAnswering(req)),
	), nil
}

// tellOthers names the other parts, in the order in which all are merged.
func tellOthers(req orchestrator.ResultPull) text.Markdown {
	all := []text.Markdown{text.Format("This is the part in %s of a change of %d repositories. They are merged together or not at all: please do not merge this one alone. In the order of the merges:\n\n",
		text.Code(req.Repository), len(req.Others)+1)}
	for i := 0; i <= len(req.Others); i++ {
		switch {
		case i == req.At:
			all = append(all, text.Item(text.Format("%s: this one", text.Code(req.Repository))))
			continue
		case i > req.At:
			all = append(all, tellOther(req.Others[i-1]))
		default:
			all = append(all, tellOther(req.Others[i]))
		}
	}
	return text.Join("", all...)
}

func tellOther(o orchestrator.ResultOther) text.Markdown {
	if o.Number == 0 {
		return text.Item(text.Format("%s: not opened yet", text.Code(o.Repository)))
	}
	return text.Item(text.Format("%s: pull request %d, %s", text.Code(o.Repository), o.Number, text.Link(o.URL)))
}

// tellAnswering says how people let it land.
func tellAnswering(req orchestrator.ResultPull) text.Markdown {
	resume := text.Code("forge resume " + req.Run)
	if who := strings.TrimSpace(req.Approved); who != "" {
		return text.Format("%s approved the whole result. %s merges all parts once each is green; request changes here, and it does not.", who, resume)
	}
	return text.Format("Approve each part; %s then merges all of them, once each is approved and green. Request changes, or close one, and none is merged; close all, and the result is given up. A commit that is pushed here was not proven, and holds all of them, too.", resume)
}
