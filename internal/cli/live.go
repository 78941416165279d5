package cli

import (
	"context"

	"forge/orchestrator"
)

func (p *project) liveWatcher(_ context.Context, _ *orchestrator.State, plain *plainWatcher) (orchestrator.Watcher, func()) {
	return plain, func() {}
}
