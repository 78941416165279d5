package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/gobwas/glob"

	texts "forge/internal/text"
)

// ProjectFile is the project's configuration, relative to the checkout.
const ProjectFile = ".forge/forge.toml"

// WorkflowVariable names a file with the settings of a WORKFLOW.md, which forge factory
// --workflow makes for itself; what is wrong in it is said of WorkflowFile.
const (
	WorkflowVariable = "FORGE_WORKFLOW_SETTINGS"
	WorkflowFile     = "WORKFLOW.md"
	// WorkflowTracker is the name of its tracker. In the user's own configuration an
	// entry of that name may say nothing but sandbox.
	WorkflowTracker = "workflow"
)

// Sources is where a configuration comes from.
type Sources struct {
	ProjectDir string   // root of the checkout
	UserFile   string   // "" = none; a file that does not exist says nothing
	Environ    []string // NAME=value, as os.Environ gives it
	Flags      []Setting
	// ProjectText stands in the place of the project's own file: what it would be
	// if it said so. nil = the file.
	ProjectText *string
	// Without leaves parts of the project's own configuration unread, for who
	// goes on with what was recorded while they are broken.
	Without Part
	// External is set where the work is not the owner's.
	External *External
	// Labels are those of the issue that it is for; see [factory.labels].
	Labels []string
	// Target is the branch that this issue itself names for its result, "" = none.
	Target string
}

// Part is a part of a project's configuration.
type Part int

// The parts. AllOfProject includes the policies.
const (
	Nothing Part = iota
	Policies
	AllOfProject
)

// Config is the configuration of a project: every value with its origin.
type Config struct {
	Root string // of the checkout
	// File holds the merged values with the defaults filled in. Deprecated
	// words are mapped. What has no default and was not said is nil.
	File File

	layers    []*layer
	origins   map[string]string
	overrides []overrideAt
	asks      []string // name globs that "strict" was said for
	environ   map[string]string
	globs     map[string]*glob.Pattern // over phase names, compiled
	policies  policySet
	without   Part
	external  *External
	labels    []string // of the issue, as in Sources
	// labelBudget is the budget that they name; target is what the issue itself
	// names; issueTarget says that it or its labels name one.
	labelBudget int
	target      string
	issueTarget bool
	hooks       []hook // of all files, without those that are switched off
	// wrongHooks is what is wrong with them; see settleHooks.
	wrongHooks []Problem
}

// overrideAt is one [phases.overrides."glob"] in the order of application.
type overrideAt struct {
	glob string
	said Override
	file string
	at   place
	all  index
}

// Load reads, checks and merges all sources. The error is *Problems and holds
// the problems of all of them. Missing files are not problems.
func Load(src Sources) (*Config, []Warning, error) {
	c := &collector{}
	cfg := &Config{Root: src.ProjectDir, origins: map[string]string{}, environ: environment(src.Environ), without: src.Without}
	cfg.layers = append(cfg.layers, defaultLayer(c))
	if src.UserFile != "" {
		cfg.layers = append(cfg.layers, loadFile(c, anywhere{}, src.UserFile, src.UserFile, layerUser))
	}
	// FORGE_AUTONOMY alone stands below the project file.
	cfg.environmentLayers(c, func(k Key) bool { return k.Name() == "autonomy.level" })
	if root, err := os.OpenRoot(src.ProjectDir); err != nil {
		c.add(src.ProjectDir, place{}, "cannot be opened: "+cause(err), "name the root of a checkout")
	} else {
		defer root.Close()
		switch {
		case src.Without >= AllOfProject:
		case src.ProjectText != nil:
			l := &layer{kind: layerProject, file: ProjectFile}
			l.bind(c, *src.ProjectText)
			cfg.layers = append(cfg.layers, l)
		default:
			cfg.layers = append(cfg.layers, loadFile(c, root, filepath.FromSlash(ProjectFile), ProjectFile, layerProject))
		}
		if at := cfg.environ[WorkflowVariable]; at != "" && src.Without < AllOfProject {
			cfg.layers = append(cfg.layers, loadFile(c, anywhere{}, at, WorkflowFile, layerProject))
		}
		if src.Without < Policies {
			cfg.loadPolicies(c, root)
		}
		cfg.loadHooks(c, root)
	}
	cfg.environmentLayers(c, func(k Key) bool { return k.Name() != "autonomy.level" })
	for _, o := range src.Flags {
		k, ok := keyNamed(o.Key)
		if !ok {
			c.add(o.Flag, place{}, "sets the unknown key "+o.Key, suggest(o.Key, keyNames()))
			continue
		}
		cfg.layers = append(cfg.layers, settingLayer(c, k, o))
	}
	cfg.merge()
	cfg.settleHooks(c)
	cfg.mapDeprecated(c)
	cfg.labelled(c, src.Labels)
	cfg.targeted(src.Target)
	cfg.harden(src.External)
	cfg.crossCheck(c)
	cfg.compileGlobs()
	if err := c.err(); err != nil {
		return nil, c.warnings, err
	}
	return cfg, c.warnings, nil
}

