package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
)

// PolicyFolder holds a project's own presets, one file each, relative to the
// checkout.
const PolicyFolder = ".forge/policies"

// policyName is what a file may be called, since people type it as a word.
var policyName = text.Lazy(`^[a-z][a-z0-9_-]{0,59}$`)

// policySet are the presets that a word may name.
type policySet struct {
	catalogue gates.Catalogue
	files     map[string]policyFile // by name
	broken    []string              // names of files that make no preset
}

type policyFile struct {
	def   gates.Definition
	file  string // as shown to the user
	index index
}

// loadPolicies reads the presets of a project; everything that is wrong with
// them is collected.
func (c *Config) loadPolicies(col *collector, root *os.Root) {
	c.policies.files = map[string]policyFile{}
	entries, err := fs.ReadDir(root.FS(), PolicyFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		col.add(PolicyFolder, place{}, "cannot be read: "+cause(err), "make it a readable folder")
		return
	}
	var defs []gates.Definition
	for _, e := range entries {
		name, isPolicy := strings.CutSuffix(e.Name(), ".toml")
		if !isPolicy || strings.HasPrefix(name, ".") {
			continue
		}
		if f, ok := readPolicyFile(col, root, name); ok {
			c.policies.files[name] = f
			defs = append(defs, f.def)
		} else {
			c.policies.broken = append(c.policies.broken, name)
		}
	}
	catalogue, problems := gates.Define(defs)
	c.policies.catalogue = catalogue
	for _, pr := range problems {
		f := c.policies.files[pr.Name]
		if pr.Path == "extends" && slices.Contains(c.policies.broken, f.def.Extends) {
			continue // its own problem was said
		}
		col.add(f.file, f.index.find(axisPath(pr.Problem)), pr.Path+": "+pr.What, pr.Fix)
	}
	for _, def := range defs {
		if _, ok := catalogue.Preset(def.Name); !ok {
			c.policies.broken = append(c.policies.broken, def.Name)
		}
	}
}

func readPolicyFile(col *collector, root *os.Root, name string) (policyFile, bool) {
	shown := PolicyFolder + "/" + name + ".toml"
	if !policyName().MatchString(name) {
		col.add(shown, place{}, "has a name that is no word for a preset", "use small letters, digits, _ and -, a letter first")
		return policyFile{}, false
	}
	text, ok, problem := readText(root, filepath.FromSlash(shown), shown, MaxTOMLBytes)
	if problem != nil {
		col.problems = append(col.problems, *problem)
	}
	if !ok {
		return policyFile{}, false
	}
	tree, idx, problem := decodeTOML(text)
	if problem != nil {
		problem.File = shown
		col.problems = append(col.problems, *problem)
		return policyFile{}, false
	}
	f := policyFile{def: gates.Definition{Name: name}, file: shown, index: idx}
	sound := true
	for key, into := range map[string]*string{"use": &f.def.Use, "extends": &f.def.Extends} {
		v, said := tree[key]
		delete(tree, key)
		if !said {
			continue
		}
		if *into, ok = v.(string); !ok || strings.TrimSpace(*into) == "" {
			col.add(shown, idx.find([]string{key}), fmt.Sprintf("%s is no text", key), "write it in quotes, or leave it out")
			sound = false
		}
	}
	f.def.Axes = tree
	return f, sound
}

// stages are what a preset is made of, the lowest first.
func (s policySet) stages(name string) []stage {
	policy, _ := s.catalogue.Preset(name)
	f, own := s.files[name]
	if !own {
		return []stage{{policy: policy, name: "preset " + name}}
	}
	var below []stage
	if f.def.Extends == "" {
		below = []stage{{policy: gates.Bottom(), name: "no preset: every gate asks"}}
	} else {
		below = s.stages(f.def.Extends)
	}
	return append(below, stage{policy: policy, name: f.file, said: func(axis gates.Axis) (string, bool) {
		return axisPlace(f.file, f.index, nil, axis)
	}})
}

// checkPolicyWords finds words that name no preset, in every layer, also in one
// that another outranks.
func (c *Config) checkPolicyWords(col *collector) {
	for _, l := range c.layers {
		preset := func(word *string, known []string, path ...string) {
			if word == nil || slices.Contains(known, *word) {
				return
			}
			if hint := gates.OldNameHint(*word); hint != "" {
				col.warn(l.file, l.index.find(path), dotted(path)+": "+hint, "")
				return
			}
			what, fix := fmt.Sprintf("%s is %q, which is no preset", dotted(path), text.Clip(*word, mostQuoted)), suggest(*word, known)
			if near := c.policies.catalogue.Nearest(*word); near != "" {
				fix = fmt.Sprintf("did you mean %q?", near)
			}
			if _, own := c.policies.files[*word]; own {
				what, fix = fmt.Sprintf("%s is %q, a preset of this project", dotted(path), text.Clip(*word, mostQuoted)), "name a built-in one: what bounds a project is not the project's to say"
			}
			col.add(l.file, l.index.find(path), what, fix)
		}
		known := append(c.policies.catalogue.Names(), c.policies.broken...)
		if c.without == Nothing {
			preset(l.said.Autonomy.Level, known, "autonomy", "level")
			for _, glob := range sortedKeys(l.said.Phases.Overrides) {
				preset(l.said.Phases.Overrides[glob].Level, known, "phases", "overrides", glob, "level")
			}
			for _, name := range sortedKeys(l.said.Agents) {
				preset(l.said.Agents[name].Level, known, "agents", name, "level")
			}
			for _, name := range sortedKeys(l.said.Factory.Labels) {
				preset(l.said.Factory.Labels[name].Level, known, "factory", "labels", name, "level")
			}
		}
		preset(l.said.Autonomy.Ceiling, presetNames(), "autonomy", "ceiling")
		preset(l.said.Factory.DefaultPolicy, known, "factory", "default_policy")
	}
}
