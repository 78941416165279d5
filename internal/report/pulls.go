package report

import (
	"cmp"
	"fmt"

	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/orchestrator"
)

// Pulls are the pull requests of a run that are open.
func Pulls(s *orchestrator.State) string {
	out := ""
	for _, n := range s.Order {
		p := s.View(n)
		if is := pullrequest.ShownOf(p); is != nil && is.Trouble != nil {
			out += fmt.Sprintf("Phase %s: %s\n", n, text.OneLine(pullLine(is), 600))
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

// pullLine is what forge show says of where people see it, "" = nothing.
func pullLine(s *pullrequest.Shown) string {
	switch {
	case s == nil:
		return ""
	case s.Trouble == nil:
		return s.URL
	}
	text := "people do not see this on " + cmp.Or(s.URL, "the host") + ": " + s.Trouble.What
	if s.Trouble.Fix != "" {
		text += fmt.Sprintf("; %s, then forge resume", s.Trouble.Fix)
	}
	return text
}
