package proof

import (
	"path"
	"slices"
	"strings"
)

// readSource reads what a source file imports and names, which test library it
// uses, and whether it asserts.
func (sv *survey) readSource(f *file, content []byte, mods []goModule) {
	f.library = testLibrary(f.lang, content)
	if f.lang == "go" {
		sv.readGo(f, content, mods)
		return
	}
	s := lex(f.lang, content).code()
	f.asserts, f.raises = asserts(&s)
	for i, t := range s.tokens {
		if t.kind == text {
			if inner := s.inner(t); pathLike(inner) {
				f.strings = append(f.strings, inner)
				sv.noteImport(f, &s, i, inner)
			}
		}
	}
	switch f.lang {
	case "shell":
		for _, words := range splitShell(string(content)) {
			for _, w := range words {
				if rest, ok := strings.CutPrefix(w, "$"); ok {
					_, w, _ = strings.Cut(rest, "/")
				}
				if pathLike(w) {
					f.strings = append(f.strings, w)
					sv.noteImport(f, &s, 0, w)
				}
			}
		}
	case "python":
		sv.readPython(f, &s)
	case "rust":
		sv.readRust(f, &s)
	case "java", "php":
		sv.readClasses(f, &s)
	}
	if strings.Contains(string(content), "doctest") && f.lang == "python" {
		sv.DocTests["python"] = true
	}
}

func pathLike(s string) bool {
	return s != "" && len(s) <= 200 && !strings.ContainsAny(s, "\n\t<>|\"") && s != "." && s != ".."
}

// edge notes that f imports a file of the tree.
func (f *file) edge(to string) {
	if to != f.path && !slices.Contains(f.imports, to) {
		f.imports = append(f.imports, to)
	}
}

// noteImport reads the imports that are strings: JavaScript, Ruby, PHP, C, shell.
func (sv *survey) noteImport(f *file, s *source, i int, name string) {
	before, earlier := s.word(i-1), s.word(i-2)
	switch f.lang {
	case "script":
		if before == "from" || before == "import" || before == "(" && scriptImports[earlier] {
			sv.scriptImport(f, name)
		}
	case "ruby":
		call := before
		if before == "(" {
			call = earlier
		}
		switch call {
		case "require", "load", "autoload", "require_relative":
			sv.rubyImport(f, name, call == "require_relative")
		}
	case "c":
		if before == "include" && earlier == "#" {
			sv.cImport(f, name)
		}
	}
	// A test that names a source as a path runs it: as good as an import.
	if to := sv.resolve(name, path.Dir(f.path)); to != "" && sv.files[to].sort == sourceSort {
		f.edge(to)
	}
}

var scriptImports = set("require import resolve mock doMock unmock requireActual importActual requireMock importMock createMockFromModule fork Worker URL")

func (sv *survey) scriptImport(f *file, name string) {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") {
		if to := sv.scriptFile(path.Join(path.Dir(f.path), name)); to != "" {
			f.edge(to)
		}
		return
	}
	for _, prefix := range []string{"@/", "~/", "#/", "src/", "$lib/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			for _, root := range []string{"src", "app", ".", "lib", "src/lib"} {
				if to := sv.scriptFile(path.Join(root, rest)); to != "" {
					f.edge(to)
					return
				}
			}
		}
	}
	whole := strings.TrimPrefix(name, "node:")
	parts := strings.SplitN(whole, "/", 3)
	if strings.HasPrefix(whole, "@") && len(parts) > 1 {
		name = parts[0] + "/" + parts[1]
	} else {
		name = parts[0]
	}
	f.outside = append(f.outside, name)
	f.loose = append(f.loose, loose{whole, name})
}

// scriptFile resolves a module as Node and TypeScript do.
func (sv *survey) scriptFile(at string) string {
	at = clean(at)
	if at == "" {
		return ""
	}
	stem := strings.TrimSuffix(at, path.Ext(at))
	for _, try := range []string{at, stem + ".ts", stem + ".tsx", stem + ".mts", stem + ".cts"} {
		if f := sv.files[try]; f != nil {
			return try
		}
	}
	for _, ext := range []string{".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".json", ".vue", ".svelte"} {
		for _, try := range []string{at + ext, at + "/index" + ext} {
			if sv.files[try] != nil {
				return try
			}
		}
	}
	return ""
}

