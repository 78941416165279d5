package house

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// Every kind of event is decided by a core, folded, told, and in a journal that
// every later version reads. That docs/cli.md names it is held beside.
func TestEveryKindOfEventIsKnownEverywhere(t *testing.T) {
	for _, problem := range kindProblems(t, os.DirFS(root)) {
		t.Error(problem)
	}
}

func TestAFakeEventIsMissedEverywhere(t *testing.T) {
	const first = "\tRunStarted "
	named := with(t, os.DirFS(root), "internal/work/event.go", first, "\tFaked EventKind = \"fake.done\"\n"+first)
	missed(t, kindProblems(t, named),
		"no core decides fake.done",
		"fake.done is neither folded nor told, and begins nothing",
	)

	const fold = "\twork.RunStarted: "
	folded := with(t, named, "orchestrator/apply.go", fold, "\twork.Faked: nil,\n"+fold)
	decided := with(t, folded, "orchestrator/decide.go", "func (d *decision) run(", "func (d *decision) fake() { d.run(work.Faked, nil) }\n\nfunc (d *decision) run(")
	missed(t, kindProblems(t, decided), "no golden journal holds fake.done")

	shown := with(t, named, "internal/narrate/decides.go", "work.Warned:", "work.Warned, work.Faked:")
	missed(t, kindProblems(t, shown),
		"no core decides fake.done",
		"fake.done is neither folded nor told, and begins nothing",
		"forge why shows fake.done (Decides) and has no words for it (Say)",
	)

	said := with(t, named, "internal/narrate/why.go", "case work.PhaseStarted:", "case work.Faked, work.PhaseStarted:")
	missed(t, kindProblems(t, said), "no core decides fake.done", "there are words for fake.done (Say), and forge why does not show it (Decides)")
}

// kindProblems says where a kind of event is not known that has to be.
func kindProblems(t *testing.T, tree fs.FS) (problems []string) {
	t.Helper()
	core, landing, narrate := parsed(t, tree, "orchestrator"), parsed(t, tree, "factory/landing"), parsed(t, tree, "internal/narrate")
	folded, decided, byRun := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, file := range slices.Concat(core, landing) {
		ofRun := slices.Contains(core, file)
		decides := func(all ...ast.Expr) {
			for _, e := range all {
				name := selected(e, "work")
				decided[name], byRun[name] = true, byRun[name] || ofRun
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CaseClause:
				for _, e := range n.List {
					folded[selected(e, "work")] = true
				}
			case *ast.KeyValueExpr:
				folded[selected(n.Key, "work")] = true
				decides(n.Value)
			case *ast.CallExpr:
				decides(n.Args...)
			case *ast.CompositeLit:
				decides(n.Elts...)
			}
			return true
		})
	}
	says, shows := casesIn(narrate, "Say", "sayPhase"), casesIn(narrate, "Decides")
	logged := casesIn(narrate, "Describe")
	journals := goldenText(t, tree)
	kinds := kindsOf(t, tree)
	for _, kind := range kinds {
		if !decided[kind.name] {
			problems = append(problems, "no core decides "+kind.word)
		}
		action, begins := strings.CutSuffix(kind.word, ".started")
		begins = begins && slices.ContainsFunc(kinds, func(k kindOfEvent) bool { return k.word == action+".finished" })
		// land.started has no twin: it ends in land.refused, or in the merge.
		begins = begins || slices.ContainsFunc(kinds, func(k kindOfEvent) bool { return k.word == action+".refused" })
		if !folded[kind.name] && !says[kind.name] && !logged[kind.name] && !begins {
			problems = append(problems, kind.word+" is neither folded nor told, and begins nothing")
		}
		if byRun[kind.name] && !strings.Contains(journals, fmt.Sprintf(`"kind":%q`, kind.word)) {
			problems = append(problems, "no golden journal holds "+kind.word)
		}
		switch {
		case shows[kind.name] && !says[kind.name]:
			problems = append(problems, "forge why shows "+kind.word+" (Decides) and has no words for it (Say)")
		case says[kind.name] && !shows[kind.name]:
			problems = append(problems, "there are words for "+kind.word+" (Say), and forge why does not show it (Decides)")
		}
	}
	return problems
}

type kindOfEvent struct{ name, word string }

// kindsOf are the kinds of events that internal/work names.
func kindsOf(t *testing.T, tree fs.FS) (out []kindOfEvent) {
	t.Helper()
	ast.Inspect(parsedFile(t, tree, "internal/work/event.go"), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "EventKind" {
			out = append(out, kindOfEvent{spec.Names[0].Name, literal(spec.Values[0])})
		}
		return true
	})
	if len(out) < 50 {
		t.Fatalf("only %d kinds of events were found", len(out))
	}
	return out
}

// casesIn are the names of package work that the switches of functions name.
func casesIn(files []*ast.File, funcs ...string) map[string]bool {
	found := map[string]bool{}
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !slices.Contains(funcs, f.Name.Name) {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok {
					for _, e := range c.List {
						found[selected(e, "work")] = true
					}
				}
				return true
			})
		}
	}
	return found
}

// goldenText is every journal of an earlier version.
func goldenText(t *testing.T, tree fs.FS) string {
	t.Helper()
	names, err := fs.Glob(tree, "orchestrator/testdata/journals/*.jsonl")
	if err != nil || len(names) < 2 {
		t.Fatalf("%d journals: %v", len(names), err)
	}
	var all strings.Builder
	for _, name := range names {
		body, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(body)
	}
	return all.String()
}
