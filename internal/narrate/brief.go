package narrate

import (
	"charm.land/log/v2"

	"forge/internal/work"
	"forge/orchestrator"
)

// Brief is a LogWatcher of one of many runs: it says only what a person should
// not miss, and of which run it is.
type Brief struct{ LogWatcher }

// NewBrief says it into a log.
func NewBrief(into *log.Logger) *Brief { return &Brief{LogWatcher{Log: into}} }

// Events writes a line for each phase that is over and each question.
func (b *Brief) Events(evs []work.Event, s *orchestrator.State) {
	for _, e := range evs {
		if e.Kind != work.PhaseFinished && e.Kind != work.CheckpointOpened {
			continue
		}
		if level, text, pairs := Describe(e, s); text != "" {
			b.Log.Log(level, text, append([]any{"run", e.Run, "phase", e.Phase}, pairs...)...)
		}
	}
}
