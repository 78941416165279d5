package symphony

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Settings are the typed values of a file's front matter, with the defaults that the
// specification gives.
type Settings struct {
	Tracker   Tracker
	Poll      time.Duration
	Root      string // of the workspaces, absolute
	Hooks     Hooks
	MaxAgents int
	// ByState is how many issues of a state, by its normalized name, are worked on at
	// the same time; one that is not here has MaxAgents.
	ByState    map[string]int
	MaxTurns   int
	MaxBackoff time.Duration
	Codex      Codex
	// Port is where the state is served; -1 = nowhere, 0 = at whichever is free.
	Port int
	// MaxAttempts is how often an issue is tried again by itself in a row.
	MaxAttempts int
	// States are the tracker's own names of stages, as Forge brings issues into them;
	// "" = an issue is left where it is, and ended where it has landed.
	States StageNames
}

// Tracker is where the issues are.
type Tracker struct {
	Kind     string
	Endpoint string
	APIKey   string
	KeyName  string // the variable that the key stands in; "" = it stands in the file
	Slug     string
	Active   []string
	Terminal []string
	Labels   []string // that an issue must have, all of them
}

// Hooks are scripts of the file; "" = none.
type Hooks struct {
	AfterCreate, BeforeRun, AfterRun, BeforeRemove string
	Timeout                                        time.Duration
}

// Codex says how the agent is driven.
type Codex struct {
	Command     string
	Model       string // "" = its own
	TurnTimeout time.Duration
	ReadTimeout time.Duration
	ReadNamed   bool          // the file says ReadTimeout
	Stall       time.Duration // 0 = it is not looked for
}

// StageNames are names of states.
type StageNames struct{ Working, Reviewing, Done string }

// The defaults of the specification.
const (
	DefaultEndpoint = "https://api.linear.app/graphql"
	DefaultKeyName  = "LINEAR_API_KEY"
	DefaultCommand  = "codex app-server"
	defaultRoot     = "symphony_workspaces"
	defaultAttempts = 10 // Forge's own: the specification has no bound
	forgeBlock      = "forge"
)

// DefaultActive are the active states of a file that names none.
func DefaultActive() []string { return []string{"Todo", "In Progress"} }

// DefaultTerminal are the terminal states of a file that names none.
func DefaultTerminal() []string {
	return []string{"Closed", "Cancelled", "Canceled", "Duplicate", "Done"}
}

// Kinds are the trackers that a file may name.
func Kinds() []string { return []string{"linear"} }

// defaults are the settings of an empty front matter.
func defaults(s Surroundings) Settings {
	return Settings{
		Tracker: Tracker{Endpoint: DefaultEndpoint, Active: DefaultActive(), Terminal: DefaultTerminal()},
		Poll:    30 * time.Second, Root: filepath.Join(s.Temp, defaultRoot), Hooks: Hooks{Timeout: time.Minute},
		MaxAgents: 10, ByState: map[string]int{}, MaxTurns: 20, MaxBackoff: 5 * time.Minute,
		Codex: Codex{Command: DefaultCommand, TurnTimeout: time.Hour, ReadTimeout: 5 * time.Second, Stall: 5 * time.Minute},
		Port:  -1, MaxAttempts: defaultAttempts,
	}
}

// known are the sections with their keys. What is not here is let pass, and said.
func known() map[string][]string {
	return map[string][]string{
		"tracker":   {"kind", "endpoint", "api_key", "project_slug", "active_states", "terminal_states", "required_labels"},
		"polling":   {"interval_ms"},
		"workspace": {"root"},
		"hooks":     {"after_create", "before_run", "after_run", "before_remove", "timeout_ms"},
		"agent":     {"max_concurrent_agents", "max_turns", "max_retry_backoff_ms", "max_concurrent_agents_by_state"},
		"codex":     {"command", "model", "turn_timeout_ms", "read_timeout_ms", "stall_timeout_ms", "approval_policy", "thread_sandbox", "turn_sandbox_policy"},
		"server":    {"port"},
	}
}

