package effect

import (
	"context"

	"forge/orchestrator"
)

// train merges phases onto each other beside the run's branch, which stays where it
// is. Each is merged onto one commit that holds what goes before it, as it would be
// onto the branch after those have landed; what conflicts is in no later one.
func (m *Machine) train(ctx context.Context, e orchestrator.TrainEffect) orchestrator.Fact {
	ctx = context.WithoutCancel(ctx)
	done, head := orchestrator.TrainDone{Command: e.Command}, e.Head
	for _, one := range e.Members {
		one.Head = head
		res, doing, err := m.mergeOnto(ctx, one)
		if err != nil {
			return broke(e.Command, doing+", phase "+one.Command.Phase, err)
		}
		done.Links = append(done.Links, orchestrator.TrainLink{Phase: one.Command.Phase, Result: res})
		if len(res.Conflicts) > 0 || one.Reviewed && len(res.Differs) > 0 {
			continue
		}
		if head, err = m.Repo.CommitTree(ctx, res.Tree, []string{head}, one.Message, e.Keep); err != nil {
			return broke(e.Command, "keep what the next one is merged onto", err)
		}
	}
	return done
}