func (c *Config) environmentLayers(col *collector, which func(Key) bool) {
	for _, k := range Keys() {
		if text := c.environ[k.Env]; k.Env != "" && text != "" && which(k) {
			c.layers = append(c.layers, textLayer(col, k, k.Env, text, layerEnvironment))
		}
	}
}

// loadFile reads one TOML file into a layer; whatever is wrong is collected,
// and the layer then says what could be read.
func loadFile(c *collector, in folder, name, shown string, kind layerKind) *layer {
	l := &layer{kind: kind, file: shown}
	text, ok, problem := readText(in, name, shown, MaxTOMLBytes)
	if problem != nil {
		c.problems = append(c.problems, *problem)
	}
	if !ok {
		return l
	}
	l.bind(c, text)
	return l
}

// bind reads the text of a TOML file into the layer; whatever is wrong with it is
// collected.
func (l *layer) bind(c *collector, text string) {
	tree, index, problem := decodeTOML(text)
	if problem != nil {
		problem.File = l.file
		c.problems = append(c.problems, *problem)
		return
	}
	l.index = index
	b := &binder{collector: c, layer: l, hooks: &collector{}}
	b.table(tree, reflect.ValueOf(&l.said).Elem(), nil)
	l.hooks, l.wrongHooks = b.hooksOf(tree), b.hooks.problems
	if len(b.unused) > 0 {
		slices.Sort(b.unused)
		c.warn(l.file, place{}, "not used: "+strings.Join(b.unused, ", "), "these are read and checked, nothing else")
	}
}

// decodeTOML decodes text into a tree with an index of places.
func decodeTOML(text string) (map[string]any, index, *Problem) {
	const fix = "correct the TOML there"
	idx, stopped := scanTOML(text)
	given := text
	if stopped != nil {
		if stopped.deep {
			return nil, idx, &Problem{Line: stopped.at.line, Col: stopped.at.col, What: stopped.what, Fix: "write it flatter"}
		}
		// The decoder has better words for what is wrong here, but must not
		// see unscanned text: its time is quadratic in the depth of keys.
		given = text[:min(len(text), stopped.offset+100)]
	}
	var tree map[string]any
	_, err := toml.Decode(given, &tree)
	var perr toml.ParseError
	switch {
	case errors.As(err, &perr):
		return nil, idx, &Problem{Line: perr.Position.Line, Col: perr.Position.Col, What: "broken TOML: " + texts.HarmlessLine(perr.Message), Fix: fix}
	case err != nil:
		return nil, idx, &Problem{What: "broken TOML: " + texts.HarmlessLine(err.Error()), Fix: fix}
	case stopped != nil:
		return nil, idx, &Problem{Line: stopped.at.line, Col: stopped.at.col, What: "broken TOML: " + stopped.what, Fix: fix}
	}
	for k, v := range tree {
		tree[k] = plainLists(v)
	}
	return tree, idx, nil
}

