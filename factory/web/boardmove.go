package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"forge/factory"
	"forge/internal/text"
	"forge/internal/work"
)

// moveIssue puts an issue into a column, at a place there. A script is answered
// with the card, a form with the board.
func (s *Server) moveIssue(v *visit) error {
	id, err := v.issue()
	if err != nil {
		return err
	}
	place := factory.Place{At: factory.Spot(v.form("place"))}
	if place.At == "" {
		place.At = factory.Bottom
	}
	if place.At == factory.Before || place.At == factory.After {
		if place.Issue, err = issueNumber(v.form("other")); err != nil {
			return err
		}
	}
	i, err := s.turns.do(v.Project.ID, func() (work.Issue, error) {
		return v.Project.Board.Move(v.Context(), id, work.Column(v.form("column")), place, v.by(v.form("note")))
	})
	if err != nil {
		return err
	}
	s.feeds.poked(v.Project.ID)
	if !wantsJSON(v.Request) {
		return v.seeOther(v.url(""))
	}
	list, err := s.cardsOf(v.Context(), v.Project, []work.Issue{i})
	if err != nil {
		return err
	}
	return v.json(http.StatusOK, boardMessage{Issue: i.ID, Action: work.IssueMoved, shownCard: &list[0]})
}

// by is who changes a board through a page, and what they say about it.
func (v *visit) by(note string) factory.By {
	return factory.By{Name: v.Who.Name, Door: "web", Note: text.FirstLine(text.Plain(note), 300)}
}

// issue is the number of the issue that the path names.
func (v *visit) issue() (int64, error) {
	id, err := strconv.ParseInt(v.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, work.ErrNoIssue
	}
	return id, nil
}

func issueNumber(word string) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(word), "#"), 10, 64)
	if err != nil || id < 1 {
		return 0, &Complaint{http.StatusUnprocessableEntity, fmt.Sprintf("%q is not the number of an issue.", text.OneLine(word, 80)), "Write it as 12 or #12."}
	}
	return id, nil
}

// json answers a script.
func (v *visit) json(status int, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	v.W.Header().Set("Content-Type", "application/json")
	v.W.Header().Set("Cache-Control", "no-store")
	v.W.WriteHeader(status)
	_, _ = v.W.Write(text) // whoever went away does not read it
	return nil
}
