package proof

import (
	"slices"
	"strings"
)

// lineReader reads a line of a manifest: the name of a dependency, and whether
// the registry has it. known is false for a line that is none.
type lineReader func(line string) (name, version string, registry, known bool)

// requirement reads a line of requirements.txt.
func requirement(line string) (name, version string, registry, known bool) {
	line, _, _ = strings.Cut(line, " #")
	if strings.HasPrefix(line, "-") || strings.HasSuffix(line, `\`) {
		return "", "", false, false
	}
	name, version, registry = pythonRequirement(line)
	return name, version, registry, name != ""
}

var gemForm = expr(`^gem\s+['"]([\w.-]+)['"]((?:\s*,\s*['"][^'"]*['"])*)\s*$`)

// gem reads a line of a Gemfile at its top: those in groups are indented.
func gem(line string) (name, version string, registry, known bool) {
	found := gemForm().FindStringSubmatch(line)
	if found == nil {
		return "", "", false, false
	}
	return found[1], strings.Trim(found[2], `, '"`), true, true
}

// mixLines puts the admitted new lines into the trusted manifest. Lines of
// comment say nothing.
func (m *Map) mixLines(lang string, trusted, snapshot []byte, read lineReader) (Mixed, error) {
	e := &entries{m: m, lang: lang}
	was, now := meaningful(trusted), meaningful(snapshot)
	known := map[string]bool{}
	for _, line := range was {
		if name, _, _, ok := read(strings.TrimSpace(line)); ok {
			known[name] = true
		}
	}
	counts := map[string]int{}
	for _, line := range was {
		counts[line]++
	}
	var added []string
	whole := true // all of the snapshot's lines are trusted or admitted
	for _, line := range now {
		if counts[line] > 0 {
			counts[line]--
			continue
		}
		name, version, registry, ok := read(line)
		if ok && !known[name] && e.admit(name, version, registry) {
			added = append(added, line)
			continue
		}
		if ok = ok && !known[name]; !ok {
			e.changed = true
		}
		whole = false
	}
	for _, n := range counts {
		if n > 0 {
			whole, e.changed = false, true
		}
	}
	// The order of what was there counts in a Gemfile.
	kept := slices.DeleteFunc(slices.Clone(now), func(line string) bool { return slices.Contains(added, line) })
	switch {
	case whole && slices.Equal(kept, was):
		return e.mixed(snapshot, true), nil
	case len(added) == 0:
		return e.mixed(trusted, false), nil
	}
	content := string(trusted)
	if content != "" && !strings.HasSuffix(content, "\n") {
		content += "\n"
	}
	return e.mixed([]byte(content+strings.Join(added, "\n")+"\n"), false), nil
}

// meaningful are the lines that say something.
func meaningful(data []byte) []string {
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, " \t\r\n")
		if trimmed := strings.TrimSpace(line); trimmed != "" && trimmed[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

// goRequire is a line of go.mod that asks for a module.
var goRequire = expr(`^(?:require\s+)?([\w./~-]+\.[\w./~-]+)\s+(v\d[\w.+-]*)(?:\s*//.*)?$`)

// mixGoMod reads go.mod as blocks of lines; only new lines of require blocks
// are product.
func (m *Map) mixGoMod(trusted, snapshot []byte) (Mixed, error) {
	e := &entries{m: m, lang: "go"}
	was, now := goLines(trusted), goLines(snapshot)
	known := map[string]bool{}
	for _, line := range was {
		if name, _, ok := requiredModule(line); ok {
			known[name] = true
		}
	}
	var added []string
	rest := slices.Clone(now)
	for _, line := range now {
		name, version, ok := requiredModule(line)
		if ok && !known[name] {
			rest = slices.DeleteFunc(rest, func(l string) bool { return l == line })
			if e.admit(name, version, true) {
				added = append(added, line)
			}
		}
	}
	slices.Sort(rest)
	sorted := slices.Sorted(slices.Values(was))
	e.changed = !slices.Equal(rest, sorted)
	switch {
	case !e.changed && len(e.left) == 0:
		return e.mixed(snapshot, true), nil
	case len(added) == 0:
		return e.mixed(trusted, false), nil
	}
	content := strings.TrimRight(string(trusted), "\n") + "\n\n"
	for _, line := range added {
		content += line + "\n"
	}
	return e.mixed([]byte(content), false), nil
}

// goLines writes the blocks of a go.mod out, each line with its verb. Whether
// a requirement is called indirect says nothing.
func goLines(data []byte) []string {
	var out []string
	verb := ""
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "//")
		line = strings.Join(strings.Fields(line), " ")
		switch {
		case line == "":
		case line == ")":
			verb = ""
		case strings.HasSuffix(line, "("):
			verb = strings.TrimSpace(strings.TrimSuffix(line, "(")) + " "
		default:
			out = append(out, verb+line)
		}
	}
	return out
}

func requiredModule(line string) (name, version string, ok bool) {
	if !strings.HasPrefix(line, "require ") {
		return "", "", false
	}
	found := goRequire().FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2], true
}