// settings reads the sections of the root.
func (r *reader) settings(root *yaml.Node) Settings {
	out := defaults(r.s)
	sections := known()
	for _, p := range r.pairs(root) {
		if _, ok := sections[p.name]; !ok && p.name != forgeBlock {
			r.note(UnknownSetting, p.line, "", "%s is not known here, and has no effect", quoted(p.name))
		}
	}
	keyed := false
	for _, name := range []string{"tracker", "polling", "workspace", "hooks", "agent", "codex", "server"} {
		pairs, _ := r.section(root, name)
		for _, p := range pairs {
			if !slices.Contains(sections[name], p.name) {
				r.note(UnknownSetting, p.line, "", "%s.%s is not known here, and has no effect", name, p.name)
				continue
			}
			keyed = keyed || name == "tracker" && p.name == "api_key"
			if !null(p.value) {
				r.lines[name+"."+p.name] = p.line
				r.setting(&out, name+"."+p.name, p)
			}
		}
	}
	r.own(root, &out)
	r.preflight(root, &out, keyed)
	return out
}

// setting reads one.
func (r *reader) setting(out *Settings, key string, p pair) {
	switch key {
	case "tracker.kind":
		out.Tracker.Kind = r.words(key, p)
	case "tracker.endpoint":
		out.Tracker.Endpoint = r.words(key, p)
	case "tracker.api_key":
		out.Tracker.APIKey, out.Tracker.KeyName = r.secret(r.words(key, p))
	case "tracker.project_slug":
		out.Tracker.Slug = r.words(key, p)
	case "tracker.active_states":
		out.Tracker.Active = r.list(key, p)
	case "tracker.terminal_states":
		out.Tracker.Terminal = r.list(key, p)
	case "tracker.required_labels":
		out.Tracker.Labels = r.list(key, p)
	case "polling.interval_ms":
		out.Poll = r.millis(key, p, out.Poll, 1)
	case "workspace.root":
		out.Root = r.path(key, p)
	case "hooks.after_create":
		out.Hooks.AfterCreate = r.script(key, p)
	case "hooks.before_run":
		out.Hooks.BeforeRun = r.script(key, p)
	case "hooks.after_run":
		out.Hooks.AfterRun = r.script(key, p)
	case "hooks.before_remove":
		out.Hooks.BeforeRemove = r.script(key, p)
	case "hooks.timeout_ms":
		if n, ok := number(p.value); ok && n <= 0 {
			r.note(InvalidSetting, p.line, "", "hooks.timeout_ms is %d: %s holds", n, out.Hooks.Timeout)
			return
		}
		out.Hooks.Timeout = r.millis(key, p, out.Hooks.Timeout, 1)
	case "agent.max_concurrent_agents":
		out.MaxAgents = r.count(key, p, out.MaxAgents, 1, maxAgents)
	case "agent.max_turns":
		out.MaxTurns = r.count(key, p, out.MaxTurns, 1, maxTurns)
	case "agent.max_retry_backoff_ms":
		out.MaxBackoff = r.millis(key, p, out.MaxBackoff, 1)
	case "agent.max_concurrent_agents_by_state":
		out.ByState = r.byState(key, p)
	case "codex.command":
		out.Codex.Command = r.script(key, p)
	case "codex.model":
		out.Codex.Model = r.words(key, p)
	case "codex.turn_timeout_ms":
		out.Codex.TurnTimeout = r.millis(key, p, out.Codex.TurnTimeout, 1)
	case "codex.read_timeout_ms":
		out.Codex.ReadTimeout, out.Codex.ReadNamed = r.millis(key, p, out.Codex.ReadTimeout, 1), true
	case "codex.stall_timeout_ms":
		out.Codex.Stall = max(r.millis(key, p, out.Codex.Stall, -maxMillis), 0)
	case "codex.approval_policy", "codex.thread_sandbox", "codex.turn_sandbox_policy":
		r.note(StricterSetting, p.line, "", "%s has no effect: the agent works in Forge's own sandbox, and is told to ask for nothing", key)
	case "server.port":
		out.Port = r.count(key, p, out.Port, 0, 65535)
	}
}

