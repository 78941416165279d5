package symphony

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"forge/internal/text"
)

// Entry is one key of .forge/forge.toml with its value, and the line of WORKFLOW.md
// that it comes from; 0 = it is no line's alone.
type Entry struct {
	Path  []string
	Line  int
	Value any // bool, int64, float64, string, []any, map[string]any
}

// block reads the block of Forge's own.
func (r *reader) block(root *yaml.Node) (out []Entry) {
	for _, p := range r.pairsOnce(root) {
		if p.name != forgeBlock || null(p.value) || p.value.Kind != yaml.MappingNode {
			continue // one that is no map was said
		}
		quiet := reader{}
		for _, inner := range quiet.pairs(p.value) {
			if !slices.Contains(OwnKeys(), inner.name) {
				out = r.entries(out, []string{inner.name}, inner, 0)
			}
		}
	}
	return out
}

// entries are the keys below one.
func (r *reader) entries(out []Entry, path []string, p pair, depth int) []Entry {
	if p.value.Kind == yaml.MappingNode && len(p.value.Content) > 0 && depth < maxDepth {
		for _, inner := range r.pairs(p.value) {
			out = r.entries(out, append(slices.Clone(path), inner.name), inner, depth+1)
		}
		return out
	}
	if null(p.value) {
		return out
	}
	left := maxNodes
	v, err := plainValue(p.value, depth, &left)
	if err != nil {
		r.bad(InvalidSetting, p.line, "write it plainly", "%s.%s: %v", forgeBlock, strings.Join(path, "."), err)
		return out
	}
	return append(out, Entry{path, p.line, v})
}

// plainValue is a node as a value. left bounds how many there may be.
func plainValue(n *yaml.Node, depth int, left *int) (any, error) {
	n = resolved(n)
	if *left--; *left < 0 || depth > maxDepth {
		return nil, fmt.Errorf("it is too large")
	}
	switch n.Kind {
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			v, err := plainValue(c, depth+1, left)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := plainValue(n.Content[i+1], depth+1, left)
			if err != nil {
				return nil, err
			}
			out[resolved(n.Content[i]).Value] = v
		}
		return out, nil
	case yaml.ScalarNode:
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, fmt.Errorf("it cannot be read: %s", text.OneLine(err.Error(), 100))
		}
		switch v := v.(type) {
		case int:
			return int64(v), nil
		case bool, float64, string:
			return v, nil
		case time.Time:
			return n.Value, nil
		}
	}
	return nil, fmt.Errorf("it is neither text, number, list nor map")
}

// TOML is the file as .forge/forge.toml would say it, each key on the line that it
// comes from as far as that can be: what is wrong with it then has the line of
// WORKFLOW.md. What the block forge says stands for itself.
func (w *Workflow) TOML() string {
	all := slices.Clone(w.Forge)
	said := func(path ...string) bool {
		return slices.ContainsFunc(w.Forge, func(e Entry) bool {
			return len(e.Path) >= len(path) && slices.Equal(e.Path[:len(path)], path)
		})
	}
	add := func(setting string, value any, path ...string) {
		if !said(path...) {
			all = append(all, Entry{path, w.lines[setting], value})
		}
	}
	s := w.Settings
	all = slices.DeleteFunc(all, func(e Entry) bool { return slices.Equal(e.Path, []string{"factory", "plan"}) })
	all = append(all, Entry{[]string{"factory", "plan"}, 0, "single"})
	add("agent.max_concurrent_agents", int64(s.MaxAgents), "factory", "max_running")
	add("agent.max_turns", int64(s.MaxTurns), "defaults", "budget")
	add("codex.turn_timeout_ms", seconds(s.Codex.TurnTimeout), "limits", "iteration_secs")
	add("codex.stall_timeout_ms", seconds(s.Codex.Stall), "limits", "idle_secs")
	if s.Codex.ReadNamed {
		add("codex.read_timeout_ms", seconds(s.Codex.ReadTimeout), "limits", "start_secs")
	}
	if !said("agent", "use") {
		add("codex.command", "codex", "agent", "use")
		if command := s.Codex.Words(); len(command) > 0 {
			add("codex.command", command, "agents", "codex", "command")
		}
		if s.Codex.Model != "" {
			add("codex.model", s.Codex.Model, "agents", "codex", "model")
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return lineOf(a) - lineOf(b) })
	var b strings.Builder
	line := 1
	for _, e := range all {
		for ; e.Line > line; line++ {
			b.WriteByte('\n')
		}
		for i, p := range e.Path {
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(tomlText(p))
		}
		b.WriteString(" = ")
		writeTOML(&b, e.Value)
		b.WriteByte('\n')
		line++
	}
	return b.String()
}

// lineOf puts what no line says to the end.
func lineOf(e Entry) int {
	if e.Line == 0 {
		return math.MaxInt32
	}
	return e.Line
}

// seconds are whole ones, at least one of what is more than nothing.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

func writeTOML(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(tomlText(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		out := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.ContainsAny(out, ".infna") {
			out += ".0"
		}
		b.WriteString(strings.ToLower(strings.TrimPrefix(out, "+")))
	case []any:
		b.WriteByte('[')
		for i, one := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			writeTOML(b, one)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for i, name := range names {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(tomlText(name) + " = ")
			writeTOML(b, v[name])
		}
		b.WriteByte('}')
	}
}

// tomlText is a text on one line.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// serverWord is the argument by which codex is asked to be a server. Forge's driver
// gives it itself, with arguments of its own.
const serverWord = "app-server"

// Words are the command as a program with its arguments, but for what the driver of
// codex adds; none = codex itself. What needs a shell is given to bash as it stands:
// when it is asked for the server. All else is asked of the program that it names.
func (c Codex) Words() []any {
	words, plain := shellWords(c.Command)
	if plain && len(words) > 1 && words[len(words)-1] == serverWord {
		if words = words[:len(words)-1]; len(words) == 1 && words[0] == "codex" {
			return nil
		}
		out := []any{}
		for _, w := range words {
			out = append(out, w)
		}
		return out
	}
	program := "codex"
	for n, w := range strings.Fields(c.Command) {
		if w == serverWord && n > 0 {
			program = strings.Fields(c.Command)[n-1]
			break
		}
	}
	if strings.ContainsAny(program, `'"$;&|<>()`+"`") || strings.HasPrefix(program, "-") {
		program = "codex"
	}
	script := "if [ \"$1\" = " + serverWord + " ]; then\n" + c.Command + "\nelse\nexec " + program + " \"$@\"\nfi"
	return []any{"bash", "-lc", script, "codex"}
}

// shellWords are the words of a command that a shell would take as they stand. plain
// is false where it would do more with them.
func shellWords(command string) (words []string, plain bool) {
	var b strings.Builder
	open, quote := false, byte(0)
	for i := range len(command) {
		switch c := command[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'':
			b.WriteByte(c)
		case quote == '"' && strings.IndexByte("$`\\", c) < 0:
			b.WriteByte(c)
		case quote == 0 && (c == '\'' || c == '"'):
			quote, open = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if open {
				words = append(words, b.String())
				b.Reset()
			}
			open = false
		case quote != 0 || strings.IndexByte("$`\\;&|<>()*?[]{}#!~", c) >= 0:
			return nil, false
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, b.String())
	}
	// A first word such as NAME=value is no program.
	return words, quote == 0 && (len(words) == 0 || !strings.Contains(words[0], "="))
}
