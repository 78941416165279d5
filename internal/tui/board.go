package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/gates"
	"forge/internal/approval"
	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// board is what the live view shows of a run. It is copied out of the run's
// state, which belongs to the driver.
type board struct {
	rows      []phaseRow
	count     phaseCount
	spent     spending
	began     time.Time
	stopping  string
	Questions []question // in the order in which they were opened
}

// phaseRow is one phase that is under way.
type phaseRow struct {
	number, name string // number "" = the run itself
	child        bool
	iteration    string
	began        time.Time
	spent        spending
	doing        string
	until        time.Time // end of an outage; zero = none
	trouble      bool
}

// phaseCount counts the nodes of the graph; sub-phases are none.
type phaseCount struct{ done, failed, skipped, cancelled, running, asked, waiting int }

func (c phaseCount) total() int {
	return c.done + c.failed + c.skipped + c.cancelled + c.running + c.asked + c.waiting
}

// spending is what was used up as far as it is known.
type spending struct {
	tokens        int64
	usd           float64
	tokensUnknown bool
	usdUnknown    bool
}

func spentOf(l orchestrator.Ledger) spending {
	return spending{tokens: l.Tokens, usd: l.USD, tokensUnknown: l.UnknownTokens > 0, usdUnknown: l.UnknownUSD > 0}
}

// with adds what the current iteration has reported so far.
func (s spending) with(u work.Usage) spending {
	if n, ok := u.Tokens(); ok {
		s.tokens += n
	}
	if u.CostUSD != nil {
		s.usd += *u.CostUSD
	}
	return s
}

// question is an open checkpoint and the change that it is about.
type question struct {
	Checkpoint work.Checkpoint
	from, to   string // commits; equal = there is no change to see
	About      string // whose change that is
}

// BoardOf copies s. The rows have what the state knows; what agents say comes
// with their activity.
func BoardOf(s *orchestrator.State) board {
	b := board{spent: spentOf(s.Ledger)}
	if s.Stopping != nil {
		b.stopping = s.Stopping.Reason
	}
	if s.Live && s.Baseline.Stage == orchestrator.BaselineDue {
		b.rows = append(b.rows, phaseRow{name: "baseline", doing: "the project's own checks, before any work"})
	}
	for _, n := range s.Order {
		p := s.View(n)
		if p.Parent == "" {
			b.count.add(p)
		}
		if underWay(p) && p.Parent == "" {
			b.rows = append(b.rows, rowOf(s, p))
		}
		if c := s.View(p.Child); c != nil && c.Parent == n && underWay(c) {
			b.rows = append(b.rows, rowOf(s, c))
		}
	}
	if p := s.View(s.Resting()); p != nil {
		row := rowOf(s, p)
		row.doing = "asking the tests what there was no time for"
		b.rows = append(b.rows, row)
	}
	if s.Final.Stage == orchestrator.FinalDeliver {
		b.rows = append(b.rows, phaseRow{name: "result", doing: "bringing it into your repository"})
	}
	for _, cp := range s.Open {
		if !s.Live || s.Stopping != nil {
			break // answers wait for the next process
		}
		b.Questions = append(b.Questions, questionOf(s, *cp))
	}
	slices.SortFunc(b.Questions, func(x, y question) int {
		return cmp.Or(x.Checkpoint.OpenedAt.Compare(y.Checkpoint.OpenedAt), cmp.Compare(len(x.Checkpoint.ID), len(y.Checkpoint.ID)), cmp.Compare(x.Checkpoint.ID, y.Checkpoint.ID))
	})
	return b
}

func (c *phaseCount) add(p *orchestrator.View) {
	switch p.Outcome {
	case work.PhaseDone:
		c.done++
		return
	case work.PhaseFailed:
		c.failed++
		return
	case work.PhaseSkipped:
		c.skipped++
		return
	case work.PhaseCancelled:
		c.cancelled++
		return
	}
	switch p.Stage {
	case orchestrator.StageWaiting, orchestrator.StageReady:
		c.waiting++
	case orchestrator.StageAsked:
		c.asked++
	default:
		c.running++
	}
}

