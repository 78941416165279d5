package web

import (
	"fmt"
	"time"

	texts "forge/internal/text"
	"forge/orchestrator"
)

// cardLive is what happens just now to an issue that is worked on. It is asked
// for by the card itself: what stands on a card besides is the same until
// something is stored.
type cardLive struct {
	Run   string // address of its page; "" = there is none yet
	Doing string // "testing · iteration 2 of 8"
	Phase string // its name; "" = there is one phase only
	Since time.Duration
	Cost  string
	Told  string // how far the last message to its agent has come; "" = there is none
	Words string // what became of the last iteration, in one line
	ID    int64
}

// mostWordsOnCard is how much of what an agent said a card shows.
const mostWordsOnCard = 120

func (s *Server) issueLive(v *visit) error {
	id, err := v.issue()
	if err != nil {
		return err
	}
	i, err := v.Project.Cards.Issue(v.Context(), v.Project.Board.Project, id)
	if err != nil {
		return err
	}
	d := cardLive{Doing: "getting ready", ID: id}
	if i.Run == "" {
		d.Doing = "finding out what is wanted"
		return v.part("board", "live-part", d)
	}
	st, err := v.Project.Runs.State(v.Context(), i.Run)
	var row Run
	if err == nil {
		row, err = s.runRow(v.Context(), v.Project, st)
	}
	if err != nil { // it is named before it is opened, and asked for again in a moment
		s.Log.Debug("a run cannot be read for its card", "run", i.Run, "err", err)
		d.Doing = "its run cannot be read yet"
		return v.part("board", "live-part", d)
	}
	d.Run, d.Since = v.url("/runs/"+st.Run), s.Now().Sub(row.Created)
	d.Cost = usd(st.Ledger.Cost())
	if ph := activePhase(st); ph != nil {
		d.Doing = fmt.Sprintf("%s · iteration %d of %d", ph.Word(true), max(ph.Iteration, 1), ph.Budget)
		if len(st.Order) > 1 {
			d.Phase = ph.Plan.Name
		}
		if told := toldOf(st, ph.Number, row.State == "running"); len(told) > 0 {
			d.Told = told[len(told)-1].How
		}
		if n := len(ph.History); n > 0 {
			d.Words = texts.OneLine(ph.History[n-1], mostWordsOnCard)
		}
	}
	return v.part("board", "live-part", d)
}

// activePhase is the phase that is worked on now, the first of several.
func activePhase(st *orchestrator.State) *orchestrator.View {
	for _, n := range st.Order {
		if ph := st.View(n); ph.Outcome == "" && ph.Stage != orchestrator.StageWaiting && ph.Stage != orchestrator.StageReady && ph.Stage != orchestrator.StageAsked {
			return ph
		}
	}
	return nil
}
