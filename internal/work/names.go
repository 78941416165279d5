package work

import (
	"fmt"
	"strings"

	"github.com/gobwas/glob"

	"forge/internal/text"
)

// maxPatternBytes is how long a pattern may be; names of phases are shorter.
const maxPatternBytes = 500

// MatchName returns the first of patterns that a phase's name matches. They
// are globs in which * and ? stand for any characters; case counts. ok is
// false when none matches. One that cannot be read is an error, also behind one
// that matches.
func MatchName(patterns []string, name string) (pattern string, ok bool, err error) {
	for _, p := range patterns {
		if p == "" || len(p) > maxPatternBytes {
			return "", false, fmt.Errorf("read pattern %q: it is empty or longer than %d bytes", text.Clip(p, 60), maxPatternBytes)
		}
		g, err := glob.Compile(p)
		if err != nil {
			return "", false, fmt.Errorf("read pattern %q: %s", text.Clip(p, 60), strings.TrimPrefix(err.Error(), "glob: "))
		}
		if !ok && g.Match(name) {
			pattern, ok = p, true
		}
	}
	return pattern, ok, nil
}
