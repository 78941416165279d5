package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"forge/internal/work"
)

// maxScriptTime bounds a duration in a script.
const maxScriptTime = 24 * time.Hour

// parseScript checks the text of a script. All problems are reported together,
// each with file and line.
func parseScript(path, text string) (script, error) {
	var file map[string]any
	if _, err := toml.Decode(text, &file); err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return script{}, fmt.Errorf("%s:%d: %s", path, max(at.Position.Line, 1), at.Message)
		}
		return script{}, fmt.Errorf("%s:1: %w", path, err)
	}
	r := scriptReader{path: path, places: newScriptPlaces(text)}
	out := r.file(file)
	if len(r.problems) > 0 {
		slices.SortStableFunc(r.problems, func(a, b scriptProblem) int { return cmp.Compare(a.line, b.line) })
		var all []error
		for _, p := range r.problems {
			all = append(all, fmt.Errorf("%s:%d: %s", path, p.line, p.what))
		}
		return script{}, errors.Join(all...)
	}
	return out, nil
}

// scriptReader turns decoded TOML into a script and notes what is wrong.
type scriptReader struct {
	path         string
	places       scriptPlaces
	step, action int // where it reads; -1 = outside
	problems     []scriptProblem
}

type scriptProblem struct {
	line int
	what string
}

func (r *scriptReader) wrong(key, format string, args ...any) {
	r.problems = append(r.problems, scriptProblem{r.places.line(r.step, r.action, key), fmt.Sprintf(format, args...)})
}

// only reports keys of m that are not known.
func (r *scriptReader) only(m map[string]any, known ...string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(known, key) {
			r.wrong(key, "unknown key %q; did you mean %q?", key, nearest(key, known))
		}
	}
}

func (r *scriptReader) file(m map[string]any) (s script) {
	r.step, r.action = -1, -1
	r.only(m, "step")
	steps, ok := tables(m["step"])
	if !ok {
		r.wrong("step", "steps are written as [[step]]")
		return s
	}
	for i, st := range steps {
		r.step, r.action = i, -1
		s.steps = append(s.steps, r.readStep(st))
	}
	return s
}

func (r *scriptReader) readStep(m map[string]any) scriptStep {
	r.only(m, "phase", "iteration", "attempt", "session", "do")
	st := scriptStep{Iteration: r.small(m, "iteration"), Attempt: r.small(m, "attempt")}
	if _, ok := m["phase"]; ok {
		st.Phase = r.text(m, "phase")
	}
	if _, ok := m["session"]; ok {
		if st.Session = r.text(m, "session"); st.Session != "new" && st.Session != "continued" {
			r.wrong("session", "unknown session %q; use \"new\" or \"continued\"", st.Session)
		}
	}
	actions, ok := tables(m["do"])
	if !ok {
		r.wrong("do", "do is a list of actions, as in do = [{print = \"hello\"}]")
		return st
	}
	for i, a := range actions {
		r.action = i
		st.Do = append(st.Do, r.readAction(a))
	}
	return st
}

func (r *scriptReader) readAction(m map[string]any) scriptAction {
	verbs := scriptVerbs()
	var named, known []string
	for _, v := range slices.Sorted(maps.Keys(verbs)) {
		known = append(known, v)
		if _, ok := m[v]; ok {
			named = append(named, v)
		}
	}
	switch {
	case len(named) == 0 && len(m) == 0:
		r.wrong("", "an action without a verb")
		return scriptAction{}
	case len(named) == 0:
		r.only(m, known...)
		return scriptAction{}
	case len(named) > 1:
		r.wrong(named[1], "one action with two verbs, %q and %q; write two actions", named[0], named[1])
		return scriptAction{}
	}
	verb := verbs[named[0]]
	r.only(m, append(slices.Sorted(maps.Keys(verb.with)), named[0])...)
	a := scriptAction{Verb: named[0]}
	r.argument(&a, m, named[0], verb.takes)
	for key, takes := range verb.with {
		if _, ok := m[key]; ok {
			r.argument(&a, m, key, takes)
		}
	}
	return a
}

