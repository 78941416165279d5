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
	"forge/internal/work"
)

// Files of the Rust Forge. The first is read; the second is not.
const (
	hooksFile     = ".forge/hooks.toml"
	promptsFolder = ".forge/prompts"
)

// hook is one that a file defines.
type hook struct {
	work.Hook
	file string
	at   place
	off  bool
	// cannot says why this Forge does not run it; "" = it does.
	cannot string
}

// mostHooksSaid bounds how many are named one by one, and mostHooks how many a
// project may have: each is asked wherever its point is come to.
const (
	mostHooksSaid = 20
	mostHooks     = 100
)

// MaxHookBytes is the size above which a command or a question is refused.
const MaxHookBytes = 16 << 10

// mostHookSecs is the longest time that a hook may be given.
const mostHookSecs = 86400

// hookKeys are the keys of a definition, and swarmKeys those that the Rust
// Forge knows beside them for type swarm.
var (
	hookKeys  = []string{"event", "match", "type", "command", "prompt", "working_dir", "timeout_secs", "enabled", "description", "sandbox"}
	swarmKeys = []string{"swarm_strategy", "max_agents", "swarm_tasks", "reviews"}
)

// hookReader reads the definitions of one file, and collects all that is wrong
// with them.
type hookReader struct {
	*collector
	file  string
	index index
	owner bool // it is the user's own configuration
	out   []hook
}

// list reads the definitions that stand at path.
func (r *hookReader) list(value any, path []string) {
	items, ok := value.([]any)
	if !ok {
		r.bad(path, fmt.Sprintf("%s is %s, want a list of tables", dotted(path), describe(value)), "write [["+dotted(path)+"]]")
		return
	}
	for i, item := range items {
		at := append(append([]string{}, path...), element(i))
		def, ok := item.(map[string]any)
		if !ok {
			r.bad(at, fmt.Sprintf("%s is %s, want a table", dotted(at), describe(item)), "write [["+dotted(path)+"]]")
			continue
		}
		if len(r.out) == mostHooks {
			r.bad(at, fmt.Sprintf("there are more than %d hooks", mostHooks), "let one command do the work of several")
			return
		}
		r.one(def, at)
	}
}

func (r *hookReader) bad(path []string, what, fix string) {
	r.add(r.file, r.index.find(path), what, fix)
}

// one reads one definition.
func (r *hookReader) one(def map[string]any, path []string) {
	sub := func(key string) []string { return append(append([]string{}, path...), key) }
	at := r.index.find(path)
	h := hook{file: r.file, at: at, Hook: work.Hook{Kind: work.HookCommand, TimeoutSecs: work.HookTimeoutSecs, At: fmt.Sprintf("%s:%d", r.file, at.line)}}
	before := len(r.problems)

	kind, _ := def["type"].(string)
	swarm := kind == "swarm"
	for _, key := range sortedKeys(def) {
		if !slices.Contains(hookKeys, key) && !(swarm && slices.Contains(swarmKeys, key)) {
			r.bad(sub(key), fmt.Sprintf("a hook has the unknown key %s", quoteKey(text.Clip(key, mostQuoted))), suggest(key, hookKeys))
		}
	}

	if word, ok := r.word(def, "event", path); !ok || word == "" {
		if _, is := def["event"]; !is || ok {
			r.bad(path, "a hook has no event", "write event = \""+string(work.HookBeforePhase)+"\"; "+eventsThereAre())
		}
	} else if event, known := work.ParseHookEvent(word); known {
		h.Event = event
	} else {
		r.bad(sub("event"), fmt.Sprintf("event is %q, which is no point of a run", text.Clip(word, mostQuoted)), suggest(word, eventNames())+"; "+eventsThereAre())
	}

	switch word, ok := r.word(def, "type", path); {
	case !ok || word == "" || word == work.HookCommand:
	case word == work.HookPrompt:
		h.Kind = work.HookPrompt
	case swarm:
		h.Kind, h.cannot = "swarm", "this Forge has no hooks of type swarm"
	default:
		r.bad(sub("type"), fmt.Sprintf("type is %q", text.Clip(word, mostQuoted)), "write command or prompt")
	}

	r.what(&h, def, path)
	r.how(&h, def, path)
	if len(r.problems) == before {
		r.out = append(r.out, h)
	}
}

