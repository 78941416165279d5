package web

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/factory/web/picture"
	texts "forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// runView is a run as its page shows it.
type runView struct {
	Run
	Level         string
	Lasting       time.Duration // since it began; until its end where it is over
	Branch        string
	Base          string
	Reason        string
	Tokens        int64
	Unknown       int // calls whose money nobody knows
	UnknownTokens int
	Graph         template.HTML
	HeldUp        string // which phase the others wait for, and what comes after it
	Phases        []phaseView
	Findings      []work.Finding
	InDoubt       []work.Doubt // about the proof of what landed
	Landing       []work.PageShown
	Assumed       []string // what agents decided without knowing
	FollowUps     []string // what people who approved left for later
	Delivery      *work.Delivery
	Job           *jobView
	Issue         int64
	Sandbox       string
}

// WaysOut explains what is in doubt, each kind once.
func (r runView) WaysOut() []work.ProofLine { return work.WaysOut(r.InDoubt) }

// Proofs are the phases that there is a proof of.
func (r runView) Proofs() []phaseView {
	return slices.DeleteFunc(slices.Clone(r.Phases), func(p phaseView) bool { return !p.Record.Known() })
}

// jobView is what is known of a job beside its run.
type jobView struct {
	Description string
	Expert      string
	Documents   []string
	Sources     []string
	Claim       *work.Completion
}

// phaseView is a line of the table of phases.
type phaseView struct {
	Number, Name, Type string
	Repository         string // "" = the one of the plan
	State              string // a word
	Look               picture.State
	Why                string
	Proof              work.Proof
	Sensitive          string
	Agent, Model       string
	Iteration          int
	Attempt            int
	Spent, Budget      int
	Fixes              int
	CostUSD            *float64
	Tokens             int64
	UnknownTokens      int
	Pull               *pullView
	Files              int
	Running            bool
	Reviews            []Review
	Record             work.ProofRecord // its last proof
	Said               string           // one line of its last iteration, where it failed
	Kept               bool             // its work was not merged, and can be taken
	Told               []toldView       // to its agent, oldest first
	Took               time.Duration    // while it was under way; until now where it is
}

// Review is what one specialist says of a phase.
type Review struct {
	Name    string       `json:"specialist"`
	Verdict work.Verdict `json:"verdict"`
	Why     string       `json:"why,omitempty"`
	Gating  bool         `json:"gating"`
}

// Reviewed says that somebody reviews one of its phases.
func (r runView) Reviewed() bool {
	return slices.ContainsFunc(r.Phases, func(p phaseView) bool { return len(p.Reviews) > 0 })
}

// viewRun makes the page's values of a run's state.
func viewRun(s *orchestrator.State, row Run, p Project, now time.Time) runView {
	out := runView{
		Run: row, Level: s.Spec.Policy.Preset, Branch: s.Spec.Branch, Base: s.Spec.Base.Commit, Reason: s.Reason,
		Tokens: s.Ledger.Tokens, Unknown: s.Ledger.UnknownUSD, UnknownTokens: s.Ledger.UnknownTokens, Delivery: s.Delivery, Sandbox: s.Sandbox, InDoubt: s.Doubts,
	}
	for _, f := range s.FollowUps {
		out.FollowUps = append(out.FollowUps, f.String())
	}
	for _, a := range s.Assumed {
		out.Assumed = append(out.Assumed, a.String())
	}
	driven := row.State == "running"
	end := now
	if !driven {
		end = row.Updated
	}
	if !row.Created.IsZero() {
		out.Lasting = end.Sub(row.Created)
	}
	out.CostUSD = s.Ledger.Cost()
	if s.Spec.Issue != nil {
		out.Issue = s.Spec.Issue.ID
	}
	if j := s.Spec.Job; j != nil {
		out.Job = &jobView{Description: j.Description, Expert: j.Expert, Documents: j.Documents, Sources: j.Sources}
		if s.Job != nil {
			out.Job.Claim = s.Job.Claim
		}
	}
	for _, n := range s.Order {
		ph := s.View(n)
		view := viewPhase(ph, p.HostURL, driven)
		view.Took, view.Told = ph.Time.At(now), toldOf(s, n, driven)
		if s.Resting() == n {
			view.State, view.Look = "asking the tests", picture.Running
		}
		out.Phases = append(out.Phases, view)
		out.Findings = append(out.Findings, FindingsOf(ph)...)
	}
	chain := s.Chain(now)
	if s.Outcome.Final() {
		chain = orchestrator.Chain{}
	}
	out.HeldUp = heldUp(chain)
	out.Graph = picture.Graph("Phases of "+s.Run, texts.Number(len(s.Order), "phase")+", from left to right.", graphNodes(s, driven, chain.Phases))
	return out
}