func (sv *survey) rubyImport(f *file, name string, relative bool) {
	if !strings.HasSuffix(name, ".rb") {
		name += ".rb"
	}
	roots := []string{"lib", ".", "app", "test", "spec", path.Dir(f.path)}
	if relative {
		roots = []string{path.Dir(f.path)}
	}
	for _, root := range roots {
		if to := clean(path.Join(root, name)); sv.files[to] != nil {
			f.edge(to)
			return
		}
	}
	name = strings.TrimSuffix(name, ".rb")
	first, _, _ := strings.Cut(name, "/")
	f.outside = append(f.outside, first)
	if !relative {
		f.loose = append(f.loose, loose{name, first})
	}
}

func (sv *survey) cImport(f *file, name string) {
	for _, root := range []string{path.Dir(f.path), ".", "include", "src", "lib"} {
		to := clean(path.Join(root, name))
		if sv.files[to] == nil {
			continue
		}
		f.edge(to)
		// What a header says is in the source of its name.
		stem := strings.TrimSuffix(path.Base(to), path.Ext(to))
		for _, dir := range []string{path.Dir(to), "src", "lib", "."} {
			for _, ext := range []string{".c", ".cc", ".cpp", ".cxx", ".m"} {
				if src := clean(path.Join(dir, stem+ext)); sv.files[src] != nil {
					f.edge(src)
				}
			}
		}
		return
	}
	f.outside = append(f.outside, name)
	f.loose = append(f.loose, loose{name, name})
}

// readPython reads import statements; from a import b may mean a/b.py.
func (sv *survey) readPython(f *file, s *source) {
	for i, t := range s.tokens {
		first := i == 0 || s.tokens[i-1].line != t.line || strings.Contains(";:", s.word(i-1)) && s.word(i-1) != ""
		if t.kind != word || !first {
			continue
		}
		switch s.word(i) {
		case "import":
			for j := i + 1; ; {
				name, next := s.dotted(j)
				sv.pythonImport(f, name)
				if s.word(next) == "as" {
					next += 2
				}
				if s.word(next) != "," {
					break
				}
				j = next + 1
			}
		case "from":
			name, next := s.dotted(i + 1)
			if s.word(next) != "import" {
				continue
			}
			sv.pythonImport(f, name)
			for j := next + 1; j < len(s.tokens) && (s.tokens[j].line == t.line || s.word(next+1) == "("); j++ {
				if w := s.word(j); w == ")" {
					break
				} else if w != "" && isWordByte(w[0]) && s.word(j-1) != "as" {
					sv.pythonModule(f, strings.TrimSuffix(name, ".")+"."+w)
				}
			}
		}
	}
}

// dotted reads a name with dots, and says which token comes after.
func (s *source) dotted(i int) (string, int) {
	var b strings.Builder
	line := int32(0)
	for ; i < len(s.tokens); i++ {
		w := s.word(i)
		if w != "." && (w == "" || !isWordByte(w[0]) || b.Len() > 0 && s.word(i-1) != "." || w == "import" || line != 0 && s.tokens[i].line != line) {
			break
		}
		line = s.tokens[i].line
		b.WriteString(w)
	}
	return b.String(), i
}

func (sv *survey) pythonImport(f *file, name string) {
	if name == "" || sv.pythonModule(f, name) || strings.HasPrefix(name, ".") {
		return
	}
	first, _, _ := strings.Cut(name, ".")
	if !sv.pythonModule(f, first) {
		f.outside = append(f.outside, first)
		f.loose = append(f.loose, loose{strings.ReplaceAll(name, ".", "/"), first})
	}
}

// pythonModule notes the file of a module, and says whether there is one.
func (sv *survey) pythonModule(f *file, name string) bool {
	dots := len(name) - len(strings.TrimLeft(name, "."))
	rest := strings.ReplaceAll(strings.Trim(name, "."), ".", "/")
	var roots []string
	if dots > 0 {
		root := path.Dir(f.path)
		for range dots - 1 {
			root = path.Dir(root)
		}
		roots = []string{root}
	} else {
		roots = []string{".", "src", "lib", "python"}
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			roots = append(roots, dir)
		}
	}
	for _, root := range roots {
		at := clean(path.Join(root, rest))
		for _, try := range []string{at + ".py", at + "/__init__.py"} {
			if sv.files[try] == nil {
				continue
			}
			f.edge(try)
			for dir := path.Dir(try); dir != "." && dir != root; dir = path.Dir(dir) {
				if sv.files[dir+"/__init__.py"] != nil {
					f.edge(dir + "/__init__.py")
				}
			}
			return true
		}
		if at != "" && sv.folders[at] && rest != "" && dots == 0 && sv.files[at] == nil && root == "." {
			return true // a package without __init__.py
		}
	}
	return false
}

