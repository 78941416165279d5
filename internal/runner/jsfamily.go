package runner

import (
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

//go:embed drivers/mocha.cjs
var mochaReporter string

// jsRunner is a runner of JavaScript that is installed beside a project.
type jsRunner struct {
	name    string            // of its row, its program and its package
	flags   []string          // of each ask
	keep    []string          // flags with a value that say where tests are and how they load
	single  []string          // likewise, without a value
	files   bool              // its words are files, and not a filter by name
	collect func(string) bool // its own pattern, from the top
	// Of a call by npx that is its own: the flags by which it reports beside what
	// it prints, and the word that the call has.
	ownFlags []string
	ownWord  string
	ownFiles map[string]string
}

// jsRunners are those whose calls have their form in common.
func jsRunners() []jsRunner { return []jsRunner{vitest(), jest(), mocha()} }

func vitest() jsRunner {
	return jsRunner{
		name: "vitest", flags: []string{"run", "--reporter=json", "--outputFile={out}/report", "--bail=0", "--coverage.enabled=false"},
		keep: []string{"--config", "-c", "--root", "-r", "--dir", "--project", "--environment", "--mode"}, single: []string{"--globals"}, collect: isSpec,
		ownFlags: []string{"--reporter=default", "--reporter=json", "--outputFile.json={out}/report"}, ownWord: "run",
	}
}

func vitestKind() Kind {
	r := vitest()
	return Kind{Name: r.name, Find: r.find, Parse: parseJest, Plant: plantVitest, Own: r.own}
}

func jest() jsRunner {
	return jsRunner{
		name: "jest", flags: []string{"--json", "--outputFile={out}/report", "--ci", "--bail=0", "--coverage=false", "--cacheDirectory={out}/cache"},
		keep: []string{"--config", "-c", "--rootDir", "--env", "--projects"}, collect: isSpec,
		ownFlags: []string{"--json", "--outputFile={out}/report"},
	}
}

func jestKind() Kind {
	r := jest()
	return Kind{Name: r.name, Find: r.find, Parse: parseJest, Plant: plantGlobalTest, Own: r.own}
}

func mocha() jsRunner {
	return jsRunner{
		name: "mocha", flags: []string{"--reporter", "json", "--reporter-option", "output={out}/report", "--no-bail", "--exit"},
		keep:   []string{"--require", "-r", "--config", "--package", "--spec", "--extension", "--ui", "-u", "--file", "--import", "--loader"},
		single: []string{"--recursive"}, files: true,
		collect: func(f string) bool { return isSpec(f) || strings.Contains("/"+path.Dir(f)+"/", "/test/") },
		// It has one reporter at a time: one of Forge that prints like its own.
		ownFlags: []string{"--reporter", "{out}/ask.cjs"}, ownFiles: map[string]string{"ask.cjs": mochaReporter},
	}
}

func mochaKind() Kind {
	r := mocha()
	return Kind{Name: r.name, Find: r.find, Parse: parseMocha, Plant: plantMocha, Own: r.own}
}

// find asks the runner where the commands name it.
func (r jsRunner) find(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		at := slices.IndexFunc(c.Words, func(w string) bool { return strings.TrimSuffix(path.Base(w), ".js") == r.name })
		// By itself, or behind npx, node and the like.
		if at < 0 || at > 3 || at > 0 && !runsPrograms(c.Words[0]) {
			continue
		}
		asks = append(asks, r.ask(p, c.Dir, c.Words[at+1:]))
	}
	return merged(asks)
}

func runsPrograms(word string) bool {
	switch path.Base(word) {
	case "npx", "node", "npm", "pnpm", "yarn", "bunx", "bun", "c8", "nyc", "cross-env", "dotenv":
		return true
	}
	return false
}

