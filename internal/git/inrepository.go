package git

import "strings"

// InRepository is a patch whose headers name the repository beside each path.
func InRepository(diff, name string) string {
	var b strings.Builder
	header := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "diff --git a/"):
			header = true
			line = strings.Replace(strings.Replace(line, " a/", " a/"+name+":", 1), " b/", " b/"+name+":", 1)
		case strings.HasPrefix(line, "@@"):
			header = false
		case header && strings.HasPrefix(line, "--- a/"):
			line = "--- a/" + name + ":" + strings.TrimPrefix(line, "--- a/")
		case header && strings.HasPrefix(line, "+++ b/"):
			line = "+++ b/" + name + ":" + strings.TrimPrefix(line, "+++ b/")
		}
		b.WriteString(line)
	}
	return b.String()
}