// readRust follows mod declarations; those for tests are evidence with all
// below them.
func (sv *survey) readRust(f *file, s *source) {
	base := path.Base(f.path)
	dir := path.Dir(f.path)
	own := strings.TrimSuffix(base, ".rs")
	inner := path.Join(dir, own)
	if own == "main" || own == "lib" || own == "mod" || path.Base(dir) == "tests" || path.Base(dir) == "bin" {
		inner = dir
	}
	for i := range s.tokens {
		if s.word(i) != "mod" || s.word(i+2) != ";" {
			continue
		}
		name := s.word(i + 1)
		named, isTest := s.rustAttributes(i)
		for _, try := range []string{path.Join(inner, name+".rs"), path.Join(inner, name, "mod.rs"), clean(path.Join(dir, named))} {
			to := sv.files[clean(try)]
			if to == nil || named != "" && to.path != clean(path.Join(dir, named)) {
				continue
			}
			f.edge(to.path)
			if isTest {
				sv.name(to.path, RuleTestFile, "%s has it for tests alone", f.path)
				sv.name(strings.TrimSuffix(strings.TrimSuffix(to.path, ".rs"), "/mod"), RuleTestFile, "%s has it for tests alone", f.path)
			}
		}
	}
	if testFolders[strings.ToLower(path.Base(dir))] || path.Base(dir) == "benches" || path.Base(dir) == "examples" {
		for _, lib := range []string{path.Join(path.Dir(dir), "src/lib.rs")} {
			if sv.files[lib] != nil {
				f.edge(lib)
			}
		}
	}
}

// rustAttributes reads those before token i: a path, and whether they say test.
func (s *source) rustAttributes(i int) (named string, isTest bool) {
	for i--; i >= 0 && (s.word(i) == "pub" || s.word(i) == ")" && s.word(i-1) == "crate"); i-- {
		if s.word(i) == ")" {
			i -= 2
		}
	}
	for i >= 0 && s.word(i) == "]" {
		start := i
		for depth := 0; start >= 0; start-- {
			switch s.word(start) {
			case "]":
				depth++
			case "[":
				depth--
			}
			if depth == 0 {
				break
			}
		}
		isTest = isTest || s.cfgTest(start, i)
		if s.word(start+1) == "path" && start+3 < len(s.tokens) && s.tokens[start+3].kind == text {
			named = s.inner(s.tokens[start+3])
		}
		i = start - 2
	}
	return named, isTest
}

// cfgTest is true for cfg(test) and cfg(any(test, …)), not for cfg(not(test)).
func (s *source) cfgTest(from, to int) bool {
	if s.word(from+1) != "cfg" {
		return false
	}
	for i := from; i < to; i++ {
		if (s.word(i) == "test" || s.word(i) == "doctest") && s.word(i-2) != "not" {
			return true
		}
	}
	return false
}

// readClasses takes a name that is a file's as an import of it, as in Java's
// packages and PHP's autoloading.
func (sv *survey) readClasses(f *file, s *source) {
	for i, t := range s.tokens {
		if t.kind != word {
			continue
		}
		w := s.word(i)
		if w == "" || w[0] < 'A' || w[0] > 'Z' {
			if w == "import" || w == "use" || w == "using" {
				if name := s.qualified(i + 1); name != "" {
					f.outside = append(f.outside, name)
				}
			}
			continue
		}
		for _, to := range sv.classes[w] {
			if path.Ext(to) == path.Ext(f.path) || f.lang == "java" {
				f.edge(to)
			}
		}
	}
}

// qualified reads a.b.C or A\B\C as a path.
func (s *source) qualified(i int) string {
	var parts []string
	for ; i < len(s.tokens); i++ {
		switch w := s.word(i); {
		case w == "static" || w == "function" || w == "const" || w == "." || w == `\`:
		case w != "" && isWordByte(w[0]) && (len(parts) == 0 || s.word(i-1) == "." || s.word(i-1) == `\`):
			parts = append(parts, w)
		default:
			return strings.Join(parts, "/")
		}
	}
	return strings.Join(parts, "/")
}
