package proof

import (
	"path"
	"strings"
)

// runnerGlob makes a pattern of a runner's own settings ours: ?(x), @(a|b) and
// *(x) of extended globs become alternatives.
func runnerGlob(one string) string {
	one = strings.TrimPrefix(strings.TrimPrefix(one, "<rootDir>"), "/")
	one = strings.TrimPrefix(one, "./")
	var b strings.Builder
	for i := 0; i < len(one); i++ {
		c := one[i]
		if strings.IndexByte("?@+*", c) < 0 || i+1 >= len(one) || one[i+1] != '(' {
			b.WriteByte(c)
			continue
		}
		end := strings.IndexByte(one[i:], ')')
		if end < 0 {
			b.WriteByte(c)
			continue
		}
		choices := strings.ReplaceAll(one[i+2:i+end], "|", ",")
		if c == '?' || c == '*' {
			choices += ","
		}
		b.WriteString("{" + choices + "}")
		i += end
	}
	return b.String()
}

// clean makes a path of the tree of what a file names, "" when it leads out.
func clean(name string) string {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == ".." || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/") {
		return ""
	}
	return name
}
