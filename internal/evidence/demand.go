package evidence

import (
	"path"
	"slices"
	"strings"

	"forge/internal/proof"
)

// demanded says that verify commands name a file that the floor does not have,
// or a folder that it has nothing of: the owner asks for it to be made. Putting
// the floor's evidence back does not take it away again.
//
// What is loaded in the place of others is never asked for by that: "python -m
// pytest" names no folder pytest. Nor are settings by naming their folder.
func demanded(file proof.Seen, commands []string, floor []string) bool {
	if file.Rule == proof.RuleShadows {
		return false
	}
	bare := !slices.ContainsFunc(floor, makefile)
	for _, c := range commands {
		for _, word := range strings.FieldsFunc(c, endsWord) {
			name := path.Clean(strings.TrimPrefix(word, "./"))
			switch {
			case name == "." || path.IsAbs(name) || strings.HasPrefix(name, ".."):
			case !bare && !strings.ContainsAny(word, "./"):
				// A target's name: with a file of that name there, "make test" does nothing.
			case name == file.Path:
				return true
			case file.Rule == proof.RuleSetting || file.Rule == proof.RuleDot:
			case strings.HasPrefix(file.Path, name+"/") && !holds(floor, name):
				return true
			}
		}
	}
	return false
}

// makefile says that a file's rules have names, which may be those of files.
func makefile(file string) bool {
	name := strings.ToLower(path.Base(file))
	return name == "makefile" || name == "gnumakefile" || path.Ext(name) == ".mk"
}

// endsWord says that no path goes on behind r in a shell's text.
func endsWord(r rune) bool { return strings.ContainsRune(" \t\n;|&()<>'\"`=,:", r) }

// holds says that a file, or one in a folder, of that name is among files.
func holds(files []string, name string) bool {
	for _, f := range files {
		if f == name || strings.HasPrefix(f, name+"/") {
			return true
		}
	}
	return false
}
