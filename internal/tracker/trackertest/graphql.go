package trackertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// schema says which fields the types of a GraphQL server have: each as
// "name(argument,…):Type", where a field without a type is a value. Queries are held
// against it, so that an adapter asks for nothing that the real server does not know.
type schema map[string]string

// field is what a schema says of one.
func (s schema) field(of, name string) (args []string, is string, ok bool) {
	for one := range strings.FieldsSeq(s[of]) {
		one, is, _ := strings.Cut(one, ":")
		one, list, _ := strings.Cut(strings.TrimSuffix(one, ")"), "(")
		if one == name {
			return strings.Split(list, ","), is, true
		}
	}
	return nil, "", false
}

// object is a value of a type. A field that depends on its arguments, or that is
// dear, is a lazy.
type object map[string]any

type lazy func(args object) (any, error)

// selected is one field of a query, or a condition on the type of what it is in.
type selected struct {
	as, name string
	on       string // of "... on Type"
	args     map[string]any
	fields   []selected
}

// variable is one as it stands in a query.
type variable string

// graphServer answers queries.
type graphServer struct {
	schema schema
	roots  map[string]object // by "query" and "mutation"
	// invalid is the status of HTTP for a query that is none.
	invalid int
}

// answer is what a query is answered with, and whether it is one at all.
func (g graphServer) answer(query string, variables map[string]any) (data any, err error) {
	p := &graphParser{words: graphWords(query)}
	kind, fields, err := p.operation()
	if err != nil {
		return nil, err
	}
	root := map[string]string{"query": "Query", "mutation": "Mutation"}[kind]
	return g.object(root, g.roots[kind], fields, variables)
}

// object answers the fields of one.
func (g graphServer) object(of string, from object, fields []selected, variables map[string]any) (any, error) {
	out := map[string]any{}
	for _, f := range fields {
		if f.on != "" {
			if from["__typename"] != f.on {
				continue
			}
			more, err := g.object(f.on, from, f.fields, variables)
			if err != nil {
				return nil, err
			}
			for k, v := range more.(map[string]any) {
				out[k] = v
			}
			continue
		}
		if f.name == "__typename" {
			out[f.as] = from[f.name]
			continue
		}
		args, is, known := g.schema.field(of, f.name)
		if !known {
			return nil, fmt.Errorf("Cannot query field %q on type %q", f.name, of)
		}
		if (is == "") != (len(f.fields) == 0) {
			return nil, fmt.Errorf("Field %q of type %q has a wrong selection", f.name, of)
		}
		given := object{}
		for name, v := range f.args {
			if !slices.Contains(args, name) {
				return nil, fmt.Errorf("Unknown argument %q on field %q", name, of+"."+f.name)
			}
			given[name] = filled(v, variables)
		}
		v := from[f.name]
		if late, ok := v.(lazy); ok {
			var err error
			if v, err = late(given); err != nil {
				return nil, err
			}
		}
		v, err := g.value(is, v, f, variables)
		if err != nil {
			return nil, err
		}
		out[f.as] = v
	}
	return out, nil
}

func (g graphServer) value(is string, v any, f selected, variables map[string]any) (any, error) {
	switch v := v.(type) {
	case object:
		if v == nil {
			return nil, nil
		}
		return g.object(is, v, f.fields, variables)
	case []object:
		out := []any{}
		for _, one := range v {
			shown, err := g.object(is, one, f.fields, variables)
			if err != nil {
				return nil, err
			}
			out = append(out, shown)
		}
		return out, nil
	}
	return v, nil
}

// filled is an argument with its variables.
func filled(v any, variables map[string]any) any {
	switch v := v.(type) {
	case variable:
		return variables[string(v)]
	case map[string]any:
		out := map[string]any{}
		for k, one := range v {
			out[k] = filled(one, variables)
		}
		return out
	case []any:
		var out []any
		for _, one := range v {
			out = append(out, filled(one, variables))
		}
		return out
	}
	return v
}

