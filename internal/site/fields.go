package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	pages "forge/factory/web"
	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// field is a setting that has a place of its own in the form; what it means and its
// default are the settings type's to say.
// none is what holds where neither the file nor a default says anything.
type field struct{ group, key, label, unit, none string }

// fields are what people change most, in the order of the form.
func fields() []field {
	return []field{
		{"Who works, and who decides", "agent.use", "Agent", "", ""},
		{"Who works, and who decides", "autonomy.level", "Level of runs", "", "interactive for runs"},
		{"Who works, and who decides", "factory.default_policy", "Level of issues", "", ""},
		{"What proves the work", "verify.commands", "Commands", "one a line", "none"},
		{"What proves the work", "verify.timeout_secs", "Longest time of a command", "seconds", ""},
		{"What proves the work", "verify.cache", "Further caches", "one a line", "none"},
		{"What proves the work", "verify.cold", "Empty caches", "", ""},
		{"What it may take", "cost.run_usd", "A run", "dollars", "no cap"},
		{"What it may take", "cost.phase_usd", "A phase", "dollars", "no cap"},
		{"What it may take", "cost.iteration_usd", "An iteration", "dollars", "no cap"},
		{"What it may take", "cost.day_usd", "A day", "dollars", "no cap"},
		{"What it may take", "defaults.budget", "Iterations of a phase", "", ""},
	}
}

// levels are presets as a form offers them.
func levels(c gates.Catalogue) (out pages.Choices) {
	for _, info := range c.List() {
		out = append(out, pages.Choice{Value: info.Name, Says: info.Use})
	}
	return out
}

// fieldsOf are the fields of a configuration that was read from a text.
func (s *Settings) fieldsOf(body string, cfg *config.Config) (out []pages.Field) {
	holds := map[string]config.Line{}
	for _, l := range cfg.Show() {
		holds[l.Key] = l
	}
	for _, f := range fields() {
		k, _ := config.KeyOf(f.key)
		one := pages.Field{Key: f.key, Group: f.group, Label: f.label, Unit: f.unit, Doc: k.Doc, Lines: k.Type == "list of strings"}
		one.None = f.none
		one.Default, _ = k.Said(k.Default)
		if now, ok := holds[f.key]; ok && now.Origin != "" && !strings.HasPrefix(now.Origin, config.ProjectFile) && now.Origin != "default" {
			one.Holds, _ = k.Said(now.Value)
			one.Origin = now.Origin
		}
		if literal, said := config.Said(body, k.Path); said {
			if one.Value, said = k.Said(literal); !said {
				one.Locked = "It is written in a form that has no place here: change it in the file."
			}
		}
		one.Choices = s.choicesOf(k, one.Value, cfg)
		out = append(out, one)
	}
	return out
}

// choicesOf are what a field is chosen from; nil where it is written. What the file
// says is always among them.
func (s *Settings) choicesOf(k config.Key, value string, cfg *config.Config) (out pages.Choices) {
	switch k.Name() {
	case "autonomy.level", "factory.default_policy":
		out = levels(cfg.Presets())
	case "agent.use":
		for _, kind := range project.AgentKinds() {
			if kind.Name != "acp" && kind.Name != "exec" && kind.Name != "script" { // these take an entry that says what they run
				out = append(out, pages.Choice{Value: kind.Name})
			}
		}
		for name := range cfg.File.Agents {
			if !slices.Contains(out.Values(), name) {
				out = append(out, pages.Choice{Value: name, Says: "An agent of your own configuration."})
			}
		}
		slices.SortFunc(out, func(a, b pages.Choice) int { return strings.Compare(a.Value, b.Value) })
	default:
		if k.Type == "true or false" {
			out = pages.Choices{{Value: "true", Says: k.Doc}, {Value: "false"}}
		}
	}
	if out != nil && value != "" && !slices.Contains(out.Values(), value) {
		out = append(out, pages.Choice{Value: value})
	}
	return out
}

// Propose is the text of the project's file with these values, by the names of
// fields; what is not among them, or said already, is not touched.
func (s *Settings) Propose(_ context.Context, values map[string]string, seen string) (string, error) {
	body, err := s.file()
	if err != nil {
		return "", err
	}
	if sumOf(body) != seen {
		return "", fmt.Errorf("%w: %s was changed meanwhile", work.ErrStale, config.ProjectFile)
	}
	bad := &pages.BadSettings{Fields: map[string]string{}}
	after := body
	for _, f := range fields() {
		said, sent := values[f.key]
		if !sent {
			continue
		}
		k, _ := config.KeyOf(f.key)
		if after, err = change(after, k, said); err != nil {
			bad.Fields[f.key] = sentence(err)
		}
	}
	if len(bad.Fields) > 0 {
		return "", bad
	}

	_, _, err = config.Load(s.sources(&after))
	var list *config.Problems
	if !errors.As(err, &list) {
		return after, err
	}
	for _, p := range list.List {
		if at := fieldAt(after, p); at != "" {
			bad.Fields[at] = text.Harmless(sentence(refusal.New(p.Fix, "%s", p.What)))
		} else {
			bad.Problems = append(bad.Problems, text.Harmless(p.String()))
		}
	}
	return "", bad
}

// change is a text that says something for a key, as a form does; the same where it
// says that already.
func change(body string, k config.Key, said string) (string, error) {
	literal, err := k.Literal(said)
	if err != nil {
		return body, err
	}
	if now, ok := config.Said(body, k.Path); ok {
		shown, fits := k.Said(now)
		if again, err := k.Literal(shown); fits && err == nil && again == literal {
			return body, nil
		}
	}
	after, err := config.Edit(body, k.Path, literal)
	if err != nil {
		return body, err
	}
	return after, nil
}

// fieldAt is the field that a problem is about, "" where it is another setting's.
func fieldAt(body string, p config.Problem) string {
	if p.File != config.ProjectFile {
		return ""
	}
	for _, f := range fields() {
		if k, _ := config.KeyOf(f.key); config.LineIn(body, k.Path, p.Line) {
			return f.key
		}
	}
	return ""
}

// sentence is an error with its way out, as a form says it.
func sentence(err error) string {
	out := err.Error()
	if refused := (*refusal.Error)(nil); errors.As(err, &refused) {
		out = refused.What
		if refused.Fix != "" {
			out += ": " + refused.Fix
		}
	}
	return text.Harmless(out)
}
