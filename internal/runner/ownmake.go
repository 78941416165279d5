package runner

import (
	"slices"
	"strings"

	texts "forge/internal/text"
)

// madeCall is the one line that a call of make runs, where the Makefile is so plain
// that it can say nothing else: rules alone, without variables, conditions, includes
// or special targets; the goal is phony, has one rule, needs nothing, and its recipe
// is one line. What reaches the line's environment from make is set by madeEnv.
func madeCall(words []string, text func(file string) string) ([]string, bool) {
	if text == nil || len(words) == 0 || words[0] != "make" {
		return nil, false
	}
	goals := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return slices.Contains(quietMake, w) })
	if len(goals) > 1 || len(goals) == 1 && !goalName().MatchString(goals[0]) || text("GNUmakefile") != "" || text("makefile") != "" {
		return nil, false
	}
	m, ok := readMakefile(text("Makefile"))
	if !ok {
		return nil, false
	}
	goal := m.first
	if len(goals) == 1 {
		goal = goals[0]
	}
	rule, known := m.rules[goal]
	if !known || !m.phony[goal] || rule.needs != "" || len(rule.recipe) != 1 {
		return nil, false
	}
	line := strings.TrimPrefix(rule.recipe[0], "@")
	made := strings.Fields(line)
	if strings.Trim(line, plainBytes) != "" || len(made) == 0 || strings.ContainsAny(made[0][:1], "-+") {
		return nil, false // nothing, or a line whose failure make passes over
	}
	return made, true
}

// quietMake are the flags that change nothing of what is run, or how it ends.
var quietMake = []string{"-s", "--silent", "--quiet", "--no-print-directory"}

// madeEnv stands before a line that make would have run: what tells it that it does.
const madeEnv = "export MAKELEVEL=1; "

var goalName = texts.Lazy(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// makefile is one that holds rules alone.
type makefile struct {
	first string // the first goal, which make takes where none is named
	rules map[string]makeRule
	phony map[string]bool
}

type makeRule struct {
	needs  string
	recipe []string
}

// readMakefile reads a Makefile of plain rules. ok is false for any other, and for
// one that gives a goal twice.
func readMakefile(content string) (m makefile, ok bool) {
	m = makefile{rules: map[string]makeRule{}, phony: map[string]bool{}}
	at := ""
	for line := range strings.Lines(content) {
		line = strings.TrimSuffix(line, "\n")
		recipe, isRecipe := strings.CutPrefix(line, "\t")
		switch {
		case strings.ContainsAny(line, "$\\\r") || strings.HasPrefix(line, " "):
			return m, false
		case strings.TrimSpace(line) == "", !isRecipe && strings.HasPrefix(line, "#"):
			continue
		case isRecipe && at == "":
			return m, false
		case isRecipe:
			rule := m.rules[at]
			rule.recipe = append(rule.recipe, strings.TrimSpace(recipe))
			m.rules[at] = rule
			continue
		}
		name, needs, isRule := strings.Cut(line, ":")
		name, needs = strings.TrimSpace(name), strings.TrimSpace(needs)
		if !isRule || strings.Trim(needs, plainNeeds) != "" {
			return m, false
		}
		if name == ".PHONY" {
			for _, goal := range strings.Fields(needs) {
				m.phony[goal] = true
			}
			at = ""
			continue
		}
		if _, twice := m.rules[name]; twice || !goalName().MatchString(name) || name == "include" || name == "export" {
			return m, false
		}
		m.rules[name], at = makeRule{needs: needs}, name
		if m.first == "" {
			m.first = name
		}
	}
	return m, true
}

// plainNeeds are the bytes of what a rule needs, where it sets and expands nothing.
const plainNeeds = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
