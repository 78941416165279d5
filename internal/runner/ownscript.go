package runner

import (
	"encoding/json"
	"slices"
	"strings"
)

// own is the runner behind npx, which writes its report beside what it prints.
func (r jsRunner) own(words []string) (Own, bool) {
	rest, ok := afterNpx(words, r.name)
	if !ok || !r.ownArgs(rest) {
		return Own{}, false
	}
	return r.ownBy(rest, quoteAll(slices.Concat(words, r.ownFlags))), true
}

// ownArgs says that the words behind the program select nothing.
func (r jsRunner) ownArgs(rest []string) bool {
	if r.ownWord != "" && !slices.Contains(rest, r.ownWord) {
		return false
	}
	plain := slices.DeleteFunc(slices.Clone(rest), func(w string) bool {
		return w == r.ownWord || r.files && !strings.HasPrefix(w, "-")
	})
	return onlyFlags(plain, append([]string{"--silent", "--verbose", "--no-color"}, r.single...)...)
}

func (r jsRunner) ownBy(rest []string, call string) Own {
	return Own{
		Runner: r.name, Asked: askOf(func(p *Project) Ask { return r.ask(p, ".", rest) }),
		Command: "pwd -P >'{out}/pwd' && " + call, Files: r.ownFiles,
	}
}

// afterNpx returns the words behind npx and name.
func afterNpx(words []string, name string) ([]string, bool) {
	if len(words) == 0 || words[0] != "npx" {
		return nil, false
	}
	words = words[1:]
	for len(words) > 0 && slices.Contains([]string{"--no-install", "--no", "--yes", "-y"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || words[0] != name {
		return nil, false
	}
	return words[1:], true
}

// ownScript is npm test of a package whose script is a runner's own call, to
// which npm adds the words that make it say what passed. The script is taken from
// the tree that is run, so that an answer is of what the command does there: in
// the proof with trusted evidence, of the trusted script. One that asks another
// question than the trusted one's has another Asked, and answers nothing.
func ownScript(words []string, text func(file string) string) (Own, bool) {
	script, ok := testScript(words, text)
	// A pattern of files is left to the sh that npm calls, as in an ask.
	if !ok || strings.Trim(script, plainBytes+"*") != "" {
		return Own{}, false
	}
	called := strings.Fields(script)
	call := func(flags []string) string { return quoteAll(slices.Concat(words, []string{"--"}, flags)) }

	for _, r := range jsRunners() {
		rest, npx := afterNpx(called, r.name)
		if !npx && len(called) > 0 && called[0] == r.name {
			rest, npx = called[1:], true
		}
		if npx && r.ownArgs(rest) {
			return r.ownBy(rest, call(r.ownFlags)), true
		}
	}

	// Behind a file, node takes words for those of the file.
	if slices.ContainsFunc(called, func(w string) bool { return w != "node" && !strings.HasPrefix(w, "-") }) {
		return Own{}, false
	}
	own, ok := ownNode(called)
	own.Runner, own.Command = "node:test", call(nodeReporters)
	return own, ok
}

// testScript is the script that a call of npm stands for, where nothing runs
// before or after it.
func testScript(words []string, text func(file string) string) (string, bool) {
	if len(words) < 2 || words[0] != "npm" || text == nil {
		return "", false
	}
	rest := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "--silent" || w == "-s" })
	switch strings.Join(rest, " ") {
	case "test", "t", "run test", "run-script test":
	default:
		return "", false
	}
	var pack struct{ Scripts map[string]any }
	if json.Unmarshal([]byte(text("package.json")), &pack) != nil || pack.Scripts["pretest"] != nil || pack.Scripts["posttest"] != nil {
		return "", false
	}
	script, ok := pack.Scripts["test"].(string)
	return script, ok
}
