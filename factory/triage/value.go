package triage

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
)

// Value is what was inferred, or said by a person, at one target. What belongs
// to another target is empty.
type Value struct {
	Summary    string   `json:"summary"`
	Confidence *float64 `json:"confidence"` // nil = unknown
	// Question is put to a person instead of going on.
	Question string `json:"question,omitempty"`

	Wants   []string `json:"wants,omitempty"`   // intent: what has to be true afterwards
	Touches []string `json:"touches,omitempty"` // context: files, parts, services
	Risks   []string `json:"risks,omitempty"`   // context: what may go wrong

	Kind            string     `json:"kind,omitempty"` // action: one of gates.ActionKinds
	Name            string     `json:"name,omitempty"` // action
	Steps           []string   `json:"steps,omitempty"`
	Irreversibility gates.Risk `json:"irreversibility,omitempty"`
	Regret          gates.Risk `json:"regret_potential,omitempty"`
	RiskAmplifier   *bool      `json:"risk_amplifier,omitempty"`
	PostReview      bool       `json:"requires_post_review,omitempty"`

	// SubIssues are recorded one event each.
	SubIssues []SubIssue `json:"-"`
}

// SubIssue is one part that an action breaks its issue into.
type SubIssue struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Criteria    []string `json:"criteria,omitempty"`
	Level       string   `json:"level,omitempty"` // "" = as its parent
	Needs       []int    `json:"needs,omitempty"` // other parts by their place from 1, all of them before it
}

// The names of standard actions.
const (
	ActionImplement = "implement"
	ActionDecompose = "decompose"
)

// templates are the standard actions and how they rate themselves.
func templates() map[string]gates.RiskProfile {
	low := gates.RiskProfile{Irreversibility: gates.RiskLow, Regret: gates.RiskLow}
	medium := gates.RiskProfile{Irreversibility: gates.RiskMedium, Regret: gates.RiskMedium}
	return map[string]gates.RiskProfile{
		ActionImplement: low, ActionDecompose: low, "fix": low, "refactor": low, "document": low, "test": low,
		"upgrade": {Irreversibility: gates.RiskLow, Regret: gates.RiskMedium},
		"migrate": medium, "remove": medium,
	}
}

// Actions are the names of standard actions.
func Actions() []string {
	var out []string
	for name := range templates() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Proposal is a value as the policy judges it.
func (v Value) Proposal(target gates.Point, so gates.RiskProfile) gates.Proposal {
	p := gates.Proposal{Confidence: v.Confidence, Kind: v.Kind, Name: v.Name}
	if v.Question != "" {
		p.Kind = gates.KindClarification
	}
	if target != gates.PointAction {
		return p
	}
	p.Irreversibility, p.Regret, p.RiskAmplifier, p.PostReview, p.Thread = v.Irreversibility, v.Regret, v.RiskAmplifier, v.PostReview, so
	if v.Kind == "standard" {
		p.Template = templates()[v.Name]
	}
	return p
}

// Decomposes says that the action breaks its issue into others.
func (v Value) Decomposes() bool { return len(v.SubIssues) > 0 }

// tidy keeps a value within what an event may hold.
func (v Value) tidy() Value {
	v.Summary, v.Question = plain(v.Summary, 1500), plain(v.Question, 800)
	v.Kind, v.Name = line(v.Kind, 40), line(v.Name, 80)
	v.Irreversibility, v.Regret = gates.Risk(line(string(v.Irreversibility), 20)), gates.Risk(line(string(v.Regret), 20))
	v.Wants, v.Risks, v.Steps, v.Touches = lines(v.Wants, 8, 200), lines(v.Risks, 8, 200), lines(v.Steps, 12, 200), lines(v.Touches, 20, 120)
	if c := v.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
		v.Confidence = nil
	}
	subs := slices.Clone(v.SubIssues)
	for i, sub := range subs {
		subs[i].Title, subs[i].Description = line(sub.Title, 200), plain(sub.Description, 3000)
		subs[i].Criteria, subs[i].Level = lines(sub.Criteria, 6, 300), line(sub.Level, 64)
		subs[i].Needs = slices.Clone(sub.Needs)
	}
	v.SubIssues = subs
	return v
}