// argument reads m[key] into the place of a that key stands for.
func (r *scriptReader) argument(a *scriptAction, m map[string]any, key string, takes argument) {
	switch takes {
	case argText:
		to := &a.Text
		if key == "content" {
			to = &a.Content
		}
		*to = r.text(m, key)
	case argPath:
		if a.Text = r.text(m, key); !filepath.IsLocal(a.Text) {
			r.wrong(key, "%q is not a path inside the folder", a.Text)
		}
	case argTrue:
		v, ok := m[key].(bool)
		if !ok {
			r.wrong(key, "%s is true or false", key)
		}
		if key == a.Verb && ok && !v {
			r.wrong(key, "%s = false does nothing; remove the action", key)
		}
		switch key {
		case "append":
			a.Append = v
		case "one_line":
			a.OneLine = v
		case "ignore_term":
			a.IgnoreTerm = v
		case "hold_output":
			a.HoldOutput = v
		}
	case argCount:
		v, ok := m[key].(int64)
		if a.Count = v; !ok || v < 0 || key == "exit" && v > 255 {
			r.wrong(key, "%s = %v: a whole number is needed, not negative, and an exit code of at most 255", key, m[key])
		}
	case argTime:
		a.Time = r.time(m[key], key)
	case argMode:
		bits, err := strconv.ParseUint(r.text(m, key), 8, 32)
		if err != nil || bits == 0 || bits > 0o777 {
			r.wrong(key, "mode is written as in \"0755\"")
		}
		a.Mode = os.FileMode(bits) & os.ModePerm
	case argUsage:
		a.Usage = r.usage(m[key], key)
	case argSubPhase:
		a.SubPhase = r.subPhase(m[key], key)
	}
}

func (r *scriptReader) text(m map[string]any, key string) string {
	s, ok := m[key].(string)
	if !ok {
		r.wrong(key, "%s is a text in quotes, not %v", key, m[key])
	}
	return s
}

// small reads an iteration or attempt, where 0 stands for any.
func (r *scriptReader) small(m map[string]any, key string) int {
	v, ok := m[key]
	if !ok {
		return 0
	}
	n, ok := v.(int64)
	if !ok || n < 0 || n > math.MaxInt32 {
		r.wrong(key, "%s = %v: a whole number from 1 is needed, or 0 for any", key, v)
		return 0
	}
	return int(n)
}

func (r *scriptReader) time(v any, key string) time.Duration {
	d := time.Duration(-1)
	switch v := v.(type) {
	case string:
		if parsed, err := time.ParseDuration(v); err == nil {
			d = parsed
		}
	case int64:
		if v <= int64(maxScriptTime/time.Second) {
			d = time.Duration(v) * time.Second
		}
	case float64:
		if v <= maxScriptTime.Seconds() {
			d = time.Duration(v * float64(time.Second))
		}
	}
	if d < 0 || d > maxScriptTime {
		r.wrong(key, "%s = %v: a time of at most 24h is needed, as in \"1.5s\", or in seconds", key, v)
		return 0
	}
	return d
}

// usage reads what is to be reported, as it stands: a script may report
// nonsense on purpose.
func (r *scriptReader) usage(v any, key string) (u work.Usage) {
	m, ok := v.(map[string]any)
	if !ok {
		r.wrong(key, "usage is written as {input_tokens = 1, output_tokens = 2, cost_usd = 0.1}")
		return u
	}
	r.only(m, "input_tokens", "output_tokens", "cost_usd")
	tokens := func(name string) *int64 {
		n, ok := m[name].(int64)
		if _, there := m[name]; !ok && there {
			r.wrong(name, "%s is a whole number", name)
		}
		if !ok {
			return nil
		}
		return &n
	}
	u.InputTokens, u.OutputTokens = tokens("input_tokens"), tokens("output_tokens")
	switch usd := m["cost_usd"].(type) {
	case nil:
	case int64:
		f := float64(usd)
		u.CostUSD = &f
	case float64:
		u.CostUSD = &usd
	default:
		r.wrong("cost_usd", "cost_usd is a number")
	}
	if u.CostUSD != nil && (math.IsNaN(*u.CostUSD) || math.IsInf(*u.CostUSD, 0)) {
		r.wrong("cost_usd", "cost_usd is a finite number")
		u.CostUSD = nil
	}
	return u
}

func (r *scriptReader) subPhase(v any, key string) (s work.SubPhaseRequest) {
	m, ok := v.(map[string]any)
	if !ok {
		r.wrong(key, "subphase is written as {name = \"…\", promise = \"…\", budget = 2}")
		return s
	}
	r.only(m, "name", "promise", "budget", "reasoning")
	s.Name, s.Promise, s.Budget = r.text(m, "name"), r.text(m, "promise"), r.small(m, "budget")
	if _, ok := m["reasoning"]; ok {
		s.Reasoning = r.text(m, "reasoning")
	}
	return s
}

// tables reads a list of tables, however it was written; nil is an empty one.
func tables(v any) ([]map[string]any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, true
	case []map[string]any:
		return v, true
	case []any:
		var out []map[string]any
		for _, e := range v {
			m, ok := e.(map[string]any)
			if !ok {
				return nil, false
			}
			out = append(out, m)
		}
		return out, true
	}
	return nil, false
}

// nearest is the known word that takes the fewest edits to reach, or of which
// the word is the beginning.
func nearest(word string, known []string) string {
	word = word[:min(len(word), 60)] // the effort grows with its length
	far := func(k string) int {
		if strings.HasPrefix(k, word) {
			return 0
		}
		return edits(word, k)
	}
	return slices.MinFunc(known, func(a, b string) int {
		return cmp.Or(cmp.Compare(far(a), far(b)), strings.Compare(a, b))
	})
}