func (r jsRunner) ask(p *Project, dir string, args []string) Ask {
	words := append([]string{r.name}, r.flags...)
	line := ""
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch {
		case slices.Contains(r.keep, name) && (joined || i+1 < len(args)):
			line += " " + quote(args[i])
			if !joined {
				i++
				line += " " + quoteGlob(args[i])
			}
		case slices.Contains(r.single, args[i]):
			line += " " + args[i]
		case r.files && !strings.HasPrefix(args[i], "-"):
			line += " " + quoteGlob(args[i])
		}
	}
	return Ask{
		Runner: r.name, Dir: dir, Tests: p.Below(dir, func(f string) bool { return isJS(f) && r.collect(f) }),
		// The programs of the packages of this folder and of those above it.
		Command: "PATH=" + binsAbove(dir) + ":$PATH\nCI=1\nexport PATH CI\npwd -P >'{out}/pwd'\n" + quoteAll(words) + line + " >'{out}/said'",
	}
}

func binsAbove(dir string) string {
	bins := `"$PWD/node_modules/.bin`
	up := ""
	for ; dir != "."; dir = path.Dir(dir) {
		up += "/.."
		bins += ":$PWD" + up + "/node_modules/.bin"
	}
	return bins + `"`
}

// isSpec says whether a file is named as runners of JavaScript collect it.
func isSpec(f string) bool {
	base := strings.TrimSuffix(path.Base(f), path.Ext(f))
	return strings.HasSuffix(base, ".test") || strings.HasSuffix(base, ".spec") || strings.Contains("/"+path.Dir(f)+"/", "/__tests__/")
}

func plantVitest(file string, _ []byte, word string) (string, string, bool) {
	return plantedJS(file, word), "import { test, expect } from 'vitest';\n" + globalTest(word), true
}

func plantGlobalTest(file string, _ []byte, word string) (string, string, bool) {
	return plantedJS(file, word), globalTest(word), true
}

func globalTest(word string) string {
	return "test('" + word + "', () => { expect('" + word + "'.length).toBe(0); });\n"
}

func plantMocha(file string, _ []byte, word string) (string, string, bool) {
	text := "(typeof it === 'function' ? it : test)('" + word + "', function () {\n  if ('" + word + "'.length !== 0) throw new Error('not 0');\n});\n"
	return plantedJS(file, word), text, true
}

// parseJest reads the JSON report of jest, which vitest writes as well.
func parseJest(files map[string][]byte) Report {
	var r Report
	var said struct {
		TestResults []struct {
			Name, Status, Message string
			AssertionResults      []struct {
				AncestorTitles  []string
				Title, Status   string
				FailureMessages []string
			}
		}
	}
	if json.Unmarshal(files["report"], &said) != nil {
		return r
	}
	for _, f := range said.TestResults {
		file := relativeTo(files["pwd"], f.Name)
		for _, t := range f.AssertionResults {
			o := jestOutcome(t.Status)
			name := file + ": " + strings.Join(append(t.AncestorTitles, t.Title), " > ")
			r.add(Test{Name: name, Group: file, Outcome: o, Text: failureText(o, strings.Join(t.FailureMessages, "\n"))})
		}
		if f.Status == "failed" && len(f.AssertionResults) == 0 {
			r.broke(file, f.Message)
		}
	}
	return r.settle()
}

func jestOutcome(status string) Outcome {
	switch status {
	case "passed":
		return Passed
	case "failed":
		return Failed
	}
	return Skipped
}

// relativeTo makes a path relative to the folder that the runner ran in.
func relativeTo(pwd []byte, file string) string {
	return strings.TrimPrefix(file, strings.TrimSpace(string(pwd))+"/")
}

func parseMocha(files map[string][]byte) Report {
	var r Report
	type test struct {
		FullTitle, File string
		Err             struct{ Message, Stack string }
	}
	var said struct{ Passes, Failures, Pending []test }
	if json.Unmarshal(files["report"], &said) != nil {
		return r
	}
	for o, tests := range map[Outcome][]test{Passed: said.Passes, Failed: said.Failures, Skipped: said.Pending} {
		for _, t := range tests {
			file := relativeTo(files["pwd"], t.File)
			r.add(Test{Name: file + ": " + t.FullTitle, Group: file, Outcome: o, Text: failureText(o, t.Err.Message+"\n"+t.Err.Stack)})
		}
	}
	return r.settle()
}
