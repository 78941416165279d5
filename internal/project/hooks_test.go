package project

import (
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// No person starts the phases of a job or an issue, nor those that --yes
// answered for; hooks that could hold them must not be passed over there.
func TestWhoStartsPhases(t *testing.T) {
	for name, tt := range map[string]struct {
		spec orchestrator.Spec
		want bool
	}{
		"a run":         {orchestrator.Spec{}, false},
		"a run --yes":   {orchestrator.Spec{AnswerYes: true}, true},
		"a job":         {orchestrator.Spec{Job: &work.Job{}}, true},
		"an issue":      {orchestrator.Spec{Issue: &work.IssueBrief{}}, true},
		"a job --yes":   {orchestrator.Spec{Job: &work.Job{}, AnswerYes: true}, true},
		"unmerged work": {orchestrator.Spec{NoMerge: true}, false},
	} {
		if got := Alone(tt.spec); got != tt.want {
			t.Errorf("%s: alone %t, want %t", name, got, tt.want)
		}
	}
}
