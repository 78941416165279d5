package agent

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Instructs says that a file of a project tells agents how to behave, whichever
// agent reads it: by its own name, or by a folder that it stands in.
func Instructs(name string) bool {
	all := instructions()
	for folder := range strings.SplitSeq(path.Dir(name), "/") {
		if all[folder+"/"] {
			return true
		}
	}
	return all[path.Base(name)] || all[path.Base(name)+"/"]
}

// InstructionGlobs are the files that Instructs knows, as the settings of a
// project name files; sorted.
func InstructionGlobs() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(instructions())) {
		if folder, ok := strings.CutSuffix(name, "/"); ok {
			out = append(out, folder+"/**", "**/"+folder+"/**")
			continue
		}
		out = append(out, name)
	}
	return out
}

// instructions are the files and folders of all kinds.
func instructions() map[string]bool {
	all := map[string]bool{}
	for _, k := range kinds() {
		for _, name := range k.facts.Instructions {
			all[name] = true
		}
	}
	return all
}
