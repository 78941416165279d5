package proof

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// NamedBy finds, among changed product sources by path, one that reads a new
// file of data, which is product then as it would be once it is accepted. A
// source embeds what it says it embeds; that it names a file says so for those
// in its own folder, where no manifest lets a tool look for settings.
func (m *Map) NamedBy(file string, sources map[string][]byte) (Seen, bool) {
	if _, known := m.Files[file]; known || sortOf(file) != dataSort || m.seeNew(file, nil).Rule != RuleUnknown {
		return Seen{}, false
	}
	for _, source := range slices.Sorted(maps.Keys(sources)) {
		content := sources[source]
		lang := languageOf(source, content)
		embeds := lang == "go" && slices.ContainsFunc(embedded(source, content), func(pattern string) bool { return covers(pattern, file) })
		if embeds || path.Dir(source) == path.Dir(file) && !m.hasManifest(path.Dir(file)) && names(lang, content, path.Base(file)) {
			return m.is(Product, RuleAsset, "%s names it", source), true
		}
	}
	return Seen{}, false
}

func (m *Map) hasManifest(dir string) bool {
	for file := range m.Files {
		if path.Dir(file) == dir && isManifest(path.Base(file)) {
			return true
		}
	}
	return false
}

// embedded are the patterns that a Go file embeds, from the top of the tree.
func embedded(file string, content []byte) []string {
	var patterns []string
	s := lex("go", content)
	for _, t := range s.tokens {
		rest, ok := strings.CutPrefix(string(s.bytes(t)), "//go:embed ")
		if t.kind != comment || !ok {
			continue
		}
		for _, one := range strings.Fields(rest) {
			one = strings.TrimPrefix(strings.Trim(one, "\"`"), "all:")
			if at := clean(path.Join(path.Dir(file), one)); at != "" && at != path.Dir(file) {
				patterns = append(patterns, at)
			}
		}
	}
	return patterns
}

// covers says whether a pattern of embedded files names a file, or a folder
// above it.
func covers(pattern, file string) bool {
	for at := file; at != "."; at = path.Dir(at) {
		if ok, err := path.Match(pattern, at); ok && err == nil {
			return true
		}
	}
	return false
}

// names says whether a text of the source is the name of a file beside it.
func names(lang string, content []byte, base string) bool {
	s := lex(lang, content)
	return slices.ContainsFunc(s.tokens, func(t token) bool {
		return t.kind == text && path.Clean(s.inner(t)) == base
	})
}