func viewPhase(p *orchestrator.View, host string, driven bool) phaseView {
	said := ""
	if n := len(p.History); n > 0 && p.Outcome == work.PhaseFailed {
		said = texts.OneLine(p.History[n-1], 300)
	}
	return phaseView{
		Said: said, Kept: p.Outcome == work.PhaseFailed && p.Kept(),
		Number: p.Number, Name: p.Plan.Name, Repository: p.Plan.Repository, Type: p.Plan.PhaseType, State: p.Word(driven), Look: lookOf(p, driven), Why: whyOf(p), Proof: p.Proof, Sensitive: p.Set.Sensitive,
		Agent: p.Set.Agent, Model: p.Model(), Iteration: p.Iteration, Attempt: max(p.Tries[p.Iteration], 1), Spent: p.Spent, Budget: p.Budget,
		Fixes: p.Review.Attempts, CostUSD: p.Usage.Cost(), Tokens: p.Usage.Tokens, UnknownTokens: p.Usage.UnknownTokens, Pull: pullOf(p, host), Files: p.Files, Running: p.Begun, Reviews: ReviewsOf(p), Record: p.Record,
	}
}

// ReviewsOf are the verdicts on a phase that there are by now, by specialist.
func ReviewsOf(p *orchestrator.View) []Review {
	var out []Review
	gating := map[string]bool{}
	for _, r := range p.Set.Reviewers {
		gating[r.Name] = r.Gating
	}
	for _, name := range slices.Sorted(maps.Keys(p.Review.Of)) {
		o := p.Review.Of[name]
		if o.Verdict != "" {
			out = append(out, Review{Name: name, Verdict: o.Verdict, Why: o.Why, Gating: gating[name]})
		}
	}
	return out
}

// FindingsOf are what the reviews of a phase found, by specialist.
func FindingsOf(p *orchestrator.View) []work.Finding {
	var out []work.Finding
	for _, name := range slices.Sorted(maps.Keys(p.Review.Of)) {
		for _, f := range p.Review.Of[name].Findings {
			if f.Specialist == "" {
				f.Specialist = name
			}
			out = append(out, f)
		}
	}
	return out
}

// lookOf is how a phase is drawn, see View.Word. What is not known looks like
// waiting.
func lookOf(p *orchestrator.View, driven bool) picture.State {
	switch p.Outcome {
	case work.PhaseDone:
		return picture.Done
	case work.PhaseFailed:
		return picture.Failed
	case work.PhaseSkipped, work.PhaseCancelled:
		return picture.Skipped
	}
	switch p.Stage {
	case orchestrator.StageWaiting, orchestrator.StageReady:
		return picture.Waiting
	case orchestrator.StageAsked:
		return picture.Asked
	}
	if !driven {
		return picture.Waiting
	}
	return picture.Running
}

func whyOf(p *orchestrator.View) string {
	if said := p.NotRun(); said != "" {
		return said
	}
	text := strings.ReplaceAll(string(p.Reason), "_", " ")
	if p.Cause != "" {
		text += " of " + p.Cause
	}
	if p.Detail != "" {
		if text != "" {
			text += ": "
		}
		text += p.Detail
	}
	return text
}

// mostChained is how many phases of a chain are named; the graph shows all.
const mostChained = 8

// heldUp says what a run waits for last, "" = nothing.
func heldUp(c orchestrator.Chain) string {
	if len(c.Phases) == 0 {
		return ""
	}
	said := "Phase " + c.Phases[0] + " holds the run up"
	if len(c.Phases) > 1 {
		named, more := c.Phases, ""
		if len(named) > mostChained {
			named, more = named[:mostChained], fmt.Sprintf(" and %d more", len(c.Phases)-mostChained)
		}
		said += ": the longest chain that is left is " + strings.Join(named, " → ") + more
	}
	if c.Left > 0 {
		said += ", about " + texts.Took(c.Left) + " by what such phases took"
	}
	return said + "."
}

// graphNodes are the phases with what each needs; the phases of a job follow
// one another, and a sub-phase hangs on its parent. chain is the longest that is left.
func graphNodes(s *orchestrator.State, driven bool, chain []string) []picture.Node {
	var out []picture.Node
	last := ""
	for _, n := range s.Order {
		p := s.View(n)
		node := picture.Node{
			ID: n, Label: p.Plan.Name, State: lookOf(p, driven), Word: p.Word(driven), Href: "#phase-" + n, Needs: p.Plan.DependsOn,
			Note: fmt.Sprintf("%d of %d iterations", p.Spent, p.Budget), Long: slices.Contains(chain, n),
		}
		switch {
		case p.Parent != "":
			node.Needs, node.Sub = []string{p.Parent}, true
		case s.Job != nil && last != "":
			node.Needs = []string{last}
		}
		if p.Parent == "" {
			last = n
		}
		out = append(out, node)
	}
	return out
}
