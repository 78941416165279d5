package host

import (
	"fmt"

	"forge/internal/work"
)

// Guard is what keeps p from being merged as m asks, nil = nothing does, or it
// is merged already with the head that was asked for. Every adapter asks it
// right before it merges: no host compares more than the head by itself. by is
// who changed the target, "" = not known; it is asked only where that matters.
func Guard(m work.PullMerge, p work.PullRequest, by func() string) *work.HostTrouble {
	t := func(kind work.HostKind, what string) *work.HostTrouble {
		return &work.HostTrouble{Kind: kind, Do: fmt.Sprintf("merge pull request %d", m.Number), What: what}
	}
	moved := Retargeted(p, m.Branch, m.Base)
	switch {
	case m.Head == "":
		return t(work.HostRefused, "no reviewed commit was named")
	case m.Base == "" || m.Branch == "":
		return t(work.HostRefused, "no branches were named, from which and into which")
	case p.State == work.PullMerged && moved:
		return t(work.HostPullMerged, fmt.Sprintf("it was merged into %s, and not into %s", p.Base, m.Base))
	case p.State == work.PullMerged && p.Head == m.Head:
		return nil
	case p.State == work.PullMerged:
		return t(work.HostPullMerged, "somebody merged another commit of it")
	case p.State == work.PullClosed:
		return t(work.HostPullClosed, "somebody closed it, or deleted its branch")
	case p.State != work.PullOpen:
		return t(work.HostRefused, "it is in a state that Forge does not know")
	case moved:
		return RetargetedTrouble(t("", "").Do, p, m.Branch, m.Base, by())
	case p.BranchGone:
		return t(work.HostBranchGone, "its branch is gone")
	case p.Head != m.Head:
		return t(work.HostHeadMoved, "the branch has moved since the review")
	case m.BaseHead != "" && p.BaseHead != m.BaseHead:
		return t(work.HostBaseMoved, "the base has moved since the result was verified")
	}
	return nil
}

// Retargeted says that a pull request is not, or not any more, of branch for
// base.
func Retargeted(p work.PullRequest, branch, base string) bool {
	return p.Base != base || p.Branch != branch
}

// TellRetargeted says so in words; by "" = somebody.
func TellRetargeted(p work.PullRequest, branch, base, by string) string {
	if by == "" {
		by = "somebody"
	}
	if p.Base == base {
		return fmt.Sprintf("it is of the branch %s, and not of %s", p.Branch, branch)
	}
	return fmt.Sprintf("its target was changed to %s by %s", p.Base, by)
}

// RetargetedTrouble is the error of what is not done to a pull request because
// of that.
func RetargetedTrouble(do string, p work.PullRequest, branch, base, by string) *work.HostTrouble {
	return &work.HostTrouble{
		Kind: work.HostRetargeted, Do: do, What: TellRetargeted(p, branch, base, by),
		Fix: "set its target back to " + base + " there, or answer by forge approve or forge request-changes",
	}
}
