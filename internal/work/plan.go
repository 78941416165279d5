package work

import (
	"fmt"
	"strings"

	"forge/internal/text"
)

// Plan is the content of phases.json: the phases of one piece of work and
// what each depends on.
type Plan struct {
	SpecHash    string  `json:"spec_hash,omitempty"`
	GeneratedAt string  `json:"generated_at,omitempty"`
	Phases      []Phase `json:"phases"`
}

// Phase is one node of a plan. Zero values mean "take the project's default";
// the resolved values are in PhaseSettings.
type Phase struct {
	Number               string         `json:"number"`
	Name                 string         `json:"name"`
	Promise              string         `json:"promise"`
	Budget               int            `json:"budget,omitempty"` // iterations
	Reasoning            string         `json:"reasoning,omitempty"`
	DependsOn            []string       `json:"depends_on,omitempty"`
	Skills               []string       `json:"skills,omitempty"`
	PermissionMode       PermissionMode `json:"permission_mode,omitempty"`
	PhaseType            string         `json:"phase_type,omitempty"`
	Kind                 PhaseKind      `json:"kind,omitempty"`
	Repository           string         `json:"repository,omitempty"` // that it works in; "" = the one of the plan
	Agent                string         `json:"agent,omitempty"`
	Fallback             []string       `json:"fallback,omitempty"` // agents that go on while Agent's provider is out
	Model                string         `json:"model,omitempty"`
	Level                string         `json:"level,omitempty"` // of its own: it asks at least where that does
	Reviews              []string       `json:"reviews,omitempty"`
	Criteria             []Acceptance   `json:"criteria,omitempty"` // what it is held against
	Verify               []string       `json:"verify,omitempty"`
	Tries                int            `json:"tries,omitempty"`       // side by side, of which one is taken
	TryAgents            []string       `json:"try_agents,omitempty"`  // who makes them, in turn: AGENT or AGENT:MODEL
	TriesUntil           string         `json:"tries_until,omitempty"` // best or first
	Council              *bool          `json:"council,omitempty"`     // whether it has one; nil = as configured
	MayChange            []string       `json:"may_change,omitempty"`
	ContextLimit         string         `json:"context_limit,omitempty"`
	IterationTimeoutSecs int            `json:"iteration_timeout_secs,omitempty"`
}

// PermissionMode says what the agent of a phase may do without being asked.
type PermissionMode string

const (
	PermissionStandard   PermissionMode = "standard"
	PermissionAutonomous PermissionMode = "autonomous" // same rights, starts unasked
	PermissionReadonly   PermissionMode = "readonly"
)

// PermissionModes lists every mode, in the order shown to users. "strict" is
// deprecated and mapped by config.
var permissionModes = []PermissionMode{PermissionStandard, PermissionAutonomous, PermissionReadonly}

// PhaseKind tells planning phases from doing phases.
type PhaseKind string

const (
	KindTactical  PhaseKind = "tactical"
	KindStrategic PhaseKind = "strategic"
)

// PhaseTypes are the words a phase_type may take.
func PhaseTypes() []string { return []string{"scaffold", "implement", "test", TypeRefactor, "fix"} }

// TypeRefactor is the type of a phase that is to change no behaviour.
const TypeRefactor = "refactor"

// PermissionModes lists the modes a phase may name.
func PermissionModes() []PermissionMode { return append([]PermissionMode(nil), permissionModes...) }

// MaxNameBytes bounds a phase's name; it becomes part of branch names and of
// every line of the live view.
const MaxNameBytes = 200

// MaxPromiseBytes bounds a promise, which an agent has to repeat to the letter.
const MaxPromiseBytes = 1000

// Problem is one thing wrong with a file. Path addresses the place inside it
// ("phases[3].budget"), so that a loader can find the line.
type Problem struct {
	Path string
	What string
	Fix  string
}

func (p Problem) String() string {
	s := p.What
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Fix != "" {
		s += " (" + p.Fix + ")"
	}
	return s
}

var phaseNumber = text.Lazy(`^[0-9]+(\.[0-9]+)?$`)

