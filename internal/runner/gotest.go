package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

func goKind() Kind {
	return Kind{Name: "go test", Find: findGo, Parse: parseGo, Plant: plantGo, Own: ownGo}
}

// findGo asks each module that has tests, with the flags of the project's own
// commands that decide what is built.
func findGo(p *Project) []Ask {
	modules := p.Below(".", func(f string) bool {
		return path.Base(f) == "go.mod" && !strings.Contains("/"+f, "/testdata/")
	})
	var asks []Ask
	for _, mod := range modules {
		dir := path.Dir(mod)
		tests := p.Below(dir, func(f string) bool {
			return strings.HasSuffix(f, "_test.go") && !strings.Contains("/"+f, "/testdata/") && moduleOf(f, modules) == dir
		})
		if len(tests) == 0 {
			continue
		}
		asks = append(asks, Ask{Runner: "go test", Dir: dir, Tests: tests, Command: goAsk(p.goFlags())})
	}
	return asks
}

func goAsk(flags []string) string {
	words := append([]string{"go", "test", "-json", "-count=1", "-vet=off"}, flags...)
	return "GOFLAGS= " + quoteAll(words) + " ./... >'{out}/report'"
}

// moduleOf returns the folder of the innermost module that file belongs to.
func moduleOf(file string, modules []string) string {
	best := ""
	for _, m := range modules {
		if dir := path.Dir(m); below(file, dir) && (best == "" || best == "." || len(dir) > len(best)) {
			best = dir
		}
	}
	return best
}

// goFlags are the flags of the project's own calls that decide what is built
// and not which tests run.
func (p *Project) goFlags() []string {
	var flags []string
	for _, c := range p.Calls() {
		if len(c.Words) < 2 || path.Base(c.Words[0]) != "go" || c.Words[1] != "test" {
			continue
		}
		for i, w := range c.Words {
			name, _, joined := strings.Cut(strings.TrimLeft(w, "-"), "=")
			if !strings.HasPrefix(w, "-") || !slices.Contains([]string{"tags", "mod", "race", "modfile"}, name) {
				continue
			}
			flag := []string{w}
			if name != "race" && !joined && i+1 < len(c.Words) {
				flag = append(flag, c.Words[i+1])
			}
			if !slices.Contains(flags, w) {
				flags = append(flags, flag...)
			}
		}
	}
	return flags
}

type goEvent struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

func parseGo(files map[string][]byte) Report {
	var r Report
	open := map[string]*strings.Builder{} // output by package and test
	say := func(key, text string) {
		if open[key] == nil {
			open[key] = &strings.Builder{}
		}
		if b := open[key]; b.Len() < 4*mostText {
			b.WriteString(text)
		}
	}
	text := func(key string) string {
		if open[key] == nil {
			return ""
		}
		return open[key].String()
	}
	red := map[string]bool{} // packages with a failed test
	for line := range bytes.Lines(files["report"]) {
		var e goEvent
		if json.Unmarshal(line, &e) != nil || e.Action == "" {
			continue
		}
		key := e.Package + " " + e.Test
		switch {
		case e.Action == "output":
			say(key, e.Output)
		case e.Action == "build-output":
			say(e.ImportPath+" build", e.Output)
		case e.Test == "" && e.Action == "fail" && (!red[e.Package] || e.FailedBuild != ""):
			r.broke(e.Package, text(key)+text(e.FailedBuild+" build"))
		case e.Test != "":
			if outcome, ok := goOutcome(e.Action); ok {
				red[e.Package] = red[e.Package] || outcome == Failed
				r.add(Test{Name: e.Package + "." + e.Test, Group: e.Package, Outcome: outcome, Text: failureText(outcome, text(key))})
			}
		}
	}
	return r.settle()
}

// saidByGo is what go test prints without -json: all of what failed, one line of
// what did not.
func saidByGo(files map[string][]byte) string {
	var all strings.Builder
	open := map[string]*strings.Builder{} // output by package and test
	for line := range bytes.Lines(files["report"]) {
		var e goEvent
		if json.Unmarshal(line, &e) != nil || e.Action == "" {
			all.Write(line) // of no event: somebody wrote past go test
			continue
		}
		key := e.Package + " " + e.Test
		b := open[key]
		if b == nil {
			b = &strings.Builder{}
			open[key] = b
		}
		switch e.Action {
		case "build-output":
			all.WriteString(e.Output)
		case "output":
			if b.Len() < 4*mostText && !strings.HasPrefix(e.Output, "=== ") {
				b.WriteString(e.Output)
			}
		case "fail":
			all.WriteString(b.String())
			delete(open, key)
		case "pass", "skip":
			if e.Test == "" {
				all.WriteString(lastOf(b.String()))
			}
			delete(open, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(open)) {
		all.WriteString(open[key].String()) // it was running at the end
	}
	return all.String()
}

// lastOf is the last line of text.
func lastOf(text string) string {
	at := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")
	return text[at+1:]
}

func failureText(o Outcome, text string) string {
	if o != Failed {
		return ""
	}
	return text
}

func goOutcome(action string) (Outcome, bool) {
	switch action {
	case "pass":
		return Passed, true
	case "fail":
		return Failed, true
	case "skip":
		return Skipped, true
	}
	return "", false
}

// plantGo writes a test file for the package of the test file at file.
func plantGo(file string, sample []byte, word string) (string, string, bool) {
	f, err := parser.ParseFile(token.NewFileSet(), file, sample, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil {
		return "", "", false
	}
	// What decides whether the sample is built decides it here too.
	head := ""
	for _, group := range f.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:build ") {
				head = c.Text + "\n\n"
			}
		}
	}
	name := path.Join(path.Dir(file), word+strings.TrimPrefix(path.Base(file), stem(file)))
	return name, head + fmt.Sprintf(`package %s

import "testing"

func Test%s(t *testing.T) {
	if got, want := len(t.Name()), 0; got != want {
		t.Errorf("got %%d, want %%d", got, want)
	}
}
`, f.Name.Name, capital(word)), true
}

// stem is what stands in a file's name before the endings that decide how it is
// built: calc of calc_linux_test.go.
func stem(file string) string {
	base := path.Base(file)
	cut, _, _ := strings.Cut(strings.TrimSuffix(base, "_test.go"), "_")
	rest := strings.TrimPrefix(strings.TrimSuffix(base, "_test.go"), cut)
	// Only the words of systems matter, and they are last.
	words := strings.Split(rest, "_")
	keep := ""
	for _, w := range words[max(0, len(words)-2):] {
		if slices.Contains(goSystems, w) {
			keep += "_" + w
		}
	}
	return strings.TrimSuffix(base, keep+"_test.go")
}

var goSystems = []string{"linux", "darwin", "windows", "freebsd", "unix", "amd64", "arm64", "386", "arm", "js", "wasm"}

func capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}
