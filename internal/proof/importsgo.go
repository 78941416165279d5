package proof

import (
	"go/parser"
	gotoken "go/token"
	"path"
	"strconv"
	"strings"
)

// goModule is a go.mod of the tree.
type goModule struct{ dir, name string }

func (sv *survey) goModules() []goModule {
	var out []goModule
	for _, p := range sv.paths {
		if path.Base(p) != "go.mod" || foreign(p) {
			continue
		}
		for line := range strings.Lines(string(sv.content(p))) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
				rest, _, _ = strings.Cut(rest, "//")
				out = append(out, goModule{path.Dir(p), strings.Trim(strings.TrimSpace(rest), `"`)})
				break
			}
		}
	}
	return out
}

// readGo reads imports and what is embedded. The strings of a file are read
// with the tolerant reader: a file that the parser refuses has them too.
func (sv *survey) readGo(f *file, content []byte, mods []goModule) {
	if parsed, err := parser.ParseFile(gotoken.NewFileSet(), "", content, parser.ImportsOnly); err == nil {
		for _, spec := range parsed.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil {
				sv.goImport(f, name, mods)
			}
		}
	}
	if !strings.HasSuffix(f.path, "_test.go") {
		for _, at := range embedded(f.path, content) {
			if star := strings.IndexAny(at, "*?["); star >= 0 {
				at = path.Dir(at[:star] + "x")
			}
			if at != path.Dir(f.path) {
				sv.ProductNames[at] = f.path
			}
		}
	}
	s := lex("go", content)
	for _, t := range s.tokens {
		if t.kind == text && pathLike(s.inner(t)) {
			f.strings = append(f.strings, s.inner(t))
		}
	}
}

func (sv *survey) goImport(f *file, name string, mods []goModule) {
	for _, m := range mods {
		rest, ok := strings.CutPrefix(name, m.name)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		dir := path.Join(m.dir, rest)
		// The first file stands for the package; see importedBy.
		if all := sv.goFiles(dir); len(all) > 0 {
			f.edge(all[0])
		}
		return
	}
	f.outside = append(f.outside, name)
}

// goFiles are those of a package, without its tests.
func (sv *survey) goFiles(dir string) []string {
	if sv.goPackages == nil {
		sv.goPackages = map[string][]string{}
		for _, p := range sv.paths {
			if strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
				sv.goPackages[path.Dir(p)] = append(sv.goPackages[path.Dir(p)], p)
			}
		}
	}
	return sv.goPackages[dir]
}
