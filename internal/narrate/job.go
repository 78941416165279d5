package narrate

import (
	"fmt"

	"charm.land/log/v2"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// NounOf is what a person calls a run: a job, or a run of a plan.
func NounOf(s *orchestrator.State) string {
	if s.Job != nil {
		return "Job"
	}
	return "Run"
}

// describeJob says the events of a job in one line, as they happen.
func describeJob(e work.Event) (log.Level, string, []any) {
	if e.Kind == work.PhaseAdded {
		return describeAs(e, func(d orchestrator.PhaseAddedData) (log.Level, string, []any) {
			return log.InfoLevel, "next: " + d.Name, []any{"todos", string(d.Todos)}
		})
	}
	return describeAs(e, func(d orchestrator.JobDecidedData) (log.Level, string, []any) {
		pairs := []any{"by", d.By}
		if d.Round > 0 {
			pairs = append(pairs, "round", d.Round)
		}
		return log.InfoLevel, "end of the phase: " + nextInWords(d), pairs
	})
}

func nextInWords(d orchestrator.JobDecidedData) string {
	if d.Next == gates.JobEnd {
		return "the job is over, " + string(d.Status)
	}
	return string(d.Next)
}

// sayJob puts the events of a job into words, for forge why.
func sayJob(e work.Event) (string, facts, error) {
	if e.Kind == work.PhaseAdded {
		return telling(e, func(d orchestrator.PhaseAddedData) (string, facts) {
			f := facts{{"todos", string(d.Todos)}}
			if d.Carry != "" {
				f = append(f, [2]string{"goes on", "from the unmerged work of phase " + d.Carry})
			}
			return fmt.Sprintf("the job goes on with %s, budget %d", d.Name, d.Budget), f
		})
	}
	return telling(e, func(d orchestrator.JobDecidedData) (string, facts) {
		f := facts{{"at", string(d.At)}, {"by", d.By}, {"comment", d.Comment}}
		if d.Round > 0 {
			f = append(f, [2]string{"round", fmt.Sprint(d.Round)})
		}
		if d.Merge {
			f = append(f, [2]string{"merge", "what the phase did is merged first"})
		}
		return "end of the phase: " + nextInWords(d), f
	})
}
