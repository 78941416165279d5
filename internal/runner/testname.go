package runner

import (
	"path"
	"strings"

	texts "forge/internal/text"
)

// TestName is what a test is called in its file, by which a runner's name for it
// can be told wherever it stands.
type TestName string

var (
	quotedName = texts.Lazy("[\"'`]([^\"'`]+)[\"'`]")
	namedAfter = texts.Lazy(`\b(?:def|fn|func|function|void)\s+(\w+)`)
)

// NameOf is the name of the test that an expectation stands in; "" where its file
// is the test.
func NameOf(w Wrong) TestName {
	if m := namedAfter().FindStringSubmatch(w.Test); m != nil && m[1] != "main" {
		return TestName(m[1])
	}
	if m := quotedName().FindStringSubmatch(w.Test); m != nil {
		return TestName(m[1])
	}
	base := path.Base(w.Path)
	return TestName(strings.TrimSuffix(base, path.Ext(base)))
}

// In says that a runner's name can be that of this test.
func (n TestName) In(name string) bool {
	if n == "" {
		return false
	}
	for at := 0; ; {
		i := strings.Index(name[at:], string(n))
		if i < 0 {
			return false
		}
		i += at
		end := i + len(n)
		if (i == 0 || !isNameByte(name[i-1])) && (end == len(name) || !isNameByte(name[end])) {
			return true
		}
		at = i + 1
	}
}

func isNameByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
