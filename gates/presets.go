package gates

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

//go:embed presets.toml
var presetData string

// The presets that the program itself names.
const (
	PresetInteractive    = "interactive"
	PresetFull           = "full"
	PresetPartial        = "partial"
	PresetReview         = "review"
	PresetSemiSupervised = "semi_supervised"
	PresetPlanThenReview = "plan_then_review"
	presetBottom         = "default" // an old name: what extends nothing builds on it
)

// Levels lists the five presets that people choose from first, from free to
// conservative.
func Levels() []string { return []string{"full", "review", "partial", "guided", "dependent"} }

// PresetInfo is what a person needs to choose a preset.
type PresetInfo struct {
	Name string
	Use  string // when to use it, in one sentence
	Own  bool   // a project's own, not built in
	Now  string // of an old name: the preset to write instead; "" = it is shown
}

// Preset returns the built-in policy of a name; ok is false when there is none.
// Every call returns a policy of its own.
func Preset(name string) (p Policy, ok bool) { return Catalogue{}.Preset(name) }

// Bottom is what a preset that extends no other builds on: every gate asks.
func Bottom() Policy {
	p, _ := Preset(presetBottom)
	return p
}

// Presets lists the built-in presets in the order in which they are shown.
func Presets() []PresetInfo { return Catalogue{}.List() }

// Catalogue is every preset that a word may name: the built-in ones and a
// project's own. The zero value has the built-in ones alone.
type Catalogue struct{ own []namedPolicy }

type namedPolicy struct {
	PresetInfo
	policy Policy
}

// Preset returns the policy of a name; ok is false when there is none. Every
// call returns a policy of its own.
func (c Catalogue) Preset(name string) (p Policy, ok bool) {
	for _, list := range [][]namedPolicy{builtIn(), c.own} {
		for _, e := range list {
			if e.Name == name {
				return e.policy.clone(), true
			}
		}
	}
	return Policy{}, false
}

// List lists the presets in the order in which they are shown, a project's own
// last and sorted. Old names are not among them.
func (c Catalogue) List() []PresetInfo {
	var out []PresetInfo
	for _, e := range slices.Concat(builtIn(), c.own) {
		if e.Now == "" {
			out = append(out, e.PresetInfo)
		}
	}
	return out
}

// OldName says what to write in place of an old name of a built-in preset; ""
// when name is none. The policy of an old name is what it was.
func OldName(name string) (now string) {
	for _, e := range builtIn() {
		if e.Name == name {
			now = e.Now
		}
	}
	return now
}

// OldNameHint is what a person is told who wrote an old name; "" when name is
// none.
func OldNameHint(name string) string {
	now := OldName(name)
	switch {
	case now == "":
		return ""
	case name == presetBottom:
		return fmt.Sprintf("preset %s is an old name: write %s, which is what a run has by itself, or manual, where every gate asks", name, now)
	}
	return fmt.Sprintf("preset %s is an old name: write %s, which is the same", name, now)
}

// Names lists the names of List.
func (c Catalogue) Names() []string {
	var out []string
	for _, p := range c.List() {
		out = append(out, p.Name)
	}
	return out
}

// Nearest is the preset that a mistyped name most likely meant, "" if none; for
// an old name it is the one to write instead.
func (c Catalogue) Nearest(name string) string {
	var known []string
	for _, e := range slices.Concat(c.own, builtIn()) {
		known = append(known, e.Name)
	}
	near := Nearest(name, known)
	return cmp.Or(OldName(near), near)
}

// didYouMean is the way out of a name that is no preset's.
func (c Catalogue) didYouMean(name string) string {
	all := "use one of " + strings.Join(c.Names(), ", ")
	if near := c.Nearest(name); near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, all)
	}
	return all
}

// Identical lists the other presets that have the same axes.
func (c Catalogue) Identical(name string) []string {
	p, ok := c.Preset(name)
	if !ok {
		return nil
	}
	var out []string
	for _, other := range c.List() {
		if q, _ := c.Preset(other.Name); other.Name != name && len(Compare(p, q)) == 0 {
			out = append(out, other.Name)
		}
	}
	return out
}

func (p Policy) clone() Policy {
	p.Gates = maps.Clone(p.Gates)
	p.Consent, p.ActionKinds, p.Contexts = slices.Clone(p.Consent), slices.Clone(p.ActionKinds), slices.Clone(p.Contexts)
	return p
}

// builtIn reads the embedded file once: it cannot change, and a line of forge
// decide must not pay for it again. With a mistake in it there are no presets,
// so that every name is refused; a test keeps it from being made.
var builtIn = sync.OnceValue(func() []namedPolicy {
	list, err := readPresets(presetData)
	if err != nil {
		return nil
	}
	return list
})

// readPresets takes nothing for granted: one preset with a mistake, and there
// are none.
func readPresets(data string) ([]namedPolicy, error) {
	var file map[string]any
	if _, err := toml.Decode(data, &file); err != nil {
		return nil, fmt.Errorf("read presets: %w", err)
	}
	entries, ok := file["preset"].([]map[string]any)
	if !ok || len(file) != 1 {
		return nil, errors.New("read presets: there is something beside entries of preset")
	}
	var defs []Definition
	now := map[string]string{}
	for i, table := range entries {
		name, _ := table["name"].(string)
		use, _ := table["use"].(string)
		extends, given := table["extends"].(string)
		if _, said := table["extends"]; name == "" || use == "" || said != given {
			return nil, fmt.Errorf("read presets: entry %d (%q) has no name, or no use, or extends no name", i+1, name)
		}
		if now[name], given = table["now"].(string); !given && table["now"] != nil {
			return nil, fmt.Errorf("read presets: entry %d (%q) is an old name of nothing", i+1, name)
		}
		for _, key := range []string{"name", "use", "extends", "now"} {
			delete(table, key)
		}
		defs = append(defs, Definition{Name: name, Use: use, Extends: extends, Axes: table})
	}
	out, problems := define(defs, nil, func(name string) (Policy, bool) { return Policy{}, name == "" })
	if len(problems) > 0 {
		return nil, fmt.Errorf("read preset %s: %s", problems[0].Name, problems[0].Problem)
	}
	for i := range out {
		out[i].Now = now[out[i].Name]
	}
	return out, nil
}
