package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRooms holds the imports of every Go file, whatever system it is for,
// against the tables of ARCHITECTURE.md.
func TestRooms(t *testing.T) {
	problems, err := roomProblems(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// room is one row of the table.
type room struct {
	test bool            // only tests and other rooms of this floor may import it
	all  bool            // may import every room that is not for tests
	may  map[string]bool // folders of rooms
}

// architecture is what the tables say.
type architecture struct {
	rooms           map[string]room // by folder; main.go is "."
	direct, brought map[string]bool // modules
}

// roomProblems returns, sorted, where the module in tree and its
// ARCHITECTURE.md disagree.
func roomProblems(tree fs.FS) ([]string, error) {
	page, err := fs.ReadFile(tree, "ARCHITECTURE.md")
	if err != nil {
		return nil, err
	}
	mod, err := fs.ReadFile(tree, "go.mod")
	if err != nil {
		return nil, err
	}
	module, required := readModule(string(mod))
	// Programs that are modules of their own, with libraries that the main one
	// does not have.
	others, err := fs.Glob(tree, "cmd/*/go.mod")
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		mod, err := fs.ReadFile(tree, other)
		if err != nil {
			return nil, err
		}
		_, more := readModule(string(mod))
		delete(more, module)
		maps.Copy(required, more)
	}
	arch, found := readTables(string(page))
	imports, err := readImports(tree)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{} // folders that hold Go files
	used := map[string]bool{} // modules that are imported
	for file, paths := range imports {
		dir := path.Dir(file)
		seen[dir] = true
		self, ok := arch.rooms[dir]
		if !ok {
			found = append(found, fmt.Sprintf("%s is not a room of ARCHITECTURE.md", dir))
			continue
		}
		for _, p := range paths {
			if in, ok := inModule(p, module); ok {
				if why := self.refuses(dir, in, strings.HasSuffix(file, "_test.go"), arch.rooms); why != "" {
					found = append(found, fmt.Sprintf("%s imports %s: %s", file, in, why))
				}
			} else if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") {
				m := moduleOf(p, required)
				if used[m] = true; !arch.direct[m] {
					found = append(found, fmt.Sprintf("%s imports %s, whose module %q has no line in the table of libraries", file, p, m))
				}
			}
		}
	}
	for dir := range arch.rooms {
		if !seen[dir] {
			found = append(found, fmt.Sprintf("room %s of ARCHITECTURE.md has no Go files", dir))
		}
	}
	for m := range required {
		if !arch.direct[m] && !arch.brought[m] {
			found = append(found, fmt.Sprintf("module %s of go.mod has no line in ARCHITECTURE.md", m))
		}
	}
	for _, table := range []map[string]bool{arch.direct, arch.brought} {
		for m := range table {
			if !required[m] {
				found = append(found, fmt.Sprintf("module %s of ARCHITECTURE.md is not in go.mod", m))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// refuses says why the room in folder self must not import the one in folder
// other; "" when it may.
func (r room) refuses(self, other string, inTest bool, rooms map[string]room) string {
	target, known := rooms[other]
	switch {
	case !known:
		return "not a room of ARCHITECTURE.md"
	case self == other || r.may[other]:
		return ""
	case target.test && (inTest || r.test):
		return ""
	case target.test:
		return "it is for tests"
	case r.all && other != ".":
		return ""
	}
	return "its row does not allow it"
}

var code = regexp.MustCompile("`([^`]+)`")

// readTables reads the tables of ARCHITECTURE.md and says what is wrong with
// them.
func readTables(page string) (architecture, []string) {
	a := architecture{rooms: map[string]room{}, direct: map[string]bool{}, brought: map[string]bool{}}
	var problems []string
	var kind string
	may := map[string]string{}
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			kind = ""
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if kind == "" {
			kind = strings.Join(cells, " ")
			continue
		}
		switch {
		case strings.HasPrefix(cells[0], "---"):
		case kind == "floor room owns may import" && len(cells) == 4 && code.MatchString(cells[1]):
			dir := folder(code.FindStringSubmatch(cells[1])[1])
			if _, twice := a.rooms[dir]; twice {
				problems = append(problems, fmt.Sprintf("room %s is in ARCHITECTURE.md twice", dir))
			}
			a.rooms[dir] = room{test: cells[0] == "test", all: cells[3] == "all", may: map[string]bool{}}
			may[dir] = cells[3]
		case (kind == "module why" || kind == "module comes with") && len(cells) == 2 && code.MatchString(cells[0]) && cells[1] != "":
			table := a.direct
			if kind != "module why" {
				table = a.brought
			}
			table[code.FindStringSubmatch(cells[0])[1]] = true
		default:
			problems = append(problems, fmt.Sprintf("row %q of ARCHITECTURE.md cannot be read", strings.TrimSpace(line)))
		}
	}
	for dir, text := range may {
		if text == "nothing" || text == "all" {
			continue
		}
		for name := range strings.SplitSeq(text, ",") {
			name = strings.TrimSpace(name)
			switch {
			case hasRoom(a, name):
				a.rooms[dir].may[name] = true
			case hasRoom(a, "internal/"+name):
				a.rooms[dir].may["internal/"+name] = true
			default:
				problems = append(problems, fmt.Sprintf("room %s may import %q, which is not a room of ARCHITECTURE.md", dir, name))
			}
		}
	}
	return a, problems
}

func hasRoom(a architecture, dir string) bool { _, ok := a.rooms[dir]; return ok }

func folder(name string) string {
	if name == "main.go" {
		return "."
	}
	return name
}

// readImports returns the imports of every Go file, by file.
func readImports(tree fs.FS) (map[string][]string, error) {
	all := map[string][]string{}
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n := d.Name(); d.IsDir() && p != "." && (n == "testdata" || n == "bin" || strings.HasPrefix(n, ".") || strings.HasPrefix(n, "_")) {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(p) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		all[p], err = importPaths(file)
		return err
	})
	return all, err
}

func importPaths(file *ast.File) ([]string, error) {
	var paths []string
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// readModule returns the path of the module and the modules it requires.
func readModule(mod string) (module string, required map[string]bool) {
	required = map[string]bool{}
	block := ""
	for line := range strings.Lines(mod) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == ")":
			block = ""
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		case block == "require" && len(words) == 2:
			required[words[0]] = true
		case words[0] == "require" && len(words) == 3:
			required[words[1]] = true
		case words[0] == "module" && len(words) == 2:
			module = words[1]
		}
	}
	return module, required
}

// inModule returns the folder of an import path of the module itself.
func inModule(p, module string) (string, bool) {
	if p == module {
		return ".", true
	}
	return strings.CutPrefix(p, module+"/")
}

// moduleOf returns the required module that holds the package, "" when none
// does.
func moduleOf(p string, required map[string]bool) string {
	for m := p; m != "."; m = path.Dir(m) {
		if required[m] {
			return m
		}
	}
	return ""
}

// TestRoomsFinds shows that each kind of disagreement is found.
func TestRoomsFinds(t *testing.T) {
	good := map[string]string{
		"go.mod":                "module m\n\nrequire (\n\texample.com/lib/v2 v2.0.0\n\texample.com/deep v1.0.0 // indirect\n)\n",
		"main.go":               "package main\nimport _ \"m/internal/cli\"\n",
		"a/a.go":                "package a\nimport _ \"example.com/lib/v2/part\"\n",
		"b/b.go":                "package b\nimport (\n\t_ \"fmt\"\n\t_ \"m/a\"\n)\n",
		"b/b_test.go":           "package b_test\nimport (\n\t_ \"m/b\"\n\t_ \"m/internal/fake\"\n)\n",
		"internal/cli/cli.go":   "package cli\nimport (\n\t_ \"m/a\"\n\t_ \"m/b\"\n)\n",
		"internal/fake/fake.go": "package fake\n",
		"b/testdata/x.go":       "package broken {",
		"ARCHITECTURE.md": "| floor | room | owns | may import |\n|---|---|---|---|\n" +
			"| 0 | `a` | x | nothing |\n| 1 | `b` | x | a |\n| 4 | `internal/cli` | x | all |\n" +
			"| 5 | `main.go` | x | cli |\n| test | `internal/fake` | x | nothing |\n\n" +
			"| module | why |\n|---|---|\n| `example.com/lib/v2` | x |\n\n" +
			"| module | comes with |\n|---|---|\n| `example.com/deep` | lib |\n",
	}
	page := good["ARCHITECTURE.md"]
	tests := []struct {
		name, file, text string
		want             string // "" = no problem
	}{
		{name: "nothing wrong"},
		{"forbidden", "a/a.go", "package a\nimport _ \"m/b\"\n", "a/a.go imports b: its row does not allow it"},
		{"forbidden on another system", "a/a_plan9.go", "//go:build plan9\n\npackage a\nimport _ \"m/b\"\n", "a/a_plan9.go imports b: its row does not allow it"},
		{"forbidden in a test", "a/a_test.go", "package a\nimport _ \"m/b\"\n", "a/a_test.go imports b: its row does not allow it"},
		{"test room outside of tests", "b/c.go", "package b\nimport _ \"m/internal/fake\"\n", "b/c.go imports internal/fake: it is for tests"},
		{"test room in cli", "internal/cli/c.go", "package cli\nimport _ \"m/internal/fake\"\n", "internal/cli/c.go imports internal/fake: it is for tests"},
		{"main is nobody's", "internal/cli/c.go", "package cli\nimport _ \"m\"\n", "internal/cli/c.go imports .: its row does not allow it"},
		{"room without a row", "c/c.go", "package c\n", "c is not a room of ARCHITECTURE.md"},
		{"import of no room", "b/c.go", "package b\nimport _ \"m/gone\"\n", "b/c.go imports gone: not a room of ARCHITECTURE.md"},
		{"row without a room", "ARCHITECTURE.md", strings.Replace(page, "| 0 |", "| 0 | `d` | x | nothing |\n| 0 |", 1), "room d of ARCHITECTURE.md has no Go files"},
		{"row twice", "ARCHITECTURE.md", strings.Replace(page, "| 0 |", "| 0 | `a` | x | nothing |\n| 0 |", 1), "room a is in ARCHITECTURE.md twice"},
		{"unreadable row", "ARCHITECTURE.md", strings.Replace(page, "| 0 |", "| 0 | d | x |\n| 0 |", 1), `row "| 0 | d | x |" of ARCHITECTURE.md cannot be read`},
		{"row allows no room", "ARCHITECTURE.md", strings.Replace(page, "| a |", "| a, zoo |", 1), `room b may import "zoo", which is not a room of ARCHITECTURE.md`},
		{"module without a line", "go.mod", good["go.mod"] + "require example.com/new v1.0.0\n", "module example.com/new of go.mod has no line in ARCHITECTURE.md"},
		{"line without a module", "ARCHITECTURE.md", strings.Replace(page, "| `example.com/deep`", "| `example.com/old` | x |\n| `example.com/deep`", 1), "module example.com/old of ARCHITECTURE.md is not in go.mod"},
		{"line without a reason", "ARCHITECTURE.md", strings.Replace(page, "| lib |", "| |", 1), "module example.com/deep of go.mod has no line in ARCHITECTURE.md"},
		{"import of what only came along", "a/a.go", "package a\nimport _ \"example.com/deep\"\n", `a/a.go imports example.com/deep, whose module "example.com/deep" has no line in the table of libraries`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := maps.Clone(good)
			if tt.file != "" {
				files[tt.file] = tt.text
			}
			tree := fstest.MapFS{}
			for name, text := range files {
				tree[name] = &fstest.MapFile{Data: []byte(text)}
			}
			got, err := roomProblems(tree)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" && len(got) > 0 || tt.want != "" && !slices.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