// Check returns everything wrong with the phases one by one, and with their
// promises and numbers taken together. Dependencies are the graph's business.
func (p Plan) Check() []Problem {
	var out []Problem
	add := func(i int, field, what, fix string) {
		path := fmt.Sprintf("phases[%d]", i)
		if field != "" {
			path += "." + field
		}
		out = append(out, Problem{Path: path, What: what, Fix: fix})
	}
	if len(p.Phases) == 0 {
		return []Problem{{Path: "phases", What: "the plan has no phases", Fix: "add at least one phase with number, name and promise"}}
	}
	promises := map[string]string{}
	for i, ph := range p.Phases {
		if !phaseNumber().MatchString(ph.Number) {
			add(i, "number", fmt.Sprintf("%q is not a phase number", text.Clip(ph.Number, mostQuoted)), `write digits, or digits.digits, such as "05" or "05.1"`)
		}
		for _, pr := range checkName(ph.Name) {
			add(i, "name", pr.What, pr.Fix)
		}
		switch trimmed := strings.TrimSpace(ph.Promise); {
		case trimmed == "":
			add(i, "promise", "the promise is empty", "name the words the agent says when the phase is done")
		case len(ph.Promise) > MaxPromiseBytes:
			add(i, "promise", fmt.Sprintf("the promise has %d bytes", len(ph.Promise)), fmt.Sprintf("keep it under %d", MaxPromiseBytes))
		case strings.ContainsAny(ph.Promise, "<>"):
			add(i, "promise", "the promise contains < or >", "write it without angle brackets: it stands inside a tag")
		case text.Hides(ph.Promise):
			add(i, "promise", "the promise contains a control character", "write it on one line of printable text")
		default:
			if first, ok := promises[trimmed]; ok {
				add(i, "promise", fmt.Sprintf("the promise %q is also that of phase %s", text.Clip(trimmed, mostQuoted), first), "give each phase its own words")
			} else {
				promises[trimmed] = ph.Number
			}
		}
		if ph.Budget < 0 {
			add(i, "budget", fmt.Sprintf("a budget of %d iterations", ph.Budget), "use 1 or more, or leave it out for the default")
		}
		if ph.IterationTimeoutSecs < 0 {
			add(i, "iteration_timeout_secs", "a negative time", "use seconds greater than 0")
		}
		if ph.PermissionMode != "" && !known(permissionModes, ph.PermissionMode) {
			add(i, "permission_mode", fmt.Sprintf("unknown permission mode %q", text.Clip(string(ph.PermissionMode), mostQuoted)), "use standard, autonomous or readonly")
		}
		if ph.PhaseType != "" && !known(PhaseTypes(), ph.PhaseType) {
			add(i, "phase_type", fmt.Sprintf("unknown phase type %q", text.Clip(ph.PhaseType, mostQuoted)), "use "+strings.Join(PhaseTypes(), ", "))
		}
		if ph.Kind != "" && ph.Kind != KindTactical && ph.Kind != KindStrategic {
			add(i, "kind", fmt.Sprintf("unknown kind %q", text.Clip(string(ph.Kind), mostQuoted)), "use tactical or strategic")
		}
		for _, pr := range checkAcceptance(ph.Criteria) {
			add(i, pr.Path, pr.What, pr.Fix)
		}
		for j, c := range ph.Verify {
			if strings.TrimSpace(c) == "" {
				add(i, fmt.Sprintf("verify[%d]", j), "an empty verify command", "write a shell command or remove it")
			}
		}
	}
	return out
}

func checkName(name string) []Problem {
	switch {
	case strings.TrimSpace(name) == "":
		return []Problem{{What: "the name is empty", Fix: "give the phase a short name"}}
	case len(name) > MaxNameBytes:
		return []Problem{{What: fmt.Sprintf("the name has %d bytes", len(name)), Fix: fmt.Sprintf("keep it under %d", MaxNameBytes)}}
	case strings.ContainsAny(name, `/\`):
		return []Problem{{What: fmt.Sprintf("the name %q contains a path separator", text.Clip(name, mostQuoted)), Fix: "write it without / and \\"}}
	case strings.HasPrefix(name, "-"):
		return []Problem{{What: fmt.Sprintf("the name %q starts with a dash", text.Clip(name, mostQuoted)), Fix: "start it with a letter or digit"}}
	case text.Hides(name):
		return []Problem{{What: fmt.Sprintf("the name %q contains a control character", text.Clip(name, mostQuoted)), Fix: "write it on one line of printable text"}}
	}
	return nil
}

func known[T comparable](all []T, v T) bool {
	for _, a := range all {
		if a == v {
			return true
		}
	}
	return false
}

// mostQuoted is how many bytes of an offending value an error quotes.
const mostQuoted = 60
