package runner

import (
	"path"
	"slices"
	"strings"

	texts "forge/internal/text"
)

func cargoKind() Kind {
	return Kind{Name: "cargo test", Find: findCargo, Parse: parseLibtest, Plant: plantRust, Own: ownCargo}
}

func nextestKind() Kind {
	return Kind{Name: "cargo nextest", Find: findNextest, Parse: parseNextest, Plant: plantRust}
}

// cargoFlags are those that decide what is built.
var cargoFlags = []string{"--workspace", "--all", "--all-features", "--no-default-features", "--offline", "--locked", "--frozen"}

// findCargo asks cargo in each folder that commands call it in, or at the
// outermost manifests.
func findCargo(p *Project) []Ask {
	var asks []Ask
	nextest := false
	for _, c := range p.Calls() {
		if path.Base(c.Words[0]) != "cargo" || len(c.Words) < 2 {
			continue
		}
		nextest = nextest || c.Words[1] == "nextest"
		if c.Words[1] == "test" || c.Words[1] == "t" {
			asks = append(asks, p.cargoTest(c.Dir, c.Words[2:]))
		}
	}
	if len(asks) == 0 && !nextest && p.Has("Cargo.toml") && len(p.rustTests(".")) > 0 {
		asks = append(asks, p.cargo("cargo test", ".", []string{"cargo", "test", "--no-fail-fast", "--color", "never", "--workspace"}, nil))
	}
	return merged(asks)
}

func findNextest(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		if path.Base(c.Words[0]) == "cargo" && len(c.Words) > 1 && c.Words[1] == "nextest" {
			words := []string{"cargo", "nextest", "run", "--no-fail-fast", "--color", "never", "--status-level", "all", "--final-status-level", "none"}
			asks = append(asks, p.cargo("cargo nextest", c.Dir, words, c.Words[2:]))
		}
	}
	return merged(asks)
}

func (p *Project) cargoTest(dir string, args []string) Ask {
	return p.cargo("cargo test", dir, []string{"cargo", "test", "--no-fail-fast", "--color", "never"}, args)
}

func (p *Project) cargo(name, dir string, words, args []string) Ask {
	for i, a := range args {
		if a == "--" {
			break
		}
		switch flag, _, joined := strings.Cut(a, "="); {
		case slices.Contains(cargoFlags, a), slices.Contains([]string{"--features", "--manifest-path"}, flag) && joined:
			words = append(words, a)
		case slices.Contains([]string{"--features", "-F", "--manifest-path", "-p", "--package"}, a) && i+1 < len(args):
			words = append(words, a, args[i+1])
		}
	}
	return Ask{
		Runner: name, Dir: dir, Tests: p.rustTests(dir),
		Command: `CARGO_TARGET_DIR="$HOME/.cache/cargo-target" ` + quoteAll(words) + " >'{out}/report' 2>&1",
	}
}

func (p *Project) rustTests(dir string) []string {
	return p.Below(dir, func(f string) bool { return path.Ext(f) == ".rs" && strings.Contains(p.Text(f), "#[test]") })
}

// plantRust adds a test to the file itself: only there it is in one process
// with what the file's tests load.
func plantRust(file string, sample []byte, word string) (string, string, bool) {
	if !strings.Contains(string(sample), "#[test]") {
		return "", "", false
	}
	return file, string(sample) + "\n#[cfg(test)]\nmod " + word + " {\n    #[test]\n    fn " + word + "() {\n        assert_eq!(\"" + word + "\".len(), 0);\n    }\n}\n", true
}

var (
	libtestBinary = texts.Lazy(`^\s+Running (?:unittests )?(\S+) \((\S+?)-[0-9a-f]{8,}(?:\.exe)?\)`)
	libtestDocs   = texts.Lazy(`^\s+Doc-tests (\S+)`)
	libtestLine   = texts.Lazy(`^test (.+) \.\.\. (ok|FAILED|ignored.*)$`)
	libtestBegin  = texts.Lazy(`^---- (.+) stdout ----$`)
	rustBroken    = texts.Lazy("^error: could not compile `([^`]+)`")
	docLine       = texts.Lazy(` \(line \d+\)`)
)

// parseLibtest reads the text of cargo test: binaries one after the other,
// each with its tests.
func parseLibtest(files map[string][]byte) Report {
	var r Report
	group, about := "", ""
	said := map[string]*strings.Builder{}
	var errors strings.Builder
	for line := range strings.Lines(string(files["report"])) {
		line = strings.TrimRight(line, "\r\n")
		if m := libtestBinary().FindStringSubmatch(line); m != nil {
			group, about = path.Base(m[2])+" "+m[1], ""
		} else if m := libtestDocs().FindStringSubmatch(line); m != nil {
			group, about = "doc-tests "+m[1], ""
		} else if m := libtestLine().FindStringSubmatch(line); m != nil {
			r.add(Test{Name: rustName(group, m[1]), Group: group, Outcome: libtestOutcome(m[2])})
		} else if m := libtestBegin().FindStringSubmatch(line); m != nil {
			about = rustName(group, m[1])
			said[about] = &strings.Builder{}
		} else if m := rustBroken().FindStringSubmatch(line); m != nil {
			r.broke(m[1], errors.String())
		} else if line == "failures:" {
			about = ""
		} else if about != "" {
			said[about].WriteString(line + "\n")
		} else if strings.HasPrefix(line, "error") {
			errors.WriteString(line + "\n")
		}
	}
	for i, t := range r.Tests {
		if b := said[t.Name]; b != nil && t.Outcome == Failed {
			r.Tests[i].Text = texts.ClipMiddle(b.String(), mostText)
		}
	}
	return r.settle()
}

func rustName(group, name string) string {
	// A doc-test is called by its line, which moves with the lines above it.
	return group + ": " + docLine().ReplaceAllString(strings.TrimSuffix(name, " - should panic"), "")
}

func libtestOutcome(word string) Outcome {
	switch word {
	case "ok":
		return Passed
	case "FAILED":
		return Failed
	}
	return Skipped
}

var nextestLine = texts.Lazy(`^\s*(PASS|FAIL|SIGABRT|SIGSEGV|TIMEOUT|LEAK|SKIP|ABORT)\s+\[[^\]]*\]\s+(?:\(\s*\d+/\d+\)\s+)?(\S+)\s+(.+)$`)

// parseNextest reads the text of nextest, which runs each test in a process of
// its own.
func parseNextest(files map[string][]byte) Report {
	var r Report
	for line := range strings.Lines(string(files["report"])) {
		m := nextestLine().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			if m := rustBroken().FindStringSubmatch(line); m != nil {
				r.broke(m[1], line)
			}
			continue
		}
		t := Test{Name: m[2] + ": " + m[3], Group: m[2], Outcome: Failed}
		switch m[1] {
		case "PASS", "LEAK":
			t.Outcome = Passed
		case "SKIP":
			t.Outcome = Skipped
		}
		r.add(t)
	}
	return r.settle()
}