// serve answers a request with a query in it.
func (g graphServer) serve(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Query     string         `json:"query"`
		Variables map[string]any `json:"variables"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		answer(w, http.StatusBadRequest, map[string]any{"errors": []any{graphError(err, "INPUT_ERROR")}})
		return
	}
	data, err := g.answer(in.Query, in.Variables)
	var coded graphRefusal
	if errors.As(err, &coded) {
		answer(w, http.StatusOK, map[string]any{"data": nil, "errors": []any{graphError(err, coded.code)}})
		return
	}
	if err != nil {
		answer(w, g.invalid, map[string]any{"errors": []any{graphError(err, "GRAPHQL_VALIDATION_FAILED")}})
		return
	}
	answer(w, http.StatusOK, map[string]any{"data": data})
}

// graphRefusal is an error with a code.
type graphRefusal struct{ code, what string }

func (r graphRefusal) Error() string { return r.what }

func graphError(err error, code string) any {
	return map[string]any{"message": err.Error(), "extensions": map[string]any{"code": code, "userPresentableMessage": err.Error()}}
}

// graphWords takes a query apart.
func graphWords(query string) (words []string) {
	const marks = "{}()[]:!$,"
	for n := 0; n < len(query); {
		switch c := query[n]; {
		case c == ' ' || c == '\n' || c == '\t' || c == ',':
			n++
		case strings.HasPrefix(query[n:], "..."):
			words = append(words, "...")
			n += 3
		case c == '"':
			end := strings.IndexByte(query[n+1:], '"') + n + 2
			words = append(words, query[n:end])
			n = end
		case strings.IndexByte(marks, c) >= 0:
			words = append(words, string(c))
			n++
		default:
			end := n
			for end < len(query) && !strings.ContainsRune(marks+" \n\t\"", rune(query[end])) {
				end++
			}
			words = append(words, query[n:end])
			n = end
		}
	}
	return words
}

// graphParser reads the words of a query. Past their end are empty words.
type graphParser struct{ words []string }

func (p *graphParser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *graphParser) take() string {
	w := p.next()
	if w != "" {
		p.words = p.words[1:]
	}
	return w
}

func (p *graphParser) operation() (kind string, fields []selected, err error) {
	if kind = p.take(); kind != "query" && kind != "mutation" {
		return "", nil, fmt.Errorf("Syntax Error: Unexpected Name %q", kind)
	}
	for p.next() != "{" && p.next() != "" {
		p.take() // variables are checked where they are used
	}
	fields, err = p.selection()
	return kind, fields, err
}

func (p *graphParser) selection() (fields []selected, err error) {
	if p.take() != "{" {
		return nil, fmt.Errorf("Syntax Error: Expected {")
	}
	for p.next() != "}" {
		var f selected
		if f.name = p.take(); f.name == "" {
			return nil, fmt.Errorf("Syntax Error: Unexpected <EOF>")
		}
		if f.as = f.name; f.name == "..." {
			p.take()
			f.on = p.take()
		}
		if p.next() == ":" {
			p.take()
			f.name = p.take()
		}
		if p.next() == "(" {
			p.take()
			f.args = p.pairs(")")
		}
		if p.next() == "{" {
			if f.fields, err = p.selection(); err != nil {
				return nil, err
			}
		}
		fields = append(fields, f)
	}
	p.take()
	return fields, nil
}

// pairs are names with their values up to a mark.
func (p *graphParser) pairs(end string) map[string]any {
	out := map[string]any{}
	for p.next() != end && p.next() != "" {
		name := p.take()
		p.take() // :
		out[name] = p.value()
	}
	p.take()
	return out
}

func (p *graphParser) value() any {
	switch w := p.take(); {
	case w == "$":
		return variable(p.take())
	case w == "{":
		return p.pairs("}")
	case w == "[":
		list := []any{}
		for p.next() != "]" && p.next() != "" {
			list = append(list, p.value())
		}
		p.take()
		return list
	default:
		var v any
		if json.Unmarshal([]byte(w), &v) != nil {
			return w // a word of an enumeration
		}
		return v
	}
}
