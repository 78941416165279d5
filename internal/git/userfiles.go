package git

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxAlternates bounds how deep a chain of borrowed object folders is
// followed; git itself stops at 5.
const maxAlternates = 5

// objectDirs returns first and every object folder that it borrows from.
func objectDirs(first string) []string {
	dirs := []string{filepath.Clean(first)}
	seen := map[string]bool{dirs[0]: true}
	level := dirs
	for depth := 0; depth < maxAlternates && len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			data, err := readSmall(filepath.Join(dir, "info", "alternates"))
			if err != nil {
				continue // git cannot read it either
			}
			for _, line := range splitLines(data) {
				if line == "" || line[0] == '#' {
					continue
				}
				if line[0] == '"' {
					if plain, err := strconv.Unquote(line); err == nil {
						line = plain
					}
				}
				if !filepath.IsAbs(line) {
					line = filepath.Join(dir, line)
				}
				if line = filepath.Clean(line); !seen[line] {
					seen[line] = true
					next = append(next, line)
				}
			}
		}
		dirs, level = append(dirs, next...), next
	}
	return dirs
}

// alternates renders the file objects/info/alternates.
func alternates(dirs []string) []byte {
	var b strings.Builder
	for _, dir := range dirs {
		if strings.ContainsAny(dir, "\n\"\\") || strings.HasPrefix(dir, "#") {
			dir = `"` + configEscape.Replace(dir) + `"`
		}
		b.WriteString(dir + "\n")
	}
	return []byte(b.String())
}

// checkCommands refuses a filter or merge driver that is a file of the
// project: it would run outside the sandbox, as an agent last wrote it.
func checkCommands(root string, settings []setting) error {
	for _, s := range settings {
		section, _, _ := strings.Cut(s.key, ".")
		name := s.key[strings.LastIndexByte(s.key, '.')+1:]
		if !(section == "filter" && name != "required") && !(section == "merge" && name == "driver") {
			continue
		}
		for _, word := range strings.Fields(s.value) {
			word = strings.Trim(word, `"';&|`)
			if word == "" || filepath.IsAbs(word) || !strings.ContainsAny(word, "/.") {
				continue
			}
			if info, err := os.Stat(filepath.Join(root, word)); err == nil && info.Mode().IsRegular() {
				return &StateError{
					"the git setting " + s.key + " runs " + word + " from the project, which an agent may rewrite",
					"name the command by an absolute path outside of the project",
				}
			}
		}
	}
	return nil
}

// usableIdent says that git accepts s as a name or an address: something is
// left once it drops what it does not allow there.
func usableIdent(s string) bool {
	return strings.Trim(s, " \t\r\n.,:;<>\"\\'") != "" && !strings.ContainsAny(s, "\x00\n")
}

func splitLines(data []byte) []string {
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// splitZ splits the NUL-terminated records of a "-z" output.
func splitZ(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
