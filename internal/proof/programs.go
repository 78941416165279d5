package proof

import "strings"

// Programs are the names that a shell text starts by itself and that a shell looks
// for in PATH, in the order that they stand in: those of scripts that it starts are
// not. There is none where the text says itself what a name is.
func Programs(shell string) []string {
	var out []string
	for _, words := range splitShell(shell) {
		for len(words) > 0 && (starters[words[0]] || isAssignment(words[0])) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		switch name := words[0]; {
		case namers[name]:
			return nil
		case shells[name]:
			if len(words) == 3 && words[1] == "-c" {
				out = append(out, Programs(words[2])...)
			}
		case strings.Trim(name, programBytes) == "":
			out = append(out, name)
		}
	}
	if strings.Contains(shell, "PATH=") {
		return nil
	}
	return out
}

var (
	// starters stand before a program, which they start.
	starters = set("! time exec command then do else if while until")
	// namers give names another meaning.
	namers = set(". source alias hash eval export")
	shells = set("sh bash dash")
)

const programBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-"

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && isName(name)
}
