package gates

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
)

// Halt is one point at which a policy waits for a person.
type Halt struct {
	Point Point  `json:"point"`
	When  string `json:"when"` // ends the sentence "it stops …"
}

// Explanation says in words what a policy does.
type Explanation struct {
	Stops []Halt `json:"stops"` // what will stop you; never nil
	// Alone is what Forge does by itself at points where others ask, and
	// within which bounds; whole sentences, never nil.
	Alone []string `json:"alone"`
}

// Explain puts a policy into words.
func Explain(p Policy) Explanation {
	p = Meet(p, p)
	e := Explanation{Stops: []Halt{}, Alone: []string{}}
	for _, axis := range axesOf(p) {
		pt := Point(axis.Name)
		if !axis.Gate || p.At(pt) == Auto {
			continue
		}
		// The rest of the types says what they say, too.
		if pt.isCheckpoint() && pt != AnyCheckpoint && p.At(AnyCheckpoint) == Human {
			continue
		}
		if pt.isDoubt() && p.At(PointEvidence) == Human {
			continue
		}
		e.Stops = append(e.Stops, Halt{Point: pt, When: p.when(pt)})
	}
	if when := p.Looks.when(); when != "" && p.At(PointPhaseTransition) == Auto {
		e.Stops = append(e.Stops, Halt{Point: PointPhaseTransition, When: when})
	}
	if p.At(PointStale) == Auto {
		e.Alone = append(e.Alone, "A phase without progress is told once to change its course, and then fails.")
	}
	if p.At(PointQuestion) == Auto {
		e.Alone = append(e.Alone, "An agent that asks a question is told to decide by itself and to write down what it assumed; an issue is then held in review.")
	}
	if p.At(PointBlocker) == Auto {
		e.Alone = append(e.Alone, "An agent that needs a person, a credential, access or a decision is told once to work around it; then its phase fails.")
	}
	if p.At(PointFindings) == Auto {
		e.Alone = append(e.Alone, "Findings that no fix resolves fail their phase.")
	}
	e.Alone = append(e.Alone, p.confirms()...)
	e.Alone = append(e.Alone, fmt.Sprintf("Understanding one issue or job may cost %s; models from %s to %s are asked.",
		text.USD(p.BudgetUSD), orNone(string(p.TierFloor)), orNone(string(p.TierCeiling))))
	return e
}

func (p Policy) when(pt Point) string {
	if pt.isCheckpoint() && pt != AnyCheckpoint {
		switch pt {
		case PointPhaseTransition:
			return "before the work of a phase is merged"
		case PointDeliverable:
			return "when the agent hands over a deliverable"
		case PointFinalOutput:
			return "before the final output is handed over"
		case PointQuestion:
			return "when the agent asks a question"
		}
		return fmt.Sprintf("at each checkpoint of type %q", text.Clip(strings.TrimPrefix(string(pt), checkpointPrefix), mostQuoted))
	}
	switch pt {
	case PointPlanInitial:
		return "after the first plan of a job, before any work"
	case PointPlanLater:
		return "after each later plan of a job"
	case PointTactical:
		return "after each round of a job's work"
	case PointFinal:
		return "before the result lands, or a job is completed"
	case PointPhaseStart:
		if p.StartUnasked == StartLowRisk {
			return "before a phase starts, unless it is readonly, marked autonomous, or follows small changes only"
		}
		return "before each phase starts"
	case PointIteration:
		return "before each iteration"
	case PointStale:
		return "when a phase makes no progress"
	case PointSubPhase:
		return "when the agent wants a sub-phase"
	case PointDecompose:
		return "when a phase is to be split into parts"
	case PointTries:
		return "when several tries of a phase are proven and one is to be taken"
	case PointBlocker:
		return "when the agent says that it needs a person, a credential, access or a decision"
	case AnyCheckpoint:
		for named := range p.Gates {
			if named != AnyCheckpoint && named.isCheckpoint() && p.At(named) == Auto {
				return "at each checkpoint of a type that is not named auto"
			}
		}
		return "at each checkpoint, of whatever type"
	case PointIntent:
		return "when Forge has understood what an issue wants"
	case PointContext:
		return "when Forge has gathered what an issue touches"
	case PointAction:
		return "when Forge has chosen what to do about an issue"
	case PointFindings:
		return "when a review found what no fix resolves"
	case PointEvidence:
		return "before a result lands whose proof is in doubt: weaker tests, lines that no test needs, code that asks whether it is tested" + p.doubtsLet()
	case PointPromote:
		return "before an issue moves to done"
	}
	if pt.isDoubt() {
		return "before a result lands whose proof is in doubt for " + strings.TrimPrefix(string(pt), doubtPrefix)
	}
	return "at " + text.Clip(string(pt), mostQuoted)
}

// doubtsLet names the kinds of doubt that pass although the others wait.
func (p Policy) doubtsLet() string {
	var let []string
	for _, pt := range DoubtPoints() {
		if p.At(pt) == Auto {
			let = append(let, strings.TrimPrefix(string(pt), doubtPrefix))
		}
	}
	if len(let) == 0 {
		return ""
	}
	return "; " + strings.Join(let, ", ") + " alone is said and passes"
}

// confirms says within which bounds the targets are confirmed without a
// person.
func (p Policy) confirms() []string {
	var alone, kept []string
	for _, target := range Targets() {
		switch {
		case p.At(target) == Auto && !p.reserves(consentFor(target)):
			alone = append(alone, string(target))
		case p.At(target) == Auto:
			kept = append(kept, string(target))
		}
	}
	var out []string
	if len(kept) > 0 {
		out = append(out, fmt.Sprintf("It still asks for your consent to: %s.", strings.Join(kept, ", ")))
	}
	if len(alone) == 0 {
		return out
	}
	if p.ConfidenceFloor > 1 {
		return append(out, "No confidence is high enough to go on without you.")
	}
	out = append(out, fmt.Sprintf("If it is at least %.0f %% sure what an issue %s, it does not ask.", p.ConfidenceFloor*100, understood(alone)))
	if !slices.Contains(alone, string(PointAction)) {
		return out
	}
	bound := fmt.Sprintf("It asks before an action that is harder to undo than %s, whose regret is above %s", orNone(string(p.IrreversibilityMax)), orNone(string(p.RegretMax)))
	if p.PauseOnRiskAmplifier {
		bound += ", that is riskier than it claims"
	}
	return append(out, bound+", or whose kind is not "+orNone(strings.Join(p.ActionKinds, " or "))+".")
}

// understood says of targets what of an issue they are.
func understood(targets []string) string {
	verbs := map[string]string{string(PointIntent): "wants", string(PointContext): "touches", string(PointAction): "needs"}
	var said []string
	for _, t := range targets {
		said = append(said, verbs[t])
	}
	if n := len(said); n > 1 {
		return strings.Join(said[:n-1], ", ") + " and " + said[n-1]
	}
	return strings.Join(said, "")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
