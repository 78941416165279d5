package proof

import (
	"path"
	"strings"
)

// runner reads the arguments of a test runner: files and folders are tests,
// values of options are loaded.
func (sv *survey) runner(base string, args []string, by, dir string) {
	if base == "pytest" || base == "py.test" {
		sv.doctestFlags(args)
	}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "run" || a == "test" || a == "discover" || a == "watch":
		case (a == "-s" || a == "--start-directory" || a == "-P" || a == "--default-path" || a == "--dir" || a == "--spec" || a == "--pattern") && i+1 < len(args):
			i++
			sv.collects(args[i], by, dir)
		case base == "unittest" && a == "-p" && i+1 < len(args):
			i++
			sv.collect = append(sv.collect, args[i])
		case strings.HasPrefix(a, "-"):
			name, value, _ := strings.Cut(a, "=")
			switch name {
			case "--spec", "--pattern", "--testMatch", "--default-path", "--dir", "--testPathPattern", "--start-directory":
				sv.collects(value, by, dir)
			default:
				sv.option(value, by, dir)
				if len(a) > 2 && (strings.HasPrefix(a, "-p") || strings.HasPrefix(a, "-r") || strings.HasPrefix(a, "-c")) {
					sv.option(a[2:], by, dir)
				}
			}
			if value == "" && takesValue(a) && i+1 < len(args) {
				i++
				sv.option(args[i], by, dir)
			}
		default:
			sv.collects(a, by, dir)
		}
	}
}

func (sv *survey) doctestFlags(args []string) {
	for _, a := range args {
		if strings.HasPrefix(a, "--doctest") {
			sv.DocTests["python"] = true
			if glob, ok := strings.CutPrefix(a, "--doctest-glob="); ok {
				sv.collect = append(sv.collect, strings.Trim(glob, `'"`))
			}
		}
	}
}

// collects notes a file, folder or glob that a runner is told to run.
func (sv *survey) collects(a, by, dir string) {
	a, _, _ = strings.Cut(a, "::")
	a = strings.TrimPrefix(a, "<rootDir>/")
	if a == "" || strings.Contains(a, "./...") {
		return
	}
	if strings.ContainsAny(a, "*?[{") {
		at := clean(path.Join(dir, runnerGlob(a)))
		// A glob that takes in all source says nothing of tests.
		if at != "" && !strings.HasPrefix(at, "**/*.") || strings.Contains(path.Base(at), "test") || strings.Contains(path.Base(at), "spec") {
			sv.collect = append(sv.collect, "/"+at)
		}
		return
	}
	at := sv.resolveAny(a, dir)
	if at == "" {
		at = sv.loads(a, dir)
	}
	switch {
	case at == "":
	case sv.files[at] != nil:
		sv.name(at, RuleCollected, "%s runs it", by)
	case !sv.inSource(at+"/x") && !sv.productPackage(at):
		sv.name(at, RuleCollected, "%s runs what is in it", by)
		sv.collect = append(sv.collect, "/"+at+"/**")
	}
}

// productPackage is true for a folder that the project's manifest is about.
func (sv *survey) productPackage(dir string) bool {
	for _, p := range sv.paths {
		if strings.HasPrefix(p, dir+"/") && sv.files[p].sort == sourceSort && (sv.entries[p] || sv.subjectByName(p)) {
			return true
		}
	}
	return false
}

// subjectByName is true for a source file that a test file is named after.
func (sv *survey) subjectByName(p string) bool {
	if sv.early == nil {
		sv.early = map[string]bool{}
		for _, q := range sv.paths {
			if isTestName(path.Base(q)) {
				for _, s := range subjectsOf(q) {
					sv.early[s] = true
				}
			}
		}
	}
	return !isTestName(path.Base(p)) && sv.early[stemOf(p)]
}

var recipeTarget = expr(`^([^\s:#=][^:#=]*):([^=].*)?$`)

// make follows the recipes of a Makefile's targets, all when no target is named.
func (sv *survey) make(args []string, by, dir string, depth int) {
	file := ""
	var goals []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case (a == "-f" || a == "--file" || a == "-C" || a == "--directory") && i+1 < len(args):
			i++
			if a == "-C" || a == "--directory" {
				if to := sv.resolveAny(args[i], dir); sv.folders[to] {
					dir = to
				}
			} else {
				file = sv.resolve(args[i], dir)
			}
		case !strings.HasPrefix(a, "-") && !strings.Contains(a, "="):
			goals = append(goals, a)
		}
	}
	for _, base := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if at := clean(path.Join(dir, base)); file == "" && sv.files[at] != nil {
			file = at
		}
	}
	if file == "" {
		return
	}
	sv.name(file, RuleVerify, "%s starts it", by)
	sv.makefile(file, goals, dir, depth)
}

// makefile reads includes, recipes and what they start.
func (sv *survey) makefile(file string, goals []string, dir string, depth int) {
	if sv.done[file+strings.Join(goals, " ")] || depth > maxDepth {
		return
	}
	sv.done[file+strings.Join(goals, " ")] = true
	rules := map[string]*makeRule{}
	var all []*makeRule
	var current *makeRule
	content := strings.ReplaceAll(string(sv.content(file)), "\\\n", " ")
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\n\r")
		switch {
		case strings.HasPrefix(line, "\t"):
			if current != nil {
				current.recipe = append(current.recipe, strings.TrimLeft(line, "\t "))
			}
		case strings.HasPrefix(strings.TrimLeft(line, "- s"), "include "):
			_, names, _ := strings.Cut(line, "include ")
			for _, one := range strings.Fields(names) {
				if at := sv.resolve(one, dir); at != "" {
					sv.name(at, RuleVerify, "%s includes it", file)
					sv.makefile(at, nil, dir, depth+1)
				}
			}
		default:
			if found := recipeTarget().FindStringSubmatch(line); found != nil {
				needs, inline, _ := strings.Cut(strings.TrimLeft(found[2], ":"), ";")
				current = &makeRule{needs: strings.Fields(needs)}
				if inline != "" {
					current.recipe = append(current.recipe, inline)
				}
				all = append(all, current)
				for _, target := range strings.Fields(found[1]) {
					rules[target] = current
				}
			}
		}
	}
	for _, r := range makeReached(rules, all, goals) {
		for _, need := range r.needs {
			sv.input(need, file, dir)
		}
		for _, line := range r.recipe {
			line = strings.NewReplacer("$(MAKE)", "make", "${MAKE}", "make", "$(PYTHON)", "python", "$(CURDIR)/", "").Replace(strings.TrimLeft(line, "@-+ "))
			sv.command(line, file, dir, depth+1)
		}
	}
}

type makeRule struct{ needs, recipe []string }

// makeReached are the rules that the goals need; all where a goal is not found.
func makeReached(rules map[string]*makeRule, all []*makeRule, goals []string) []*makeRule {
	if len(goals) == 0 {
		return all
	}
	var out []*makeRule
	seen := map[string]bool{}
	for len(goals) > 0 {
		goal := goals[0]
		goals = goals[1:]
		if seen[goal] {
			continue
		}
		seen[goal] = true
		if r, ok := rules[goal]; ok {
			out = append(out, r)
			goals = append(goals, r.needs...)
		} else if len(seen) == 1 {
			return all
		}
	}
	return out
}
