package runner

import (
	_ "embed"
	"path"
	"slices"
	"strings"
)

//go:embed drivers/node.mjs
var nodeDriver string

func nodeKind() Kind {
	return Kind{Name: "node:test", Find: findNode, Parse: parseLines, Plant: plantNode, Own: ownNode}
}

// findNode asks node's own runner where the commands name it, or where tests
// import it and no other runner is installed.
func findNode(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		if path.Base(c.Words[0]) == "node" && slices.Contains(c.Words, "--test") {
			asks = append(asks, p.node(c.Dir, c.Words[1:]))
		}
	}
	if len(asks) > 0 {
		return merged(asks)
	}
	imports := p.Below(".", func(f string) bool { return isJS(f) && strings.Contains(p.Text(f), "node:test") })
	if len(imports) > 0 {
		asks = append(asks, p.node(".", nil))
	}
	return asks
}

func (p *Project) node(dir string, args []string) Ask {
	flags := []string{"node", "--test", "--test-reporter={out}/ask.mjs", "--test-reporter-destination={out}/report"}
	var files []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case slices.Contains([]string{"--import", "--require", "-r", "--loader", "--experimental-loader", "--conditions", "-C"}, a) && i+1 < len(args):
			flags = append(flags, a, args[i+1])
			i++
		case strings.HasPrefix(a, "--test"):
		case strings.HasPrefix(a, "-"):
			flags = append(flags, a)
		default:
			files = append(files, a)
		}
	}
	// Files that a pattern of sh names are found by sh, as in the command.
	tests := quoteAll(flags)
	for _, f := range files {
		tests += " " + quoteGlob(f)
	}
	return Ask{
		Runner: "node:test", Dir: dir, Tests: p.nodeTests(dir, files),
		Command: tests, Files: map[string]string{"ask.mjs": nodeDriver},
	}
}

// quoteGlob quotes a word but leaves what a pattern needs.
func quoteGlob(word string) string {
	if strings.ContainsAny(word, "*?[") && !strings.ContainsAny(word, " $`\"'\\;&|<>(){}") {
		return word
	}
	return quote(word)
}

func isJS(file string) bool {
	l, ok := languageOf(file)
	return ok && l.name == "js"
}

// nodeTests are the files that node's runner collects: those named, or those
// of its patterns.
func (p *Project) nodeTests(dir string, named []string) []string {
	return p.Below(dir, func(f string) bool {
		if !isJS(f) {
			return false
		}
		base := strings.TrimSuffix(path.Base(f), path.Ext(f))
		if strings.HasPrefix(base, "test-") || base == "test" || strings.HasSuffix(base, ".test") || strings.HasSuffix(base, "-test") ||
			strings.HasSuffix(base, "_test") || strings.HasSuffix(base, ".spec") || strings.Contains("/"+path.Dir(f)+"/", "/test/") {
			return true
		}
		return slices.ContainsFunc(named, func(n string) bool {
			ok, err := path.Match(path.Join(dir, n), f)
			return err == nil && ok
		})
	})
}

// plantNode writes a test in the module system of the file beside it.
func plantNode(file string, sample []byte, word string) (string, string, bool) {
	load := "import test from 'node:test';\nimport assert from 'node:assert';\n"
	if !strings.Contains("\n"+string(sample), "\nimport ") {
		load = "const test = require('node:test');\nconst assert = require('node:assert');\n"
	}
	return plantedJS(file, word), load + "test('" + word + "', () => { assert.strictEqual('" + word + "'.length, 0); });\n", true
}

// plantedJS is the name of a new file that is collected where file is.
func plantedJS(file, word string) string {
	base := path.Base(file)
	if strings.HasPrefix(base, "test-") {
		return path.Join(path.Dir(file), "test-"+word+path.Ext(base))
	}
	for _, mid := range []string{".test", ".spec", "-test", "_test", ".tests", ".specs"} {
		if at := strings.LastIndex(base, mid+"."); at >= 0 {
			return path.Join(path.Dir(file), word+base[at:])
		}
	}
	return path.Join(path.Dir(file), word+path.Ext(base))
}
