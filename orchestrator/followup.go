package orchestrator

import (
	"slices"

	"forge/internal/text"
)

// Bounds of what is left for later, for one answer and for a run.
const (
	maxFollowUps    = 50
	maxFollowUp     = 300
	maxRunFollowUps = 200
)

// FollowUp is what a person who approved work left to be done later.
type FollowUp struct {
	Phase string `json:"phase,omitempty"` // "" = of the whole result
	By    string `json:"by"`
	Text  string `json:"text"` // the place, and the words
}

func (f FollowUp) String() string {
	where := ""
	if f.Phase != "" {
		where = "phase " + f.Phase + ", "
	}
	return where + text.Plain(f.Text) + " (" + text.Plain(f.By) + ")"
}

// keepFollowUps keeps what an answer left for later.
func (s *State) keepFollowUps(p *Phase, d CheckpointAnsweredData) {
	for _, words := range d.FollowUps {
		if len(s.FollowUps) == maxRunFollowUps {
			return
		}
		f := FollowUp{By: d.By, Text: words}
		if p != nil {
			f.Phase = p.Number
		}
		s.FollowUps = append(slices.Clip(s.FollowUps), f)
	}
}
