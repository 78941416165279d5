package project

import (
	"maps"
	"slices"
	"strings"

	"forge/orchestrator"
)

// Relocate makes what a run began with on another machine this machine's: its
// paths in the checkout, and the sandbox, which a machine's own configuration
// alone sets.
func (p *Checkout) Relocate(spec *orchestrator.Spec) {
	root := spec.Base.RepoRoot
	agents := maps.Clone(spec.Settings.Agents)
	for name, a := range agents {
		if a.Checkout == root {
			a.Checkout = p.Base.RepoRoot
		}
		a.File = moved(a.File, root, p.Base.RepoRoot)
		if len(a.Command) > 0 {
			// An older Forge wrote a relative command down as the path that it was there.
			a.Command = slices.Clone(a.Command)
			a.Command[0] = moved(a.Command[0], root, p.Base.RepoRoot)
		}
		agents[name] = a
	}
	spec.Settings.Agents = agents
	spec.Base.RepoRoot = p.Base.RepoRoot
	if p.Config != nil {
		spec.Settings.Sandbox = p.Config.SandboxSettings()
	}
}

// moved is a path in the checkout from as it is in the checkout to; others stay.
func moved(path, from, to string) string {
	if rest, ok := strings.CutPrefix(path, from+"/"); ok {
		return to + "/" + rest
	}
	return path
}
