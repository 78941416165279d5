package web

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// runFigures is what one run adds to the metrics. It does not change once the
// run is over.
type runFigures struct {
	Ended    time.Time // zero while it goes on
	Outcome  work.RunOutcome
	Issue    int64
	CostUSD  *float64
	Phases   []phaseFigures
	Accepted int // findings that were acted on, or that held the work up
	Let      int // findings that the arbiter or a person let stand
}

type phaseFigures struct {
	Type, Agent, Model string
	Outcome            work.PhaseOutcome
}

// figuresOf folds a run's events into its figures.
func figuresOf(st *orchestrator.State, evs []work.Event) runFigures {
	f := runFigures{Outcome: st.Outcome, CostUSD: st.Ledger.Cost()}
	if st.Spec.Issue != nil {
		f.Issue = st.Spec.Issue.ID
	}
	for _, n := range st.Order {
		p := st.View(n)
		if p.Parent != "" || p.Outcome == "" {
			continue
		}
		kind := cmp.Or(p.Plan.PhaseType, string(p.Plan.Kind), "none")
		f.Phases = append(f.Phases, phaseFigures{Type: kind, Agent: p.Set.Agent, Model: p.Model(), Outcome: p.Outcome})
	}
	open := map[string]int{} // by phase: findings that the last ruling was about
	for _, e := range evs {
		switch e.Kind {
		case work.ArbiterDecided:
			var d orchestrator.ArbiterDecidedData
			if json.Unmarshal(e.Data, &d) != nil {
				continue
			}
			switch d.Verdict {
			case review.Fix, review.FailPhase:
				f.Accepted += len(d.Findings)
			case review.Proceed:
				f.Let += len(d.Findings)
			case review.AskHuman:
				open[e.Phase] = len(d.Findings)
			}
		case work.GateDecided:
			var d work.GateDecidedData
			if json.Unmarshal(e.Data, &d) != nil || d.Gate != string(gates.PointFindings) || d.Decision == "ask" {
				continue
			}
			if d.Decision == "go" {
				f.Let += open[e.Phase]
			} else {
				f.Accepted += open[e.Phase]
			}
			delete(open, e.Phase)
		case work.RunFinished:
			f.Ended = e.Time
		case work.RunResumed:
			f.Ended = time.Time{}
		}
	}
	return f
}

// boardFigures is what a board's history tells of throughput. It is folded line
// by line, so that a page reads what is new and nothing twice.
type boardFigures struct {
	Line  int64 // the last one
	added map[int64]time.Time
	done  map[int64]time.Time
}

func (b *boardFigures) fold(lines []work.IssueEntry) {
	if b.added == nil {
		b.added, b.done = map[int64]time.Time{}, map[int64]time.Time{}
	}
	for _, l := range lines {
		b.Line = max(b.Line, l.Seq)
		if l.Action == work.IssueAdded {
			b.added[l.Issue] = l.At
		}
		for _, c := range l.Fields {
			if c.Field != "column" {
				continue
			}
			if c.To == string(work.ColumnDone) {
				b.done[l.Issue] = l.At
			} else {
				delete(b.done, l.Issue) // taken back
			}
		}
	}
}

// rate is how many of some succeeded.
type rate struct {
	Name      string
	Good, All int
}

// Share is the part that succeeded; nil of none.
func (r rate) Share() *float64 {
	if r.All == 0 {
		return nil
	}
	v := float64(r.Good) / float64(r.All)
	return &v
}

// week is what was finished in one week.
type week struct {
	Begin  time.Time
	Issues int
	Runs   int
}

// metrics is what the page shows.
type metrics struct {
	Weeks       []week
	Issues      int            // done
	LeadMedian  *time.Duration // from added to done; nil = none is done
	LeadLongest *time.Duration
	Runs        []rate // one, of all runs that are over
	Types       []rate
	Agents      []rate
	Models      []rate
	Findings    rate // accepted of all that were judged
	Accepted    int  // changes that were accepted
	Spent       float64
	UnknownCost int      // runs whose cost nobody knows
	PerChange   *float64 // nil: nothing was accepted, or the cost of a run is unknown
	Counted     int      // runs
}

