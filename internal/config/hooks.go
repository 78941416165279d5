package config

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
)

// Files of the Rust Forge that this one does not read.
const (
	hooksFile     = ".forge/hooks.toml"
	promptsFolder = ".forge/prompts"
)

// hook is a command or question that a project wants at a point of a run. This
// Forge runs none of them.
type hook struct {
	file   string
	at     place
	what   string // such as "hook pre_phase"
	blocks bool   // it could have held work
}

// mostHooksSaid bounds how many are named one by one.
const mostHooksSaid = 20

// readHooks collects the hooks of one decoded table: what stands under it may be
// a list of definitions, under whatever name.
func readHooks(tree map[string]any, idx index, file string, path ...string) []hook {
	var out []hook
	for _, key := range sortedKeys(tree) {
		at := append(append([]string{}, path...), key)
		list, isList := tree[key].([]any)
		if !isList {
			out = append(out, hook{file, idx.find(at), "the hook setting " + dotted(at), true})
			continue
		}
		for i, one := range list {
			out = append(out, readHook(one, file, idx.find(append(at, element(i)))))
		}
	}
	return out
}

// readHook tells what a definition is. Any hook may answer that the work is to
// stop, save one that is called when a phase has failed already, or is switched
// off. What is not understood could be anything.
func readHook(one any, file string, at place) hook {
	def, _ := one.(map[string]any)
	event, _ := def["event"].(string)
	h := hook{file: file, at: at, what: "a hook", blocks: true}
	if event != "" {
		h.what = "the hook " + text.Clip(event, mostQuoted)
	}

	plain := strings.ReplaceAll(strings.ToLower(event), "_", "")
	if enabled, said := def["enabled"].(bool); plain == "onfailure" || said && !enabled {
		h.blocks = false
	}
	return h
}

// hooksOf takes the hooks out of a file of settings, and out of what is named as
// not used: they are named one by one.
func (b *binder) hooksOf(tree map[string]any) []hook {
	b.unused = slices.DeleteFunc(b.unused, func(name string) bool { return name == "hooks" || strings.HasPrefix(name, "hooks.") })
	for _, section := range []string{"tracker", "reconciliation"} {
		name := "factory." + section
		if i := slices.Index(b.unused, name); i >= 0 {
			b.unused = slices.Delete(b.unused, i, i+1)
			b.warn(b.layer.file, b.layer.index.find([]string{"factory", section}), "["+name+"] is of the Rust Forge and not used", "issues come from [trackers.<name>] of your own configuration")
		}
	}
	said, _ := tree["hooks"].(map[string]any)
	rest := maps.Clone(said)
	delete(rest, "ignore")
	return readHooks(rest, b.layer.index, b.layer.file, "hooks")
}

// loadHooks names what a project of the Rust Forge relies on and this one passes
// over: each with its place, so that nobody takes a gate for one that holds.
func (c *Config) loadHooks(col *collector, root *os.Root) {
	for _, l := range c.layers {
		c.hooks = append(c.hooks, l.hooks...)
	}
	if root != nil {
		c.hooks = append(c.hooks, hooksOfFile(root)...)
		if _, err := fs.Stat(root.FS(), promptsFolder); err == nil {
			col.warn(promptsFolder, place{}, "is of the Rust Forge and not used", "what reviewers are told stands in .forge/review-prompts/")
		}
	}

	for i, h := range c.hooks {
		if i == mostHooksSaid {
			col.warn(h.file, place{}, fmt.Sprintf("has %d more hooks that are not run", len(c.hooks)-i), "")
			break
		}
		what, fix := h.what+" is not run: this Forge has no hooks", "remove it"
		if h.blocks {
			what, fix = what+", so nothing holds the work where it would have", "remove it; what has to hold belongs into [verify] commands or the policy"
		}
		col.warn(h.file, h.at, what, fix)
	}
}

// hooksOfFile reads the hooks' own file. One that cannot be read is a hook of
// which nothing is known.
func hooksOfFile(root *os.Root) []hook {
	text, ok, problem := readText(root, filepath.FromSlash(hooksFile), hooksFile, MaxTOMLBytes)
	if problem != nil {
		return []hook{{hooksFile, place{}, "the file of hooks, which cannot be read,", true}}
	}
	if !ok {
		return nil
	}
	tree, idx, problem := decodeTOML(text)
	if problem != nil {
		return []hook{{hooksFile, place{problem.Line, problem.Col}, "the file of hooks, which cannot be read,", true}}
	}
	return readHooks(tree, idx, hooksFile)
}

// CheckHooks refuses to work without a person at the start of each phase where
// the project has a hook that could have held the work, unless the owner says in
// hooks.ignore that it may be left out. alone says that nobody starts the work,
// whatever the policy asks later, or that the answer was given beforehand; so
// does CI. The error is *Problems.
func CheckHooks(c *Config, policy gates.Policy, alone bool) error {
	alone = alone || policy.At(gates.PointPhaseStart) == gates.Auto || c.environ["CI"] != ""
	if !alone || said(c.File.Hooks.Ignore) {
		return nil
	}
	var list []Problem
	for _, h := range c.hooks {
		if h.blocks && len(list) < mostHooksSaid {
			list = append(list, Problem{
				File: h.file, Line: h.at.line, Col: h.at.col,
				What: h.what + " could hold the work, and this Forge does not run it: nobody may start without a person",
				Fix:  "remove it; or set hooks.ignore = true in your own configuration, or FORGE_IGNORE_HOOKS=true, to do without it",
			})
		}
	}
	if list == nil {
		return nil
	}
	return &Problems{List: list}
}