// plainLists makes lists of tables like every other list, so that the two ways
// to write one compare equal.
func plainLists(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, inner := range x {
			x[k] = plainLists(inner)
		}
	case []any:
		for i, inner := range x {
			x[i] = plainLists(inner)
		}
	case []map[string]any:
		out := make([]any, len(x))
		for i, inner := range x {
			out[i] = plainLists(inner)
		}
		return out
	}
	return v
}

// Setting is one flag that sets a key.
type Setting struct {
	Flag  string // "--max-parallel", as the user wrote it
	Key   string // "defaults.max_parallel"
	Value string // a list is given with commas
	// List is the value of a list whose items may hold commas; it is used where
	// it is not empty.
	List []string
}

// settingLayer is a layer of what one flag sets.
func settingLayer(c *collector, k Key, o Setting) *layer {
	if len(o.List) == 0 {
		return textLayer(c, k, o.Flag, o.Value, layerFlags)
	}
	items := make([]any, len(o.List))
	for i, one := range o.List {
		items[i] = one
	}
	return valueLayer(c, k, o.Flag, items, layerFlags)
}

// textLayer is a layer of one value that came as text.
func textLayer(c *collector, k Key, source, text string, kind layerKind) *layer {
	value, want := parseText(k.Type, text)
	if want != "" {
		c.add(source, place{}, fmt.Sprintf("%s is %q, want %s", k.Name(), texts.Clip(text, mostQuoted), want), "write "+want)
		return &layer{kind: kind, file: source}
	}
	return valueLayer(c, k, source, value, kind)
}

// valueLayer is a layer of one value of a key's type.
func valueLayer(c *collector, k Key, source string, value any, kind layerKind) *layer {
	l := &layer{kind: kind, file: source}
	tree := map[string]any{}
	inner := tree
	for _, seg := range k.Path[:len(k.Path)-1] {
		next := map[string]any{}
		inner[seg] = next
		inner = next
	}
	inner[k.Path[len(k.Path)-1]] = value
	b := &binder{collector: c, layer: l}
	b.table(tree, reflect.ValueOf(&l.said).Elem(), nil)
	return l
}

// parseText reads a text as a value of a key's type; want says what it should
// have been.
func parseText(kind, text string) (value any, want string) {
	switch kind {
	case "string":
		return text, ""
	case "integer":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, ""
		}
		return nil, "digits"
	case "number":
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n, ""
		}
		return nil, "a number"
	case "true or false":
		if text == "true" || text == "false" {
			return text == "true", ""
		}
		return nil, "true or false"
	case trueFalseHosts:
		if text == "true" || text == "false" {
			return text == "true", ""
		}
		return textList(text), ""
	case oneOrMore:
		if !strings.Contains(text, ",") {
			return text, ""
		}
		return textList(text), ""
	case "list of strings":
		return textList(text), ""
	}
	return nil, "a key that takes one value"
}

// textList reads texts with commas between them.
func textList(text string) (items []any) {
	for one := range strings.SplitSeq(text, ",") {
		items = append(items, strings.TrimSpace(one))
	}
	return items
}

func keyNamed(name string) (Key, bool) {
	for _, k := range Keys() {
		if k.Name() == name {
			return k, true
		}
	}
	return Key{}, false
}

func keyNames() []string {
	var out []string
	for _, k := range Keys() {
		out = append(out, k.Name())
	}
	return out
}

func environment(environ []string) map[string]string {
	out := map[string]string{}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok {
			out[name] = value
		}
	}
	return out
}

// defaultLayer is what the default tags of the settings type say.
func defaultLayer(c *collector) *layer {
	l := &layer{kind: layerDefaults, file: "default"}
	tree, index, problem := decodeTOML(defaultText())
	if problem != nil {
		c.add("default", place{}, problem.What, "")
		return l
	}
	l.index = index
	b := &binder{collector: c, layer: l}
	b.table(tree, reflect.ValueOf(&l.said).Elem(), nil)
	return l
}

func defaultText() string {
	var b strings.Builder
	for _, k := range Keys() {
		if k.Default != "" {
			b.WriteString(dotted(k.Path) + " = " + k.Default + "\n")
		}
	}
	return b.String()
}
