package gates

import (
	"cmp"
	"fmt"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Choice holds every word that may choose a policy. Later fields count only
// when the earlier ones say nothing; all that is said has to be known.
type Choice struct {
	Autonomous         bool   // --autonomous: full
	Level              string // --level, of a run or at resume; "" = not given
	Job                string // what a job was given when it was made; "" = nothing
	Expert             string // the level of the job's expert; "" = none
	ProjectEnabled     *bool  // autonomy.enabled; nil = not written
	ProjectInteractive *bool  // planning.interactive; nil = not written
	ProjectLevel       string // autonomy.level; "" = not written
	Environment        string // FORGE_AUTONOMY; "" = not set
	BuiltIn            string // where nothing is said; "" = interactive
	Ceiling            string // autonomy.ceiling: the built-in preset that bounds the choice; "" = none
	// Presets are those that a word may name; a ceiling is always a built-in
	// one, since a project must not say what bounds it.
	Presets Catalogue
}

// Origin says where a policy comes from.
type Origin struct {
	Source  string   `json:"source"`            // the word's place: "--autonomous", "autonomy.level", "built-in", …
	Preset  string   `json:"preset"`            // what it chose
	Ceiling string   `json:"ceiling,omitempty"` // what it was bounded by
	Bounded []string `json:"bounded,omitempty"` // the axes on which the ceiling took something away
}

func (o Origin) String() string {
	s := fmt.Sprintf("%s (%s)", o.Preset, o.Source)
	if len(o.Bounded) > 0 {
		s += fmt.Sprintf(", bounded by the ceiling %s on %s", o.Ceiling, strings.Join(o.Bounded, ", "))
	}
	return s
}

// ChoiceError is a choice that cannot be followed: an unknown preset, or two
// words in one place that disagree. The problem's path is the word's place.
type ChoiceError struct{ Problem work.Problem }

func (e *ChoiceError) Error() string { return e.Problem.String() }

// Choose is the policy of a run or job: the most specific word wins (flags,
// job, expert, project file, FORGE_AUTONOMY, built-in), and the ceiling bounds
// it. Errors are *ChoiceError.
func Choose(c Choice) (Policy, Origin, error) {
	var autonomous, enabled, planning string
	if c.Autonomous {
		autonomous = PresetFull
	}
	if c.ProjectEnabled != nil {
		enabled = PresetInteractive
		if *c.ProjectEnabled {
			enabled = PresetFull
		}
	}
	if c.ProjectInteractive != nil {
		planning = either(*c.ProjectInteractive, PresetPartial, PresetReview)
	}
	places := [][]word{ // the most specific first; the words of one place have to agree
		{{"--level", c.Level}, {"--autonomous", autonomous}},
		{{"job", c.Job}},
		{{"expert", c.Expert}},
		{{"autonomy.level", c.ProjectLevel}, {"autonomy.enabled", enabled}, {"planning.interactive", planning}},
		{{"FORGE_AUTONOMY", c.Environment}},
		{{"built-in", cmp.Or(c.BuiltIn, PresetInteractive)}},
	}
	var chosen *Policy
	var origin Origin
	for _, place := range places {
		w, p, err := agreed(c.Presets, place)
		if err != nil {
			return Policy{}, Origin{}, err
		}
		if p != nil && chosen == nil {
			chosen, origin = p, Origin{Source: w.place, Preset: w.preset}
		}
	}
	if c.Ceiling == "" {
		return *chosen, origin, nil
	}
	_, ceiling, err := agreed(Catalogue{}, []word{{"autonomy.ceiling", c.Ceiling}})
	if err != nil {
		return Policy{}, Origin{}, err
	}
	origin.Ceiling, origin.Bounded = c.Ceiling, Exceeds(*chosen, *ceiling)
	return Meet(*chosen, *ceiling), origin, nil
}

// word is what one place says; "" is nothing.
type word struct{ place, preset string }

// agreed is the first word that says something and its policy, nil when none
// does. Two presets with the same axes agree.
func agreed(presets Catalogue, words []word) (first word, chosen *Policy, err error) {
	for _, w := range words {
		if w.preset == "" {
			continue
		}
		p, ok := presets.Preset(w.preset)
		if !ok {
			return word{}, nil, &ChoiceError{work.Problem{
				Path: w.place, What: fmt.Sprintf("unknown preset %q", text.Clip(w.preset, mostQuoted)), Fix: presets.didYouMean(w.preset),
			}}
		}
		if chosen == nil {
			first, chosen = w, &p
			continue
		}
		if p.Version() != chosen.Version() {
			return word{}, nil, &ChoiceError{work.Problem{
				Path: first.place,
				What: fmt.Sprintf("%s says %s, %s says %s", first.place, first.preset, w.place, w.preset),
				Fix:  "remove one of them",
			}}
		}
	}
	return first, chosen, nil
}

// ExpertLevel is the level of a built-in expert's jobs; partial for any other.
func ExpertLevel(expert string) string {
	switch expert {
	case "debugger":
		return "full"
	case "validator":
		return PresetReview
	}
	return PresetPartial
}

// Experts lists the built-in experts.
func Experts() []string { return []string{"researcher", "writer", "coder", "validator", "debugger"} }
