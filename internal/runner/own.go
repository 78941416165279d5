package runner

import (
	"slices"
	"strings"
)

// Own is a verify command that is a runner's own call, changed so that its one
// run says which tests passed as well. It collects and judges what the command
// does: its exit code is the command's.
type Own struct {
	Runner string
	// Program is what the call begins with, behind whatever stands for it.
	Program string
	// Asked is the command of the ask that the run answers.
	Asked string
	// Command is for sh, run at the top of the tree; {out} and Files as in an Ask.
	Command string
	Files   map[string]string
	// Plugin says that the program has to load one from the folder {out}.
	Plugin bool
	// Parse reads what the run wrote where that is not what an ask writes; nil =
	// it is.
	Parse func(files map[string][]byte) Report
	// Said makes of what the run wrote what the command prints; nil = it was
	// printed.
	Said func(files map[string][]byte) string
}

// OwnCall recognises a command that plainly is a runner's own call: one program
// and words that select nothing. text reads a file of the tree that the command
// runs in, "" where there is none: the script that a package manager's call
// stands for is read, since the manager adds words to it and nothing else, and so is a
// Makefile that holds plain rules alone. Other wrappers, and whatever sh would have to
// read, are not one: what a Rakefile or a script does with a word more is its own
// affair.
func OwnCall(command string, text func(file string) string) (Own, bool) {
	if own, ok := ownCTest(command); ok {
		return own, true
	}
	if strings.Trim(command, plainBytes) != "" {
		return Own{}, false
	}
	words := strings.Fields(command)
	if made, ok := madeCall(words, text); ok {
		own, ok := ownWords(made, text)
		own.Program, own.Command = made[0], madeEnv+own.Command
		return own, ok
	}
	own, ok := ownWords(words, text)
	if ok {
		own.Program = words[0]
	}
	return own, ok
}

func ownWords(words []string, text func(file string) string) (Own, bool) {
	if len(words) == 0 {
		return Own{}, false
	}
	if own, ok := ownScript(words, text); ok {
		return own, true
	}
	for _, k := range Kinds() {
		if k.Own == nil {
			continue
		}
		if own, ok := k.Own(words); ok {
			own.Runner = k.Name
			return own, true
		}
	}
	return Own{}, false
}

// plainBytes mean nothing to sh.
const plainBytes = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:"

// askOf is the command of the ask for a call at the top of a tree. Which files
// there are decides nothing of it.
func askOf(ask func(*Project) Ask) string { return ask(&Project{}).Command }

// onlyFlags says that all words are among flags, or begin with one that ends
// in "=".
func onlyFlags(words []string, flags ...string) bool {
	return !slices.ContainsFunc(words, func(w string) bool {
		return !slices.ContainsFunc(flags, func(f string) bool {
			return w == f || strings.HasSuffix(f, "=") && strings.HasPrefix(w, f)
		})
	})
}

// ownGo is go test of all packages. Results that were cached are none.
func ownGo(words []string) (Own, bool) {
	if len(words) < 3 || words[0] != "go" || words[1] != "test" {
		return Own{}, false
	}
	rest := slices.DeleteFunc(slices.Clone(words[2:]), func(w string) bool { return w == "./..." })
	if len(rest) != len(words)-3 || !onlyFlags(rest, "-v", "-race", "-count=1", "-tags=", "-mod=", "-timeout=", "-vet=", "-p=", "-parallel=") {
		return Own{}, false
	}
	flags := (&Project{Commands: []string{strings.Join(words, " ")}}).goFlags()
	call := append([]string{"go", "test", "-json", "-count=1"}, words[2:]...)
	return Own{Asked: goAsk(flags), Command: quoteAll(call) + " >'{out}/report'", Said: saidByGo}, true
}

// ownPytest is pytest of the tests that its settings or folders name. The
// program is the command's own, so that everything is imported as it is there;
// a plugin of Forge says what became of each test.
func ownPytest(words []string) (Own, bool) {
	bare := len(words) > 0 && words[0] == "pytest"
	if !bare && !(len(words) > 2 && slices.Contains([]string{"python", "python3"}, words[0]) && words[1] == "-m" && words[2] == "pytest") {
		return Own{}, false
	}
	python, args, ok := pythonCall(Call{Dir: ".", Words: words}, "pytest")
	if !ok {
		return Own{}, false
	}
	flags := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !strings.HasPrefix(a, "-") && !strings.Contains(a, "::") })
	if !onlyFlags(flags, "-q", "-qq", "-v", "-vv", "-s", "-ra", "-rA", "-rs", "--tb=", "--color=", "--strict-markers", "--durations=") {
		return Own{}, false
	}
	line := `PYTHONPATH='{out}'"${PYTHONPATH:+:$PYTHONPATH}" ` + quoteAll(words) + " -p " + pytestPluginName
	return Own{
		Asked:   askOf(func(p *Project) Ask { return p.pytest(".", python, args) }),
		Command: line, Plugin: true, Files: map[string]string{pytestPluginName + ".py": pytestOutcomes + pytestPlugin},
	}, true
}

// nodeReporters are the flags for both.
var nodeReporters = []string{
	"--test-reporter=spec", "--test-reporter-destination=stdout",
	"--test-reporter={out}/ask.mjs", "--test-reporter-destination={out}/report",
}

// ownNode is node's own runner, which reports to two readers.
func ownNode(words []string) (Own, bool) {
	if len(words) < 2 || words[0] != "node" || !slices.Contains(words, "--test") {
		return Own{}, false
	}
	flags := slices.DeleteFunc(slices.Clone(words[1:]), func(a string) bool { return !strings.HasPrefix(a, "-") })
	if !onlyFlags(flags, "--test", "--test-concurrency=", "--no-warnings", "--enable-source-maps", "--experimental-strip-types") {
		return Own{}, false
	}
	call := slices.Concat([]string{"node"}, nodeReporters, words[1:])
	return Own{
		Asked:   askOf(func(p *Project) Ask { return p.node(".", words[1:]) }),
		Command: quoteAll(call), Files: map[string]string{"ask.mjs": nodeDriver},
	}, true
}
