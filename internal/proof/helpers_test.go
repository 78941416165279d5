package proof

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
)

// memory is a tree of texts.
type memory map[string]string

func (m memory) Paths() []string { return slices.Sorted(maps.Keys(m)) }

func (m memory) Read(p string) ([]byte, error) {
	if s, ok := m[p]; ok {
		return []byte(s), nil
	}
	return nil, fs.ErrNotExist
}

// tree reads "-- path --" and the lines below it.
func tree(archive string) memory {
	out := memory{}
	name := ""
	for line := range strings.Lines(archive) {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "-- ") && strings.HasSuffix(trimmed, " --") {
			name = strings.Trim(trimmed, "- ")
			out[name] = ""
		} else if name != "" {
			out[name] += line
		}
	}
	return out
}

func survey1(t testing.TB, m memory, commands ...string) *Map {
	t.Helper()
	got, err := Survey(m, Settings{Commands: commands})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sees holds the class of each path; "path=content" gives a content.
func sees(t *testing.T, m *Map, class Class, paths string) {
	t.Helper()
	for _, p := range strings.Fields(paths) {
		p, content, _ := strings.Cut(p, "=")
		if got := m.See(p, []byte(strings.NewReplacer("+", " ", "~", "\n").Replace(content))); got.Class != class {
			t.Errorf("%s is %s (%s: %s), want %s", p, got.Class, got.Rule, got.Why, class)
		}
	}
}
