package stuck

import (
	"slices"
	"strings"

	"forge/internal/text"
)

var (
	// parts of a command line that are run one after the other.
	between = text.Lazy(`\s*(?:;|&&|\|\||\||\n)\s*`)
	// aPart names a place in a file: a line, a range, a count. Digits of a name
	// are none.
	aPart = text.Lazy(`(^|[\s:,#@'"])\d+(?:[-,:]\d+)*p?($|[\s:,;'"])`)
	// changing is what differs in the output of the same command: times,
	// durations, addresses, counters beside a unit, and folders of the machine.
	changing = text.Lazy(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?\S*` +
		`|\b\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?\b` +
		`|\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds|m|min|h)\b` +
		`|\b0x[0-9a-fA-F]+\b` +
		`|/(?:tmp|var/folders|private|home|root)/\S*` +
		`|\b(?:pid|port)[ =:]\d+`)
	blanks = text.Lazy(`[ \t]+`)
)

// Subject is what the arguments of a call are about: for a command line its
// different commands without options and line numbers, for a path the path
// without its range. Arguments that differ only there have the same subject.
func Subject(args string) string {
	args = strings.ReplaceAll(args, "\r", "")
	commands := between().Split(strings.TrimSpace(args), -1)
	for i, c := range commands {
		for {
			next := aPart().ReplaceAllString(c, "$1$2")
			if next == c {
				break
			}
			c = next
		}
		words := slices.DeleteFunc(strings.Fields(c), func(w string) bool {
			return strings.HasPrefix(w, "-") || strings.Trim(w, `'":,#@`) == ""
		})
		commands[i] = strings.TrimRight(strings.Join(words, " "), ":,#@ ")
	}
	slices.Sort(commands)
	return strings.Join(slices.Compact(commands), "; ")
}

// Steady is the result of a call without what differs each time: times,
// durations, addresses, folders of the machine.
func Steady(result string) string {
	return strings.TrimSpace(blanks().ReplaceAllString(changing().ReplaceAllString(result, ""), " "))
}

// EditTool says that a tool of this name writes files, as the agents call theirs.
func EditTool(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"edit", "write", "patch", "replace", "create_file", "delete_file", "insert"}, func(w string) bool {
		return strings.Contains(name, w)
	}) && !strings.Contains(name, "todo")
}
