package web

import (
	"fmt"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// toldView is what a person said to a working agent, and how far it has come.
type toldView struct {
	By, Text string
	State    string // a word: queued, delivered, seen
	How      string // begins with that word
	Waits    string // the checkpoint that has to be answered first
}

// toldOf is what people said to the agent of a phase.
func toldOf(s *orchestrator.State, phase string, driven bool) []toldView {
	var out []toldView
	for _, m := range s.Messages(phase) {
		told := s.ToldOf(work.Message{ID: m.ID, Phase: phase, Now: m.Now, Anew: m.Anew})
		view := toldView{By: m.By, Text: text.FirstLine(text.Plain(m.Text), 200), State: string(told.State), How: told.How(driven)}
		switch {
		case told.State == work.MessageQueued:
			view.Waits = told.Waits
		case told.State == work.MessageRead && told.Midway:
			view.State, view.How = "seen", fmt.Sprintf("seen, while its agent worked on iteration %d", told.Iteration)
		case told.State == work.MessageRead:
			view.State, view.How = "seen", fmt.Sprintf("seen, with the prompt of iteration %d", told.Iteration)
		}
		out = append(out, view)
	}
	return out
}

// Told says that people said something to agents of the run.
func (r runView) Told() bool {
	for _, p := range r.Phases {
		if len(p.Told) > 0 {
			return true
		}
	}
	return false
}