// Problems says why an answer at target cannot be used; none = it can.
// Whether it advances is the policy's business.
func (v Value) Problems(target gates.Point, depth int) []string {
	var out []string
	bad := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if plain(v.Summary, 1500) == "" && plain(v.Question, 800) == "" {
		bad("summary is empty")
	}
	if target != gates.PointAction {
		return out
	}
	if v.Kind == "standard" && !slices.Contains(Actions(), v.Name) {
		bad("name %q is no standard action: use one of %v, or kind improvised", text.Clip(v.Name, 40), Actions())
	}
	if (v.Kind == "standard" && v.Name == ActionDecompose) != v.Decomposes() && v.Question == "" {
		bad("sub_issues and the standard action %s go together", ActionDecompose)
	}
	if !v.Decomposes() {
		return out
	}
	if depth >= MaxDepth {
		bad("this issue is %d levels deep and cannot be broken into further ones", depth)
	}
	if n := len(v.SubIssues); n < 2 || n > MaxSubIssues {
		bad("sub_issues has %d parts, want 2 to %d", n, MaxSubIssues)
	}
	for i, sub := range v.SubIssues {
		if line(sub.Title, 200) == "" {
			bad("sub_issues[%d].title is empty", i)
		}
		for _, need := range sub.Needs {
			if need < 1 || need > i {
				bad("sub_issues[%d] needs part %d, which does not stand before it", i, need)
			}
		}
	}
	return out
}

// Read reads a model's answer, which fits Schema(target).
func Read(answer []byte) (Value, error) {
	var raw struct {
		Value
		SubIssues []SubIssue `json:"sub_issues"`
	}
	if err := json.Unmarshal(answer, &raw); err != nil {
		return Value{}, fmt.Errorf("read the answer: %w", err)
	}
	raw.Value.SubIssues = raw.SubIssues
	return raw.Value, nil
}

// ReadCombined reads the answer to a combined question, in the order of
// gates.Targets.
func ReadCombined(answer []byte) ([]Value, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(answer, &raw); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	var out []Value
	for _, target := range gates.Targets() {
		text, ok := raw[string(target)]
		if !ok {
			return nil, fmt.Errorf("read the answer: it lacks %q", target)
		}
		v, err := Read(text)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// edited is v as a person wants it: words are a JSON object with the fields to
// replace, or else the new summary. A question is answered by it.
func (v Value) edited(target gates.Point, words string) (Value, error) {
	subs := v.SubIssues
	v = v.apart()
	v.Question, v.SubIssues = "", subs
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(words), &fields) != nil {
		if strings.HasPrefix(strings.TrimSpace(words), "{") {
			return v, errors.New("what you wrote is no JSON object")
		}
		if v.Summary = plain(words, 1500); v.Summary == "" {
			return v, errors.New("an edit takes the new text, or a JSON object with the fields to replace")
		}
		return v.settled(target), nil
	}
	for name, raw := range fields {
		into, known := v.field(target, name)
		if !known {
			return v, fmt.Errorf("%s has no field %q to edit", target, text.Clip(name, 40))
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
	}
	return v.settled(target), nil
}

// field is where a field of a target's value is kept.
func (v *Value) field(target gates.Point, name string) (into any, known bool) {
	fields := map[gates.Point]map[string]any{
		gates.PointIntent:  {"wants": &v.Wants},
		gates.PointContext: {"touches": &v.Touches, "risks": &v.Risks},
		gates.PointAction: {
			"kind": &v.Kind, "name": &v.Name, "steps": &v.Steps, "irreversibility": &v.Irreversibility, "regret_potential": &v.Regret,
			"risk_amplifier": &v.RiskAmplifier, "requires_post_review": &v.PostReview, "sub_issues": &v.SubIssues,
		},
	}[target]
	fields["summary"] = &v.Summary
	into, known = fields[name]
	if name == "sub_issues" && known {
		v.SubIssues = nil // the list is replaced, never merged
	}
	return into, known
}

// settled gives what a person wrote the kind that an action has to have.
func (v Value) settled(target gates.Point) Value {
	if target == gates.PointAction && v.Kind == "" {
		v.Kind, v.Name = "improvised", cmp.Or(v.Name, ActionImplement)
	}
	return v
}

// apart is v without anything that another value shares, and without parts.
func (v Value) apart() Value {
	v.Wants, v.Touches, v.Risks, v.Steps = slices.Clone(v.Wants), slices.Clone(v.Touches), slices.Clone(v.Risks), slices.Clone(v.Steps)
	if v.RiskAmplifier != nil {
		amplified := *v.RiskAmplifier
		v.RiskAmplifier = &amplified
	}
	v.SubIssues = nil
	return v
}