// what reads what a hook asks, and of which phases.
func (r *hookReader) what(h *hook, def map[string]any, path []string) {
	sub := func(key string) []string { return append(append([]string{}, path...), key) }
	h.Command, _ = r.word(def, "command", path)
	h.Prompt, _ = r.word(def, "prompt", path)
	_, _ = r.word(def, "description", path)

	for _, of := range []struct{ kind, said string }{{work.HookCommand, h.Command}, {work.HookPrompt, h.Prompt}} {
		_, there := def[of.kind]
		switch {
		case h.Kind == of.kind && !there:
			r.bad(path, "a hook of type "+of.kind+" has no "+of.kind, "write "+of.kind+" = \"…\"")
		case h.Kind == of.kind && text.Blank(of.said):
			r.bad(sub(of.kind), of.kind+" is empty", "write what is asked, or remove the hook")
		case len(of.said) > MaxHookBytes:
			r.bad(sub(of.kind), fmt.Sprintf("%s has %d bytes, more than %d", of.kind, len(of.said), MaxHookBytes), "put it into a file of the project")
		case h.Kind != of.kind && there && h.Kind != "swarm":
			r.bad(sub(of.kind), "a hook of type "+h.Kind+" has a "+of.kind+" as well", "write two hooks, or type = \""+of.kind+"\"")
		}
	}

	match, ok := r.word(def, "match", path)
	if _, there := def["match"]; !ok || !there {
		return
	}
	if _, err := nameGlob(match); err != nil {
		r.bad(sub("match"), "match is not a glob: "+err.Error(), `write such as "database-*"; \ before [ { * ? takes them literally`)
	} else if h.Event.OfRun() {
		r.bad(sub("match"), "match names phases, and "+string(h.Event)+" is a point of the whole run", "remove it")
	}
	h.Match = match
}

// how reads where and for how long a hook runs.
func (r *hookReader) how(h *hook, def map[string]any, path []string) {
	sub := func(key string) []string { return append(append([]string{}, path...), key) }
	if dir, ok := r.word(def, "working_dir", path); ok && dir != "" {
		if !filepath.IsLocal(dir) {
			r.bad(sub("working_dir"), fmt.Sprintf("working_dir is %q, which is not below the project's root", text.Clip(dir, mostQuoted)), `write such as "scripts"`)
		}
		h.Dir = filepath.ToSlash(filepath.Clean(dir))
	}

	switch secs := def["timeout_secs"].(type) {
	case nil:
	case int64:
		if secs < 1 || secs > mostHookSecs {
			r.bad(sub("timeout_secs"), fmt.Sprintf("timeout_secs is %d", secs), fmt.Sprintf("write 1 to %d", mostHookSecs))
		}
		h.TimeoutSecs = int(secs)
	default:
		r.bad(sub("timeout_secs"), "timeout_secs is "+describe(secs)+", want an integer", "write digits without quotes")
	}

	switched := func(key string, otherwise bool) bool {
		switch on := def[key].(type) {
		case nil:
		case bool:
			return on
		default:
			r.bad(sub(key), key+" is "+describe(on)+", want true or false", "write true or false without quotes")
		}
		return otherwise
	}
	h.off = !switched("enabled", true)
	if h.Outside = !switched("sandbox", true); h.Outside && !r.owner {
		r.bad(sub("sandbox"), "a project's hook cannot leave the sandbox", "remove it; only a hook in the user's own configuration can")
	}
}

// word is the text of a key; ok is false where it is of another type, which is
// reported.
func (r *hookReader) word(def map[string]any, key string, path []string) (said string, ok bool) {
	value, there := def[key]
	if !there {
		return "", true
	}
	said, ok = value.(string)
	if !ok {
		r.bad(append(append([]string{}, path...), key), fmt.Sprintf("%s is %s, want a string", key, describe(value)), "write it in quotes")
	}
	return said, ok
}

func eventNames() []string {
	var out []string
	for _, e := range work.HookEvents() {
		out = append(out, string(e))
	}
	return out
}

func eventsThereAre() string { return "the points are " + strings.Join(eventNames(), ", ") }

// hooksOf reads the hooks of a file of settings, and takes them out of what is
// named as not used.
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
	return readHooks(&hookReader{collector: b.hooks, file: b.layer.file, index: b.layer.index, owner: b.layer.kind == layerUser}, rest, []string{"hooks"}, "definitions", "hooks")
}

// readHooks reads the lists of definitions that tree holds under names; anything
// else in it is a mistake.
func readHooks(r *hookReader, tree map[string]any, path []string, names ...string) []hook {
	for _, key := range sortedKeys(tree) {
		at := append(append([]string{}, path...), key)
		if !slices.Contains(names, key) {
			r.bad(at, fmt.Sprintf("unknown key %s", quoteKey(text.Clip(dotted(at), mostQuoted))), "write [["+dotted(append(append([]string{}, path...), names[0]))+"]] for each hook")
			continue
		}
		r.list(tree[key], at)
	}
	return r.out
}