// underWay says that p has begun and is not over. A phase that is only asked
// about has not begun.
func underWay(p *orchestrator.View) bool {
	switch p.Stage {
	case orchestrator.StageWaiting, orchestrator.StageReady, orchestrator.StageFinished:
		return false
	case orchestrator.StageAsked:
		return p.Last != ""
	}
	return true
}

func rowOf(s *orchestrator.State, p *orchestrator.View) phaseRow {
	r := phaseRow{number: p.Number, name: p.Plan.Name, child: p.Parent != "", spent: spentOf(p.Usage)}
	spent := p.Spent
	if p.Begun && !p.Kind.Free() {
		spent++
	}
	r.iteration = fmt.Sprintf("%d/%d", spent, p.Budget)
	if p.Kind.Free() {
		r.iteration += "+"
	}
	r.doing = doingOf(s, p)
	switch {
	case p.Stage == orchestrator.StageOutage && p.Outage != nil:
		r.until, r.trouble = p.Outage.Until, true
	case p.Stage == orchestrator.StageAsked:
		r.trouble = true
	}
	return r
}

func doingOf(s *orchestrator.State, p *orchestrator.View) string {
	switch p.Stage {
	case orchestrator.StageAsked:
		return "waits for you"
	case orchestrator.StageFolder:
		return "its folder is being made"
	case orchestrator.StageIterate:
		switch {
		case !p.Begun:
			return "begins"
		case p.Kind == orchestrator.IterationResolve:
			return "the agent resolves a conflict"
		case p.Kind == orchestrator.IterationFix:
			return "the agent fixes what reviewers found"
		}
		return "the agent works"
	case orchestrator.StageOutage:
		return "the provider is out"
	case orchestrator.StageSub:
		return "sub-phase " + p.Child
	case orchestrator.StageVerify:
		return "verify"
	case orchestrator.StageEvidence:
		return "verify, with the evidence as it was"
	case orchestrator.StageControl:
		return "asking the tests what the proof is worth"
	case orchestrator.StageReview:
		return narrate.Reviewing(p)
	case orchestrator.StageArbiter:
		return "the arbiter decides"
	case orchestrator.StageTurn:
		if s.Merger != "" && s.Merger != p.Number {
			return "proven; merges after " + s.Merger
		}
		return "merging"
	case orchestrator.StageTrain:
		return "verify of a batch of merged phases"
	case orchestrator.StageReverify:
		return "verify of the merged tree"
	case orchestrator.StageMerged, orchestrator.StageLand, orchestrator.StageLanded:
		return "merging"
	}
	return "between two steps"
}

func questionOf(s *orchestrator.State, cp work.Checkpoint) question {
	q := question{Checkpoint: cp, from: s.Spec.Base.Commit, to: s.Head, About: "the run so far"}
	p := s.View(cp.Phase)
	if p != nil && p.Last == "" && p.Parent != "" {
		p = s.View(p.Parent)
	}
	if p != nil && p.Last != "" {
		q.from, q.to, q.About = p.Base, approval.JudgedCommit(p, cp), "phase "+p.Number
	}
	if pt := gates.Point(cp.Kind); pt == gates.PointFinal || pt == gates.PointPromote || pt == gates.PointEvidence {
		q.About = "the result"
	}
	if q.from == "" || q.to == "" {
		q.from, q.to = "", ""
	}
	return q
}

// changed says that there is a change to look at.
func (q question) changed() bool { return q.from != q.to }

// act is an agent's current action in one line.
func act(a work.Activity) string {
	text := text.OneLine(a.Text, 400)
	switch a.Kind {
	case "tool":
		return "» " + text
	case "verify", "setup", "retry":
		return a.Kind + ": " + text
	}
	return strings.TrimSpace(text)
}
