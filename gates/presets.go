package gates

import (
	_ "embed"
	"fmt"

	"github.com/BurntSushi/toml"
)

//go:embed presets.toml
var presetData string

// The presets that the program itself names.
const (
	PresetInteractive = "interactive"
	PresetAutonomous  = "autonomous"
)

// PresetInfo is what a person needs to choose a preset.
type PresetInfo struct {
	Name string
	Use  string // when to use it, in one sentence
}

type presetEntry struct {
	Name string `toml:"name"`
	Use  string `toml:"use"`
	Policy
}

// Preset returns the policy of a name; ok is false when there is none.
// Every call returns a policy of its own.
func Preset(name string) (p Policy, ok bool) {
	entries, err := readPresets(presetData)
	if err != nil {
		return Policy{}, false
	}
	for _, e := range entries {
		if e.Name == name {
			return e.Policy, true
		}
	}
	return Policy{}, false
}

// Presets lists the presets in the order in which they are shown.
func Presets() []PresetInfo {
	entries, err := readPresets(presetData)
	if err != nil {
		return nil
	}
	out := make([]PresetInfo, len(entries))
	for i, e := range entries {
		out[i] = PresetInfo{Name: e.Name, Use: e.Use}
	}
	return out
}

func presetNames() []string {
	var out []string
	for _, p := range Presets() {
		out = append(out, p.Name)
	}
	return out
}

// readPresets takes nothing for granted: one preset with a mistake, and there
// are none.
func readPresets(data string) ([]presetEntry, error) {
	var file struct {
		Preset []presetEntry `toml:"preset"`
	}
	meta, err := toml.Decode(data, &file)
	if err != nil {
		return nil, fmt.Errorf("read presets: %w", err)
	}
	if keys := meta.Undecoded(); len(keys) > 0 {
		return nil, fmt.Errorf("read presets: unknown key %s", keys[0])
	}
	seen := map[string]bool{}
	for i := range file.Preset {
		e := &file.Preset[i]
		if e.Name == "" || e.Use == "" || seen[e.Name] {
			return nil, fmt.Errorf("read presets: entry %d (%q) has no name of its own, or no use", i+1, e.Name)
		}
		seen[e.Name] = true
		if problems := e.Validate(); len(problems) > 0 {
			return nil, fmt.Errorf("read preset %s: %s", e.Name, problems[0])
		}
		e.Preset = e.Name
		e.Policy = Meet(e.Policy, e.Policy)
	}
	return file.Preset, nil
}
