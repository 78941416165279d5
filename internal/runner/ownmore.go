package runner

import (
	"path"
	"slices"
	"strings"
)

// Runners that have no call of their own here are asked in a second run:
//
//   - cargo nextest: its own text is what it is read by, and which of it reaches
//     the command's output is a matter of the project's settings;
//   - Maven and Gradle: what they run, and whether they run it at all when nothing
//     changed, is decided by plugins;
//   - rake, scripts, and Makefiles with more than plain rules are programs: nobody can
//     say what they do with a word more.

// flagsOf takes apart the words behind a program: flags alone, and those of
// valued with the word behind them. ok is false for any other flag.
func flagsOf(words, alone, valued []string) (rest []string, ok bool) {
	for i := 0; i < len(words); i++ {
		name, _, joined := strings.Cut(words[i], "=")
		switch {
		case !strings.HasPrefix(words[i], "-"):
			rest = append(rest, words[i])
		case slices.Contains(alone, words[i]), joined && slices.Contains(valued, name):
		case slices.Contains(valued, words[i]) && i+1 < len(words):
			i++
		default:
			return nil, false
		}
	}
	return rest, true
}

// ownCargo is cargo test of what the manifest at the top names. It is read by its
// text, as an ask is: libtest has no other form in a released Rust.
func ownCargo(words []string) (Own, bool) {
	if len(words) < 2 || words[0] != "cargo" || words[1] != "test" {
		return Own{}, false
	}
	quiet := []string{"-q", "--quiet"}
	rest, ok := flagsOf(words[2:], slices.Concat(cargoFlags, quiet, []string{"--no-fail-fast"}), []string{"--features"})
	if !ok || len(rest) > 0 {
		return Own{}, false
	}
	args := slices.DeleteFunc(slices.Clone(words[2:]), func(w string) bool { return slices.Contains(quiet, w) })
	call := append([]string{"cargo", "test", "--color", "never"}, args...)
	return Own{
		Asked:   askOf(func(p *Project) Ask { return p.cargoTest(".", words[2:]) }),
		Command: quoteAll(call) + " >'{out}/report' 2>&1", Said: saidAsReported,
	}, true
}

// saidAsReported is for runners whose report is what they print.
func saidAsReported(files map[string][]byte) string { return string(files["report"]) }

// ownUnittest is unittest as python -m runs it, whose results say what became of
// each test as well.
func ownUnittest(words []string) (Own, bool) {
	if len(words) < 3 || !slices.Contains([]string{"python", "python3"}, words[0]) || words[1] != "-m" || words[2] != "unittest" {
		return Own{}, false
	}
	_, ok := flagsOf(words[3:], []string{"-v", "-q", "-b", "--verbose", "--quiet", "--buffer"}, []string{"-s", "-t", "-p", "--start-directory", "--top-level-directory", "--pattern"})
	if !ok {
		return Own{}, false
	}
	call := append([]string{words[0], "{out}/ask.py"}, words[3:]...)
	return Own{
		Asked:   askOf(func(p *Project) Ask { return p.unittest(".", words[0], words[3:]) }),
		Command: quoteAll(call), Files: map[string]string{"ask.py": unittestOutcomes + unittestOwn},
	}, true
}

// ownMinitest is one test file that ruby runs, to which a reporter is added. Of
// what other files hold it says nothing, so that a project with more of them is
// asked again.
func ownMinitest(words []string) (Own, bool) {
	if len(words) < 2 || words[0] != "ruby" {
		return Own{}, false
	}
	files := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "-w" || strings.HasPrefix(w, "-I") && w != "-I" })
	if len(files) != 1 || path.Ext(files[0]) != ".rb" {
		return Own{}, false
	}
	call := append([]string{"ruby", "-r{out}/ask.rb"}, words[1:]...)
	return Own{
		Asked:   minitestAsk(Call{Dir: ".", Words: words}, nil).Command,
		Command: quoteAll(call), Files: map[string]string{"ask.rb": minitestOutcomes + minitestPlugin},
	}, true
}

// ownRSpec is RSpec, which writes its report beside what it prints.
func ownRSpec(words []string) (Own, bool) {
	at := 0
	if len(words) > 2 && words[0] == "bundle" && words[1] == "exec" {
		at = 2
	}
	if len(words) <= at || words[at] != "rspec" {
		return Own{}, false
	}
	rest, ok := flagsOf(words[at+1:], []string{"--color", "--no-color", "--colour", "-w", "--warnings"}, nil)
	if !ok || slices.ContainsFunc(rest, func(w string) bool { return strings.Contains(w, ":") }) {
		return Own{}, false
	}
	call := slices.Concat(words, []string{"--format", "progress", "--format", "json", "--out", "{out}/report"})
	return Own{Asked: rspecAsk(Call{Dir: ".", Words: words}, at).Command, Command: quoteAll(call)}, true
}