// weeksShown is how far back the plots go.
const weeksShown = 12

// sumOf makes the page's figures. A change is accepted when its run completed
// and, of an issue, when the issue is done.
func sumOf(runs []runFigures, board boardFigures, now time.Time) metrics {
	m := metrics{Counted: len(runs), Issues: len(board.done)}
	begin := now.UTC().Truncate(24 * time.Hour)
	for begin.Weekday() != time.Monday {
		begin = begin.AddDate(0, 0, -1)
	}
	for n := weeksShown - 1; n >= 0; n-- {
		m.Weeks = append(m.Weeks, week{Begin: begin.AddDate(0, 0, -7*n)})
	}
	inWeek := func(at time.Time) *week {
		for i := len(m.Weeks) - 1; i >= 0; i-- {
			if !at.Before(m.Weeks[i].Begin) {
				return &m.Weeks[i]
			}
		}
		return nil
	}
	var lead []time.Duration
	for id, at := range board.done {
		if w := inWeek(at); w != nil {
			w.Issues++
		}
		if from, ok := board.added[id]; ok && !at.Before(from) {
			lead = append(lead, at.Sub(from))
		}
	}
	slices.Sort(lead)
	if n := len(lead); n > 0 {
		middle := lead[n/2]
		if n%2 == 0 {
			middle = (lead[n/2-1] + lead[n/2]) / 2
		}
		m.LeadMedian, m.LeadLongest = &middle, &lead[n-1]
	}
	m.ofRuns(runs, board, inWeek)
	return m
}

func (m *metrics) ofRuns(runs []runFigures, board boardFigures, inWeek func(time.Time) *week) {
	all := rate{Name: "all runs"}
	types, agents, models := map[string]*rate{}, map[string]*rate{}, map[string]*rate{}
	count := func(in map[string]*rate, name string, good bool) {
		name = cmp.Or(name, "not named")
		if in[name] == nil {
			in[name] = &rate{Name: name}
		}
		in[name].All++
		if good {
			in[name].Good++
		}
	}
	for _, r := range runs {
		if r.CostUSD == nil {
			m.UnknownCost++
		} else {
			m.Spent += *r.CostUSD
		}
		if r.Outcome.Final() {
			if all.All++; r.Outcome == work.RunCompleted {
				all.Good++
				if w := inWeek(r.Ended); w != nil && !r.Ended.IsZero() {
					w.Runs++
				}
			}
		}
		_, landed := board.done[r.Issue]
		if r.Outcome == work.RunCompleted && (r.Issue == 0 || landed) {
			m.Accepted++
		}
		for _, p := range r.Phases {
			if p.Outcome == work.PhaseSkipped || p.Outcome == work.PhaseCancelled {
				continue // it was not tried
			}
			good := p.Outcome == work.PhaseDone
			count(types, p.Type, good)
			count(agents, p.Agent, good)
			count(models, p.Model, good)
		}
		m.Findings.Good += r.Accepted
		m.Findings.All += r.Accepted + r.Let
	}
	m.Runs, m.Types, m.Agents, m.Models = []rate{all}, ratesOf(types), ratesOf(agents), ratesOf(models)
	if m.Accepted > 0 && m.UnknownCost == 0 {
		per := m.Spent / float64(m.Accepted)
		m.PerChange = &per
	}
}

// ratesOf are the rates, those of the most tries first.
func ratesOf(in map[string]*rate) []rate {
	var out []rate
	for _, r := range in {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b rate) int { return cmp.Or(cmp.Compare(b.All, a.All), cmp.Compare(a.Name, b.Name)) })
	return out
}
