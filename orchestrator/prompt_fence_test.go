package orchestrator

import (
	"testing"

	"forge/internal/text/texttest"
	"forge/internal/work"
)

// What strangers may have written stands in a prompt as data, wherever it comes
// from: the title of an issue is the name of its phase.
func TestForeignTextStandsInFences(t *testing.T) {
	t.Parallel()
	for _, hostile := range texttest.Prompts() {
		foreign := []string{hostile}
		s := &State{Spec: Spec{
			Issue: &work.IssueBrief{Title: hostile, Criteria: []work.Criterion{{ID: "c1", Text: hostile}}},
			Settings: work.Settings{
				Spec: hostile, Project: hostile, Lessons: []work.Lesson{{Text: hostile, File: hostile}}, Agents: map[string]work.AgentSettings{"a": {Continues: true}},
			},
		}}
		phase := func(change func(*Phase)) *Phase {
			p := &Phase{View: View{
				Number:   "1",
				Plan:     work.Phase{Number: "1", Name: hostile, Promise: hostile, Reasoning: hostile},
				Set:      work.PhaseSettings{Agent: "a", Verify: foreign},
				Counting: Counting{Kind: IterationWork},
				Merging:  Merging{Merge: &MergeFinishedData{Conflicts: foreign}},
				Telling: Telling{History: foreign, Messages: []Message{
					{ID: "m1", Text: hostile, Attached: []work.Attached{{Path: hostile, Text: hostile}}},
					{ID: "m2", Text: hostile, Read: true, Attached: []work.Attached{{Path: hostile, From: 1, Text: hostile}, {Path: hostile, Commit: "c", Text: hostile}}},
				}},
			}}
			p.Briefing = Briefing{Notes: foreign, Comments: foreign, Strategy: foreign, Verified: hostile}
			p.Watching = Watching{Blockers: foreign}
			if change != nil {
				change(p)
			}
			return p
		}
		for _, kind := range []IterationKind{IterationWork, IterationResolve, IterationRework, IterationFix} {
			for _, session := range []string{"", "s1"} {
				texttest.Fenced(t, Prompt(s, phase(func(p *Phase) { p.Kind = kind }), session))
			}
		}
		texttest.Fenced(t, Prompt(s, phase(func(p *Phase) { p.Conflict = &Conflict{Files: foreign} }), ""))
		texttest.Fenced(t, Prompt(s, phase(func(p *Phase) { p.Marked = foreign }), "s1"))

		job := *s
		job.Spec.Issue, job.Job, job.Spec.Job = nil, &JobState{}, &work.Job{Description: hostile, Documents: foreign, Sources: foreign, Prompt: hostile}
		for _, kind := range []work.PhaseKind{work.KindStrategic, work.KindTactical} {
			texttest.Fenced(t, Prompt(&job, phase(func(p *Phase) { p.Plan.Name, p.Plan.Kind = "phase 1", kind }), ""))
		}
	}
}
