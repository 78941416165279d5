//go:build real

package web_test

import (
	"testing"

	"forge/factory/web/webtest"
)

// The pages of the documentation read well on a screen and on a phone: one with
// tables, one with code, the longest.
func TestRealDocumentationInABrowser(t *testing.T) {
	t.Parallel()
	b := webtest.New(t).Browser()
	b.SignIn()
	for name, path := range map[string]string{
		"docs": "/docs", "docs-tables": "/docs/troubleshooting", "docs-code": "/docs/tutorial", "docs-long": "/docs/config",
	} {
		b.GoTo(path)
		b.Check(name)
	}
	b.Quiet()
}
