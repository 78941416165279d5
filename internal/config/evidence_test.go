package config

import (
	"strings"
	"testing"
)

// TestMatcherRefuses: a glob of the settings stays below the checkout. How globs match is
// held where they do, in internal/pathglob.
func TestMatcherRefuses(t *testing.T) {
	for _, bad := range []string{"", "/", "a/../b", "..", "[", "{a", strings.Repeat("a", 501)} {
		if _, err := NewMatcher([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestProtectedDefaults: each of the built-in globs is one that can be written.
func TestProtectedDefaults(t *testing.T) {
	for _, g := range ProtectedDefaults() {
		if g != TestFiles {
			if what := checkPathGlob(g); what != "" {
				t.Errorf("%s: %s", g, what)
			}
		}
	}
}