// ownPHPUnit is PHPUnit, which writes its report beside what it prints.
func ownPHPUnit(words []string) (Own, bool) {
	if len(words) == 0 {
		return Own{}, false
	}
	switch words[0] {
	case "phpunit", "vendor/bin/phpunit", "./vendor/bin/phpunit":
	default:
		return Own{}, false
	}
	alone := []string{"--do-not-cache-result", "--testdox", "--no-coverage", "--no-progress", "--no-interaction"}
	if _, ok := flagsOf(words[1:], alone, []string{"-c", "--configuration", "--bootstrap", "--colors"}); !ok {
		return Own{}, false
	}
	call := slices.Concat(words[:1], []string{"--log-junit", "{out}/report"}, words[1:])
	return Own{Asked: phpunitAsk(words, 0), Command: quoteAll(call)}, true
}

// ownBats is bats, whose protocol is what it prints where nobody looks on.
func ownBats(words []string) (Own, bool) {
	if len(words) < 2 || words[0] != "bats" {
		return Own{}, false
	}
	if rest, ok := flagsOf(words[1:], []string{"-r", "--recursive", "-t", "--tap"}, nil); !ok || len(rest) == 0 {
		return Own{}, false
	}
	ask := batsAsk(words)
	return Own{Asked: ask, Command: ask, Said: saidAsReported}, true
}

// ownProve is prove, whose harness keeps what each file printed.
func ownProve(words []string) (Own, bool) {
	if len(words) == 0 || words[0] != "prove" {
		return Own{}, false
	}
	_, ok := flagsOf(words[1:], []string{"-r", "--recurse", "-l", "--lib", "-v", "-q"}, []string{"-e", "--exec"})
	if !ok {
		return Own{}, false
	}
	return Own{
		Asked:   proveAsk(words),
		Command: "PERL_TEST_HARNESS_DUMP_TAP='{out}' " + quoteAll(words), Parse: parseDumpedTAP,
	}, true
}

// ownCTest is a project of CMake that is configured, built and tested in one
// command. In several, the last one runs where the product was built and may have
// run: it answers nothing, and CTest is asked by itself.
func ownCTest(command string) (Own, bool) {
	parts := strings.Split(command, " && ")
	if len(parts) < 2 {
		return Own{}, false
	}
	var calls []Call
	for i, part := range parts {
		words := strings.Fields(strings.TrimSuffix(part, " >/dev/null"))
		if len(words) == 0 || strings.Trim(strings.Join(words, " "), plainBytes) != "" || !isCTestStep(words, i == len(parts)-1) {
			return Own{}, false
		}
		calls = append(calls, Call{Dir: ".", Words: words})
	}
	last := parts[len(parts)-1]
	call, silent := strings.CutSuffix(last, " >/dev/null")
	call += " --output-junit '{out}/report'"
	if silent {
		call += " >/dev/null"
	}
	source, ask := ctestAsk(calls)
	if source != "." {
		return Own{}, false
	}
	return Own{Runner: "ctest", Asked: ask, Command: strings.Join(append(parts[:len(parts)-1:len(parts)-1], call), " && ")}, true
}

// isCTestStep says that words configure, build, or change into what was built;
// or, last, that they run all tests.
func isCTestStep(words []string, last bool) bool {
	if last {
		rest, ok := flagsOf(words[1:], []string{"--output-on-failure", "-V", "--verbose", "-Q", "--quiet"}, []string{"--test-dir", "-j", "--parallel", "--timeout"})
		return words[0] == "ctest" && ok && len(rest) == 0
	}
	switch {
	case words[0] == "cd":
		return len(words) == 2
	case words[0] != "cmake":
		return false
	case len(words) > 1 && words[1] == "--build":
		rest, ok := flagsOf(words[2:], nil, []string{"-j", "--parallel"})
		return ok && len(rest) == 1
	}
	rest := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return strings.HasPrefix(w, "-D") && w != "-D" })
	rest, ok := flagsOf(rest, nil, []string{"-S", "-B"})
	return ok && len(rest) == 0
}
