package symphony

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what a template may become, and of the work on it.
const (
	maxRendered = 1 << 20
	maxSteps    = 1_000_000
)

// renderer fills a template with values: nil, bool, int64, float64, string, []any and
// map[string]any.
type renderer struct {
	scopes []map[string]any
	out    strings.Builder
	steps  int
}

// Render fills the template. The error is a *TemplateError.
func (t *Template) Render(values map[string]any) (string, error) {
	r := &renderer{scopes: []map[string]any{maps.Clone(values)}}
	if r.scopes[0] == nil {
		r.scopes[0] = map[string]any{}
	}
	if err := r.all(t.body); err != nil {
		return "", err
	}
	return r.out.String(), nil
}

func (r *renderer) wrong(line int, format string, args ...any) error {
	return &TemplateError{TemplateRender, line, fmt.Sprintf(format, args...)}
}

func (r *renderer) all(body []node) error {
	for _, n := range body {
		if r.steps++; r.steps > maxSteps || r.out.Len() > maxRendered {
			return r.wrong(n.line, "the prompt becomes too long")
		}
		if err := r.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) node(n node) error {
	switch n.kind {
	case nodeText:
		r.out.WriteString(n.text)
	case nodeValue:
		v, err := r.filtered(n.expr, n.line)
		if err != nil {
			return err
		}
		r.out.WriteString(shown(v))
	case nodeAssign:
		v, err := r.filtered(n.expr, n.line)
		if err != nil {
			return err
		}
		r.scopes[0][n.text] = v
	case nodeIf:
		return r.ifNode(n)
	case nodeCase:
		return r.caseNode(n)
	case nodeFor:
		return r.forNode(n)
	}
	return nil
}

func (r *renderer) ifNode(n node) error {
	for _, a := range n.arms {
		yes := true
		if a.when != nil {
			var err error
			if yes, err = r.holds(a.when, a.line); err != nil {
				return err
			}
			yes = yes != a.not
		}
		if yes {
			return r.all(a.body)
		}
	}
	return nil
}

func (r *renderer) caseNode(n node) error {
	v, err := r.filtered(n.expr, n.line)
	if err != nil {
		return err
	}
	for _, a := range n.arms {
		if a.is == nil {
			return r.all(a.body)
		}
		for _, o := range a.is {
			is, err := r.operand(o, a.line)
			if err != nil {
				return err
			}
			if same(v, is) {
				return r.all(a.body)
			}
		}
	}
	return nil
}

func (r *renderer) forNode(n node) error {
	v, err := r.filtered(n.expr, n.line)
	if err != nil {
		return err
	}
	items, ok := v.([]any)
	if !ok && v != nil {
		return r.wrong(n.line, "for needs a list")
	}
	if n.most != nil {
		most, err := r.operand(*n.most, n.line)
		if err != nil {
			return err
		}
		count, ok := most.(int64)
		if !ok || count < 0 {
			return r.wrong(n.line, "the limit of for is no number")
		}
		items = items[:min(int64(len(items)), count)]
	}
	if n.back {
		items = slices.Clone(items)
		slices.Reverse(items)
	}
	if len(items) == 0 {
		return r.all(n.other)
	}
	for i, item := range items {
		loop := map[string]any{
			"index": int64(i + 1), "index0": int64(i), "first": i == 0, "last": i == len(items)-1,
			"length": int64(len(items)), "rindex": int64(len(items) - i), "rindex0": int64(len(items) - i - 1),
		}
		r.scopes = append(r.scopes, map[string]any{n.text: item, "forloop": loop})
		err := r.all(n.body)
		r.scopes = r.scopes[:len(r.scopes)-1]
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *renderer) holds(c *condition, line int) (bool, error) {
	left, err := r.operand(c.left, line)
	if err != nil {
		return false, err
	}
	yes := truth(left)
	if c.op != "" {
		right, err := r.operand(c.right, line)
		if err != nil {
			return false, err
		}
		if yes, err = r.compare(left, c.op, right, line); err != nil {
			return false, err
		}
	}
	if c.next == nil {
		return yes, nil
	}
	// What is not asked for may still be unknown, and is an error then.
	next, err := r.holds(c.next, line)
	if err != nil {
		return false, err
	}
	if c.join == "and" {
		return yes && next, nil
	}
	return yes || next, nil
}

func (r *renderer) compare(left any, op string, right any, line int) (bool, error) {
	switch op {
	case "==":
		return same(left, right), nil
	case "!=", "<>":
		return !same(left, right), nil
	case "contains":
		switch in := left.(type) {
		case string:
			return strings.Contains(in, shown(right)), nil
		case []any:
			return slices.ContainsFunc(in, func(v any) bool { return same(v, right) }), nil
		case nil:
			return false, nil
		}
		return false, r.wrong(line, "contains needs a text or a list")
	}
	if left == nil || right == nil {
		return false, nil
	}
	var order int
	a, number := amount(left)
	b, both := amount(right)
	ls, text := left.(string)
	rs, texts := right.(string)
	switch {
	case number && both && a < b, text && texts && ls < rs:
		order = -1
	case number && both && a > b, text && texts && ls > rs:
		order = 1
	case number && both, text && texts:
	default:
		return false, r.wrong(line, "%s compares two numbers or two texts", op)
	}
	return op == "<" && order < 0 || op == ">" && order > 0 || op == "<=" && order <= 0 || op == ">=" && order >= 0, nil
}

// truth is as in Liquid: nothing and false are not true, all else is.
func truth(v any) bool { return v != nil && v != false }

func amount(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func same(a, b any) bool {
	if _, ok := b.(blank); ok {
		return hollow(a)
	}
	if _, ok := a.(blank); ok {
		return hollow(b)
	}
	x, ok := amount(a)
	y, both := amount(b)
	if ok && both {
		return x == y
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		s, ok := b.(string)
		return ok && a == s
	case bool:
		s, ok := b.(bool)
		return ok && a == s
	}
	return false
}

// hollow says that a value is nothing, or has nothing in it.
func hollow(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// operand is the value of one. A variable that nobody gave, or that a value does not
// have, is an error.
func (r *renderer) operand(o operand, line int) (any, error) {
	if len(o.path) == 0 {
		return o.value, nil
	}
	name := o.path[0].name
	var v any
	known := false
	for _, scope := range slices.Backward(r.scopes) {
		if v, known = scope[name]; known {
			break
		}
	}
	if !known {
		return nil, r.wrong(line, "the variable %s is not known", quoted(name))
	}
	for _, s := range o.path[1:] {
		key := any(s.name)
		if s.at != nil {
			var err error
			if key, err = r.operand(*s.at, line); err != nil {
				return nil, err
			}
		}
		var ok bool
		if v, ok = inside(v, key, s.at != nil); !ok {
			return nil, r.wrong(line, "%s has no %s", name, quoted(shown(key)))
		}
		name += "." + shown(key)
	}
	return v, nil
}

// inside is what a value has under a key.
func inside(v, key any, bracket bool) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		name, ok := key.(string)
		if !ok {
			return nil, false
		}
		inner, ok := v[name]
		if !ok && name == "size" && !bracket {
			return int64(len(v)), true
		}
		return inner, ok
	case []any:
		switch key := key.(type) {
		case int64:
			if key < 0 {
				key += int64(len(v))
			}
			if key < 0 || key >= int64(len(v)) {
				return nil, true // as in Liquid: lists are as long as they are
			}
			return v[key], true
		case string:
			switch {
			case bracket:
			case key == "size":
				return int64(len(v)), true
			case key == "first" && len(v) > 0:
				return v[0], true
			case key == "last" && len(v) > 0:
				return v[len(v)-1], true
			case key == "first" || key == "last":
				return nil, true
			}
		}
	case string:
		if key == "size" && !bracket {
			return int64(utf8.RuneCountInString(v)), true
		}
	}
	return nil, false
}

// shown is a value as it stands in a text.
func shown(v any) string {
	switch v := v.(type) {
	case nil, blank:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var b strings.Builder
		for _, one := range v {
			b.WriteString(shown(one))
		}
		return b.String()
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func (r *renderer) filtered(f filtered, line int) (any, error) {
	v, err := r.operand(f.of, line)
	if err != nil {
		return nil, err
	}
	for _, one := range f.filters {
		args := make([]any, len(one.args))
		for i, a := range one.args {
			if args[i], err = r.operand(a, line); err != nil {
				return nil, err
			}
		}
		var why string
		if v, why = applyFilter(one.name, v, args); why != "" {
			return nil, r.wrong(line, "%s", why)
		}
		if s, ok := v.(string); ok && len(s) > maxRendered {
			return nil, r.wrong(line, "the prompt becomes too long")
		}
	}
	return v, nil
}