// loadHooks gathers the hooks of all files, and what is wrong with them. An owner
// who does without hooks hears of mistakes, and is not kept from working.
func (c *Config) loadHooks(col *collector, root *os.Root) {
	wrong := &collector{}
	for _, l := range c.layers {
		c.hooks = append(c.hooks, l.hooks...)
		wrong.problems = append(wrong.problems, l.wrongHooks...)
	}
	if root != nil {
		c.hooks = append(c.hooks, hooksOfFile(wrong, root)...)
		if _, err := fs.Stat(root.FS(), promptsFolder); err == nil {
			col.warn(promptsFolder, place{}, "is of the Rust Forge and not used", "what reviewers are told stands in .forge/review-prompts/")
		}
	}

	c.hooks = slices.DeleteFunc(c.hooks, func(h hook) bool { return h.off })
	c.wrongHooks = wrong.problems
}

// settleHooks says what is wrong with the hooks, or what an owner does without.
// It is called once it is known what the owner says of them.
func (c *Config) settleHooks(col *collector) {
	ignored := said(c.File.Hooks.Ignore)
	if !ignored {
		col.problems = append(col.problems, c.wrongHooks...)
	}
	for i, p := range c.wrongHooks {
		if ignored && i < mostHooksSaid {
			col.warn(p.File, place{p.Line, p.Col}, p.What+"; hooks.ignore is set, so no hook is run", p.Fix)
		}
	}

	for i, h := range c.hooks {
		why := c.cannotRun(h)
		switch {
		case why == "" && !ignored:
			continue
		case i >= mostHooksSaid:
			col.warn(h.file, place{}, fmt.Sprintf("has %d more hooks that are not run", len(c.hooks)-i), "")
			return
		case ignored:
			col.warn(h.file, h.at, "the hook "+string(h.Event)+" is not run: hooks.ignore is set in your own configuration", "")
		default:
			col.warn(h.file, h.at, "the hook "+string(h.Event)+" is not run: "+why+tellHolds(h), "remove it; what has to hold belongs into a hook of type command, [verify] commands or the policy")
		}
	}
}

func tellHolds(h hook) string {
	if !h.Event.Holds() {
		return ""
	}
	return ", so nothing holds the work where it would have"
}

// hooksOfFile reads the hooks' own file.
func hooksOfFile(col *collector, root *os.Root) []hook {
	text, ok, problem := readText(root, filepath.FromSlash(hooksFile), hooksFile, MaxTOMLBytes)
	if problem != nil {
		col.problems = append(col.problems, *problem)
		return nil
	}
	if !ok {
		return nil
	}
	tree, idx, problem := decodeTOML(text)
	if problem != nil {
		problem.File = hooksFile
		col.problems = append(col.problems, *problem)
		return nil
	}
	return readHooks(&hookReader{collector: col, file: hooksFile, index: idx}, tree, nil, "hooks", "definitions")
}

// Hooks are the hooks that a run asks, in the order in which they are asked:
// those of the user's own configuration first.
func (c *Config) Hooks() []work.Hook {
	if said(c.File.Hooks.Ignore) {
		return nil
	}
	var out []work.Hook
	for _, h := range c.hooks {
		if c.cannotRun(h) == "" {
			out = append(out, h.Hook)
		}
	}
	return out
}

// cannotRun says why a hook cannot be run here; "" = it can.
func (c *Config) cannotRun(h hook) string {
	if h.cannot == "" && h.Kind == work.HookPrompt && said(c.File.LLM.BaseURL) == "" {
		return "no model is named in [llm] that could be asked"
	}
	return h.cannot
}

// CheckHooks refuses to work without a person at the start of each phase where
// there is a hook that cannot be run and could have held the work, unless the
// owner says in hooks.ignore that hooks may be left out. alone says that nobody
// starts the work, whatever the policy asks later, or that the answer was given
// beforehand; so does CI. The error is *Problems.
func CheckHooks(c *Config, policy gates.Policy, alone bool) error {
	alone = alone || policy.At(gates.PointPhaseStart) == gates.Auto || c.environ["CI"] != ""
	if !alone || said(c.File.Hooks.Ignore) {
		return nil
	}
	var list []Problem
	for _, h := range c.hooks {
		if why := c.cannotRun(h); why != "" && h.Event.Holds() && len(list) < mostHooksSaid {
			list = append(list, Problem{
				File: h.file, Line: h.at.line, Col: h.at.col,
				What: "the hook " + string(h.Event) + " could hold the work, and cannot be run: " + why,
				Fix:  "remove it, or make it one of type command; or set hooks.ignore = true in your own configuration, or FORGE_IGNORE_HOOKS=true, to do without all hooks",
			})
		}
	}
	if list == nil {
		return nil
	}
	return &Problems{List: list}
}