const (
	maxAgents = 1000
	maxTurns  = 1000
	maxMillis = 30 * 24 * 3600 * 1000
)

// own reads those keys of the block forge that are not of forge.toml.
func (r *reader) own(root *yaml.Node, out *Settings) {
	pairs, _ := r.section(root, forgeBlock)
	for _, p := range pairs {
		switch p.name {
		case "max_attempts":
			out.MaxAttempts = r.count(forgeBlock+"."+p.name, p, out.MaxAttempts, 0, 1000)
		case "states":
			if p.value.Kind != yaml.MappingNode {
				r.bad(InvalidSetting, p.line, "write working, reviewing or done below it", "forge.states is no map")
				continue
			}
			for _, s := range r.pairs(p.value) {
				name := r.words("forge.states."+s.name, s)
				switch s.name {
				case "working":
					out.States.Working = name
				case "reviewing":
					out.States.Reviewing = name
				case "done":
					out.States.Done = name
				default:
					r.bad(InvalidSetting, s.line, "write working, reviewing or done", "forge.states has no %s", quoted(s.name))
				}
			}
		}
	}
}

// OwnKeys are the keys of the block forge that forge.toml does not know.
func OwnKeys() []string { return []string{"max_attempts", "states"} }

// preflight is what nothing can be dispatched without. keyed says that the file names
// a key.
func (r *reader) preflight(root *yaml.Node, out *Settings, keyed bool) {
	at := map[string]int{}
	for _, p := range r.pairsOnce(root) {
		at[p.name] = p.line
	}
	kinds := strings.Join(Kinds(), " or ")
	t := &out.Tracker
	if !keyed {
		t.APIKey, t.KeyName = r.s.Getenv(DefaultKeyName), DefaultKeyName
	}
	switch {
	case t.Kind == "":
		r.bad(UnknownTracker, at["tracker"], "write tracker: with kind: "+kinds, "tracker.kind is missing")
	case !slices.Contains(Kinds(), t.Kind):
		r.bad(UnknownTracker, at["tracker"], "write kind: "+kinds, "tracker.kind %s is not known", quoted(t.Kind))
	}
	if t.APIKey == "" {
		fix := "set " + t.KeyName
		if t.KeyName == "" {
			fix = "write api_key: $" + DefaultKeyName
		}
		r.bad(MissingKey, at["tracker"], fix, "tracker.api_key is missing")
	}
	if t.Slug == "" {
		r.bad(MissingSlug, at["tracker"], "write the slug of a project of Linear", "tracker.project_slug is missing")
	}
	if len(t.Active) == 0 {
		r.bad(InvalidSetting, at["tracker"], "name one", "tracker.active_states is empty")
	}
	for _, s := range t.Active {
		if slices.ContainsFunc(t.Terminal, func(o string) bool { return Normal(o) == Normal(s) }) {
			r.bad(InvalidSetting, at["tracker"], "leave it in one of them", "the state %s is both active and terminal", quoted(s))
		}
	}
	if strings.TrimSpace(out.Codex.Command) == "" {
		r.bad(InvalidSetting, at["codex"], "write command: "+DefaultCommand, "codex.command is empty")
	}
}

// Normal is a state's name as names are compared.
func Normal(state string) string { return strings.ToLower(strings.TrimSpace(state)) }

// words are those of a scalar.
func (r *reader) words(key string, p pair) string {
	if p.value.Kind != yaml.ScalarNode {
		r.bad(InvalidSetting, p.line, "write one value", "%s is no single value", key)
		return ""
	}
	return strings.TrimSpace(p.value.Value)
}

// script is a text as it stands.
func (r *reader) script(key string, p pair) string {
	if p.value.Kind != yaml.ScalarNode {
		r.bad(InvalidSetting, p.line, "write a script, as text", "%s is no text", key)
		return ""
	}
	return p.value.Value
}

