package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
)

// Preset is one preset of forge policy list --output json.
type Preset struct {
	Name    string   `json:"name"`
	Use     string   `json:"use"`
	Level   bool     `json:"level"` // one of the five
	Own     bool     `json:"own"`   // from .forge/policies
	SameAs  []string `json:"same_as"`
	Version string   `json:"version"`
}

// Presets are the presets that there are.
type Presets []Preset

// PresetsOf lists a catalogue.
func PresetsOf(c gates.Catalogue) Presets {
	list := Presets{}
	for _, info := range c.List() {
		policy, _ := c.Preset(info.Name)
		list = append(list, Preset{
			Name: info.Name, Use: info.Use, Level: slices.Contains(gates.Levels(), info.Name), Own: info.Own,
			SameAs: append([]string{}, c.Identical(info.Name)...), Version: policy.Version(),
		})
	}
	return list
}

// Text is the list for a person: the levels, the other presets, those of the project.
func (list Presets) Text() string {
	var body strings.Builder
	for _, group := range []struct {
		head string
		in   func(Preset) bool
	}{
		{"LEVEL", func(l Preset) bool { return l.Level }},
		{"PRESET", func(l Preset) bool { return !l.Level && !l.Own }},
		{"OF THIS PROJECT", func(l Preset) bool { return l.Own }},
	} {
		var rows [][]string
		for _, l := range list {
			if group.in(l) {
				use := text.FirstLine(l.Use, 200)
				if len(l.SameAs) > 0 {
					use = strings.TrimSpace(use + " Same as " + strings.Join(l.SameAs, ", ") + ".")
				}
				rows = append(rows, []string{l.Name, use})
			}
		}
		if len(rows) == 0 {
			continue
		}
		if body.Len() > 0 {
			body.WriteString("\n")
		}
		body.WriteString(text.Table([]string{group.head, "WHEN TO USE IT"}, rows))
	}
	return text.Harmless(body.String())
}

// Explained is one preset of forge policy explain --output json: what stops a
// person under it.
type Explained struct {
	Name   string   `json:"name"`
	Use    string   `json:"use"`
	SameAs []string `json:"same_as"`
	gates.Explanation
}

// Explanations are presets explained.
type Explanations []Explained

// ExplanationsOf explains presets of a catalogue, all of them where none is named;
// find says what a name stands for.
func ExplanationsOf(c gates.Catalogue, names []string, find func(name string) (gates.Policy, error)) (Explanations, error) {
	if len(names) == 0 {
		names = c.Names()
	}
	use := map[string]string{}
	for _, info := range c.List() {
		use[info.Name] = info.Use
	}
	list := Explanations{}
	for _, name := range names {
		policy, err := find(name)
		if err != nil {
			return nil, err
		}
		list = append(list, Explained{
			Name: name, Use: cmp.Or(use[name], gates.OldNameHint(name)), SameAs: append([]string{}, c.Identical(name)...), Explanation: gates.Explain(policy),
		})
	}
	return list, nil
}

// Text explains for a person; of presets that are the same one is explained.
func (list Explanations) Text() string {
	var body strings.Builder
	said := map[string]bool{}
	for i, e := range list {
		if i > 0 {
			body.WriteString("\n")
		}
		body.WriteString(strings.TrimSuffix(e.Name+": "+text.FirstLine(e.Use, 200), ": ") + "\n")
		said[e.Name] = true
		if at := slices.IndexFunc(e.SameAs, func(name string) bool { return said[name] }); at >= 0 {
			fmt.Fprintf(&body, "  As %s.\n", e.SameAs[at])
			continue
		}
		body.WriteString("  What will stop you:\n")
		if len(e.Stops) == 0 {
			body.WriteString("    nothing\n")
		}
		for _, s := range e.Stops {
			fmt.Fprintf(&body, "    %s (%s)\n", s.When, s.Point)
		}
		for _, sentence := range e.Alone {
			fmt.Fprintf(&body, "  %s\n", sentence)
		}
	}
	return text.Harmless(body.String())
}
