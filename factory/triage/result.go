package triage

import (
	"fmt"
	"strings"
	"time"

	"forge/gates"
	"forge/internal/work"
)

// Verdict is how a thread stands when a process leaves it.
type Verdict string

// The verdicts.
const (
	Planned      Verdict = "planned"     // the issue is to be planned, with the result as data
	Decomposed   Verdict = "decomposed"  // its parts are issues of their own
	Waiting      Verdict = "waits"       // for a person
	Later        Verdict = "later"       // the model is away: at Until it is asked again
	Turned       Verdict = "dismissed"   // nobody wants the work
	Interruption Verdict = "interrupted" // to be gone on with
)

// Result is what came of a thread so far.
type Result struct {
	Thread  string   `json:"thread"`
	Verdict Verdict  `json:"verdict"`
	Why     string   `json:"why,omitempty"`   // in one line, unless it is planned
	Hints   []string `json:"hints,omitempty"` // what was confirmed, for whoever plans; data, each of them
	// Checkpoint is what a person is asked; "" = nothing is.
	Checkpoint string            `json:"checkpoint,omitempty"`
	Until      time.Time         `json:"until,omitzero"`
	Children   []int64           `json:"children,omitempty"`
	Risk       gates.RiskProfile `json:"risk,omitzero"` // what the work has gathered
	USD        *float64          `json:"usd"`           // nil = unknown
	Post       bool              `json:"requires_post_review,omitempty"`
}

// Result is how the thread stands.
func (s *State) Result() Result {
	r := Result{Thread: s.Thread, Verdict: Interruption, Why: s.Reason, Children: s.Children, Risk: s.Spec.Risk}
	if spent := s.SpentUSD; !s.Silent {
		r.USD = &spent
	}
	switch s.Outcome {
	case work.RunFrozen:
		if r.Verdict = Waiting; s.Open != nil {
			r.Why, r.Checkpoint = s.Open.Question, s.Open.ID
		}
	case work.RunLimit:
		if s.Outage != nil {
			r.Verdict, r.Until = Later, s.Outage.Until
		}
	case work.RunCancelled:
		r.Verdict = Turned
	case work.RunCompleted:
		v := s.Stages[2].Value
		if s.At() < len(s.Stages) || v == nil {
			break // a record that says otherwise plans nothing
		}
		r.Risk, r.Post = s.Spec.Risk.With(v.Irreversibility, v.Regret), v.PostReview
		if r.Verdict, r.Hints = Planned, s.hints(); len(s.Children) > 0 {
			r.Verdict, r.Why = Decomposed, "waits for its parts "+numbers(s.Children)
		}
	}
	return r
}

// hints are what was confirmed, one text for each target. They are data: nothing
// in them is an instruction of Forge.
func (s *State) hints() []string {
	var out []string
	if s.Spec.Who == ByNobody {
		return out
	}
	for i, target := range gates.Targets() {
		st := &s.Stages[i]
		if st.Value == nil {
			continue
		}
		text := fmt.Sprintf("%s (%s): %s", titles[target], st.By, st.Value.brief(target))
		for _, n := range st.Notes {
			text += fmt.Sprintf("%s said: %s\n", n.By, plain(n.Text, 2000))
		}
		out = append(out, strings.TrimSpace(text))
	}
	return out
}

var titles = map[gates.Point]string{
	gates.PointIntent: "What is wanted", gates.PointContext: "What it touches", gates.PointAction: "What is to be done",
}

func (v *Value) brief(target gates.Point) string {
	var b strings.Builder
	b.WriteString(v.Summary + "\n")
	for _, text := range append(append([]string{}, v.Wants...), append(v.Touches, v.Steps...)...) {
		b.WriteString("- " + text + "\n")
	}
	for _, text := range v.Risks {
		b.WriteString("- risk: " + text + "\n")
	}
	if target == gates.PointAction {
		fmt.Fprintf(&b, "(%s)\n", strings.TrimSpace(v.Kind+" "+v.Name))
	}
	return b.String()
}

// Least is the smallest change of the policy under which a stage's value would
// have been let through or, where none was inferred since no model may be
// asked, under which one is asked; ok is false where no policy would do.
func (s *State) Least(target gates.Point) (changes []gates.Change, ok bool) {
	st := s.stage(target)
	switch {
	case st == nil:
		return nil, false
	case st.Value != nil:
		changes, ok = s.Policy.LeastConfirm(target, st.Value.Proposal(target, s.Spec.Risk))
		if !ok || target != gates.PointAction {
			return changes, ok
		}
		more, allowed := s.Policy.LeastAct(occasion)
		return append(changes, more...), allowed
	case s.Nobody == "":
		return nil, false
	case s.Refusal.Gate == gateTier:
		return s.Policy.LeastAsk(s.Spec.Tier)
	case s.Refusal.Gate == gateBudget && s.Spec.Depth <= 1:
		return s.Policy.LeastSpend(s.Refusal.Facts)
	}
	return nil, false // what a parent has left is not this policy's to change
}
