package stuck

import (
	"path"
	"slices"
	"strings"
)

// Marks of comments that reach to the end of a line, by the ending of a file.
var (
	slashes = []string{".go", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".java", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".cs", ".swift", ".kt", ".scala", ".php", ".css", ".scss", ".dart", ".zig", ".proto"}
	hashes  = []string{".py", ".rb", ".sh", ".bash", ".yml", ".yaml", ".toml", ".pl", ".r", ".ex", ".exs", ".mk", ".cfg", ".ini", ".nix", ".tf"}
	dashes  = []string{".sql", ".lua", ".hs", ".elm", ".adb", ".ads"}
)

func commentMark(file string) string {
	switch ext := strings.ToLower(path.Ext(file)); {
	case slices.Contains(slashes, ext):
		return "//"
	case slices.Contains(hashes, ext), path.Base(file) == "Makefile", path.Base(file) == "Dockerfile":
		return "#"
	case slices.Contains(dashes, ext):
		return "--"
	}
	return ""
}

// Shape is a digest of a patch in git's format without blanks, comments, the
// names of files and lines that only moved. bare says that nothing is left of
// it. An empty patch has no shape and is not bare. Comments are told by their
// line: one in the middle of code, or of a language that is not known, counts as
// code.
func Shape(patch string) (digest string, bare bool) {
	if patch == "" {
		return "", false
	}
	lines := map[string]int{} // more often added than removed
	var other []string
	file, hunk := "", false
	for line := range strings.SplitSeq(patch, "\n") {
		switch {
		case strings.HasPrefix(line, "diff --git "):
			file, hunk = line[strings.LastIndexByte(line, '/')+1:], false
		case strings.HasPrefix(line, "@@ "):
			hunk = true
		case hunk && strings.HasPrefix(line, "+"):
			if code := codeOf(line[1:], file); code != "" {
				lines[code]++
			}
		case hunk && strings.HasPrefix(line, "-"):
			if code := codeOf(line[1:], file); code != "" {
				lines[code]--
			}
		case !hunk && (strings.HasPrefix(line, "new mode ") || strings.HasPrefix(line, "new file mode ") || strings.HasPrefix(line, "deleted file mode ") || strings.HasPrefix(line, "Binary files ")):
			other = append(other, strings.Fields(line)[0]+" "+strings.Fields(line)[1])
		}
	}

	for code, n := range lines {
		if n != 0 {
			sign := "+"
			if n < 0 {
				sign, n = "-", -n
			}
			other = append(other, strings.Repeat(sign, min(n, 9))+code)
		}
	}
	if len(other) == 0 {
		return "", true
	}
	slices.Sort(other)
	return Digest(strings.Join(other, "\n")), false
}

// codeOf is a line without blanks and comments; "" when it has nothing else.
func codeOf(line, file string) string {
	mark, trimmed := commentMark(file), strings.TrimSpace(line)
	if mark != "" {
		if strings.HasPrefix(trimmed, mark) || mark == "//" && (strings.HasPrefix(trimmed, "/*") || strings.HasPrefix(trimmed, "* ") || trimmed == "*" || trimmed == "*/") {
			return ""
		}
		if i := strings.Index(trimmed, " "+mark); i >= 0 && !strings.ContainsAny(trimmed, "\"'`") {
			trimmed = trimmed[:i]
		}
	}
	return strings.Join(strings.Fields(trimmed), "")
}
