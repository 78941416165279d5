package web

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"forge/factory"
	texts "forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// funcs are what templates may call beside Go's own.
func (s *Server) funcs() template.FuncMap {
	return template.FuncMap{
		"asset":        func(name string) (string, error) { return s.assets.url(name) },
		"markdown":     Markdown,
		"ago":          func(t time.Time) string { return ago(s.Now().Sub(t)) },
		"when":         func(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 UTC") },
		"stamp":        func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"usd":          usd,
		"usd2":         texts.USD,
		"words":        func(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") },
		"hold":         factory.HeldWords,
		"holds":        factory.HeldList,
		"asked":        factory.PlainFacts,
		"lasting":      texts.Took,
		"said":         withoutPromise,
		"plain":        texts.Plain,
		"name":         review.Name,
		"short":        texts.Short,
		"plural":       plural,
		"tokens":       tokens,
		"sentenceCase": func(text string) string { return strings.TrimSuffix(sentence(text), ".") },
		"join":         strings.Join,
		"dict":         dict,
		"priorities":   work.Priorities,
	}
}

// dict makes a map of names and values, for parts that take several.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict takes pairs, got %d values", len(pairs))
	}
	out := map[string]any{}
	for n := 0; n < len(pairs); n += 2 {
		name, ok := pairs[n].(string)
		if !ok {
			return nil, fmt.Errorf("dict takes names, got %v", pairs[n])
		}
		out[name] = pairs[n+1]
	}
	return out, nil
}

func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}

// usd is an amount of money; unknown is said as such.
func usd(v *float64) string {
	if v == nil {
		return "cost unknown"
	}
	return texts.USD(*v)
}

// tokens is how many were used; what nobody knows is said as such.
func tokens(known int64, unknown int) string {
	switch {
	case unknown == 0:
		return texts.Count(known) + " tokens"
	case known == 0:
		return "tokens unknown"
	}
	return texts.Count(known) + " tokens known"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sentence is a piece of an error as a sentence for a page.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	text = texts.UpperFirst(text)
	if strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// theme is what the person chose; "" = as their system has it.
func theme(r *http.Request) string {
	if c, err := r.Cookie("forge_theme"); err == nil && (c.Value == "dark" || c.Value == "light") {
		return c.Value
	}
	return ""
}
