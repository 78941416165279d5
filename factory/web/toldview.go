package web

import (
	"fmt"
	"net/http"
	"strings"

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
	With     []work.Attached
}

// toldOf is what people said to the agent of a phase.
func toldOf(s *orchestrator.State, phase string, driven bool) []toldView {
	var out []toldView
	for _, m := range s.Messages(phase) {
		told := s.ToldOf(work.Message{ID: m.ID, Phase: phase, Now: m.Now, Anew: m.Anew})
		view := toldView{By: m.By, Text: text.FirstLine(text.Plain(m.Text), 200), State: string(told.State), How: told.How(driven), With: m.Attached}
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

// attachedIn reads what a person names for a message, one file or range of lines in a row.
func attachedIn(field string) ([]work.Attached, error) {
	var out []work.Attached
	for named := range strings.Lines(field) {
		if text.Blank(named) {
			continue
		}
		a, err := work.ParseAttached(named)
		if err != nil {
			return nil, &Complaint{http.StatusUnprocessableEntity, "Nothing was said, since a file cannot go with it: " + text.OneLine(named, 120) + ": " + err.Error() + ".", "Name lines as path:3-8, one range in a row."}
		}
		out = append(out, a)
	}
	return out, nil
}
