package config

import (
	"fmt"
	"strings"

	"forge/internal/pathglob"
	texts "forge/internal/text"
)

// Matcher tells whether a path below the checkout matches one of several globs.
type Matcher = pathglob.Matcher

// NewMatcher compiles path globs. It refuses the empty glob, absolute ones and
// those that leave the checkout.
func NewMatcher(globs []string) (Matcher, error) {
	for _, text := range globs {
		if what := checkPathGlob(text); what != "" {
			return Matcher{}, fmt.Errorf("glob %q: %s", texts.Clip(text, mostQuoted), what)
		}
	}
	return pathglob.New(globs)
}

// checkPathGlob says what is wrong with a path glob; "" is nothing.
func checkPathGlob(text string) string {
	switch {
	case strings.Trim(text, "/") == "":
		return "it is empty"
	case len(text) > maxGlobBytes:
		return fmt.Sprintf("it is longer than %d bytes", maxGlobBytes)
	case strings.Contains(text, `\`) && !strings.ContainsAny(text, "*?[{"):
		return "it contains a backslash"
	}
	for _, part := range strings.Split(text, "/") {
		if part == ".." {
			return "it leaves the checkout"
		}
	}
	if _, err := pathglob.New([]string{text}); err != nil {
		return err.Error()
	}
	return ""
}
