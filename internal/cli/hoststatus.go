package cli

import (
	"cmp"
	"fmt"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// pullOf is where people see a phase on the code host, or why they do not; nil
// where nothing of it is to be seen there.
func pullOf(p *orchestrator.Phase) *pullShown {
	switch {
	case p.Pull == nil || p.Stage == orchestrator.StageFinished:
		return nil
	case p.Pull.Lost != "":
		return &pullShown{Number: p.Pull.Number, URL: p.Pull.URL, Trouble: &work.PullTrouble{Kind: work.HostPullClosed, What: p.Pull.Lost, Fix: "an answer here goes on with it where that was put right, else without it"}}
	case p.Pull.Trouble != nil:
		return &pullShown{Number: p.Pull.Number, URL: p.Pull.URL, Trouble: p.Pull.Trouble}
	case p.Pull.Number == 0:
		return nil
	}
	return &pullShown{Number: p.Pull.Number, URL: p.Pull.URL}
}

// pullsText are the pull requests of a run that are open.
func pullsText(s *orchestrator.State) string {
	out := ""
	for _, n := range s.Order {
		p := s.Phases[n]
		if is := pullOf(p); is != nil && is.Trouble != nil {
			out += fmt.Sprintf("Phase %s: %s\n", n, text.OneLine(is.line(), 600))
		} else if is != nil {
			out += fmt.Sprintf("Phase %s is pull request %d: %s\n", n, is.Number, cmp.Or(is.URL, "branch "+p.Pull.Branch+" of Forge's own repository"))
		}
	}
	for _, l := range s.Leaving {
		if l.Left != nil {
			out += fmt.Sprintf("Phase %s left a pull request that may be open still (branch %s): %s; close it there\n", l.Phase, l.Branch, text.OneLine(l.Left.What, 600))
			continue
		}
		out += fmt.Sprintf("Phase %s leaves a pull request that is still to be closed: branch %s\n", l.Phase, l.Branch)
	}
	if out != "" {
		out = "\n" + out
	}
	return out
}