// list is one, or the parts of a text between commas.
func (r *reader) list(key string, p pair) (out []string) {
	var all []string
	switch p.value.Kind {
	case yaml.ScalarNode:
		all = strings.Split(p.value.Value, ",")
	case yaml.SequenceNode:
		for _, n := range p.value.Content {
			if n = resolved(n); n.Kind != yaml.ScalarNode {
				r.bad(InvalidSetting, n.Line, "write names", "%s holds something else than names", key)
				continue
			}
			all = append(all, n.Value)
		}
	default:
		r.bad(InvalidSetting, p.line, "write a list of names", "%s is no list", key)
	}
	for _, one := range all {
		if one = strings.TrimSpace(one); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// number is a whole number, also one that stands in quotes.
func number(n *yaml.Node) (int64, bool) {
	if n.Kind != yaml.ScalarNode {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimSpace(n.Value), 10, 64)
	return v, err == nil
}

func (r *reader) count(key string, p pair, was, least, most int) int {
	n, ok := number(p.value)
	if !ok || n < int64(least) || n > int64(most) {
		r.bad(InvalidSetting, p.line, "write a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most), "%s is %s", key, quoted(p.value.Value))
		return was
	}
	return int(n)
}

func (r *reader) millis(key string, p pair, was time.Duration, least int64) time.Duration {
	n, ok := number(p.value)
	if !ok || n < least || n > maxMillis {
		r.bad(InvalidSetting, p.line, "write a time in milliseconds", "%s is %s", key, quoted(p.value.Value))
		return was
	}
	return time.Duration(n) * time.Millisecond
}

// byState reads the limits by state. Those that are none are left out, and said.
func (r *reader) byState(key string, p pair) map[string]int {
	out := map[string]int{}
	if p.value.Kind != yaml.MappingNode {
		r.bad(InvalidSetting, p.line, "write state: number below it", "%s is no map", key)
		return out
	}
	for _, s := range r.pairs(p.value) {
		n, ok := number(s.value)
		if !ok || n < 1 || n > maxAgents {
			r.note(InvalidSetting, s.line, "", "%s of the state %s is no limit, and has no effect", key, quoted(s.name))
			continue
		}
		out[Normal(s.name)] = int(n)
	}
	return out
}

// secret is a value that may stand in a variable. The name is "" where it stands in
// the file.
func (r *reader) secret(value string) (secret, name string) {
	if name, ok := variable(value); ok {
		return r.s.Getenv(name), name
	}
	return value, ""
}

// variable is the name of one that a value is, as $NAME or ${NAME}.
func variable(value string) (name string, ok bool) {
	name, ok = strings.CutPrefix(value, "$")
	if inner, braced := strings.CutPrefix(name, "{"); braced {
		name = strings.TrimSuffix(inner, "}")
	}
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return "", false
	}
	for _, c := range name {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return "", false
		}
	}
	return name, true
}

// path is a folder: ~ and $NAME are what they stand for, and a relative one is taken
// from the folder of the file.
func (r *reader) path(key string, p pair) string {
	value := r.words(key, p)
	head, rest, cut := strings.Cut(value, "/")
	if name, ok := variable(head); ok {
		if head = r.s.Getenv(name); head == "" {
			r.bad(InvalidSetting, p.line, "set "+name, "%s is %s, and that is not set", key, quoted(value))
			return ""
		}
	} else if head == "~" {
		if head = r.s.Home; head == "" {
			r.bad(InvalidSetting, p.line, "write the whole path", "%s is %s, and there is no home", key, quoted(value))
			return ""
		}
	}
	if value = head; cut {
		value += "/" + rest
	}
	if value == "" {
		r.bad(InvalidSetting, p.line, "name a folder", "%s is empty", key)
		return ""
	}
	if !filepath.IsAbs(value) {
		value = filepath.Join(r.s.Dir, value)
	}
	if value = filepath.Clean(value); filepath.Dir(value) == value {
		r.bad(InvalidSetting, p.line, "name a folder below it", "%s is the root of the file system", key)
	}
	return value
}
