package effect

import (
	"context"

	"forge/internal/work"
	"forge/orchestrator"
)

// showPages shows the project's pages on work whose proof is green, beside how they
// looked where the phase began. What is shown, and how it is started, is the owner's
// word; the change decides nothing of it.
func (m *Machine) showPages(ctx context.Context, of orchestrator.Proof, done orchestrator.VerifyDone, a Attending) orchestrator.Fact {
	if len(of.Settings.Pages) == 0 || m.Pages == nil {
		return done
	}
	req := work.PagesRequest{Verify: of.Verify, Pages: of.Settings.Pages}
	if of.Evidence.Base != of.Verify.Commit {
		req.Before = of.Evidence.Base
	}
	rep, err := m.Pages.Show(ctx, req, a.Tell)
	if err != nil {
		return failed(ctx, done.Command, "show the pages", err)
	}
	done.Pages = &rep
	return done
}
