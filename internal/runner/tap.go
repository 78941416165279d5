package runner

import (
	"path"
	"slices"
	"strings"
)

func batsKind() Kind {
	return Kind{Name: "bats", Find: findBats, Parse: parseBats, Plant: plantBats, Own: ownBats}
}

func tapKind() Kind {
	return Kind{Name: "tap", Find: findTAP, Parse: parseTAPFiles, Plant: plantTAP, Own: ownProve}
}

func findBats(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		if path.Base(c.Words[0]) != "bats" {
			continue
		}
		asks = append(asks, Ask{
			Runner: "bats", Dir: c.Dir, Command: batsAsk(c.Words),
			Tests: p.Below(c.Dir, func(f string) bool { return path.Ext(f) == ".bats" }),
		})
	}
	return merged(asks)
}

// batsAsk is the command of an ask for a call.
func batsAsk(call []string) string {
	words := call[0] + " --formatter tap"
	for _, w := range call[1:] {
		if w == "-r" || w == "--recursive" || !strings.HasPrefix(w, "-") {
			words += " " + quoteGlob(w)
		}
	}
	return words + " >'{out}/report'"
}

func plantBats(file string, _ []byte, word string) (string, string, bool) {
	return path.Join(path.Dir(file), word+".bats"), "@test \"" + word + "\" {\n  [ \"" + word + "\" = \"\" ]\n}\n", true
}

func parseBats(files map[string][]byte) Report {
	var r Report
	parseTAP(files["report"], "", &r)
	return r.settle()
}

// between stands before the name of each file in a report of several.
const between = "\x1e"

// findTAP runs the files that prove is called for, one after the other, as
// prove does.
func findTAP(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		if path.Base(c.Words[0]) != "prove" {
			continue
		}
		_, dirs := proveArgs(c.Words)
		asks = append(asks, Ask{
			Runner: "tap", Dir: c.Dir, Command: proveAsk(c.Words),
			Tests: p.Below(c.Dir, func(f string) bool {
				return path.Ext(f) == ".t" && slices.ContainsFunc(dirs, func(d string) bool { return below(f, path.Join(c.Dir, d)) || f == path.Join(c.Dir, d) })
			}),
		})
	}
	return merged(asks)
}

// proveArgs are the program that a call of prove runs files by, and where they are.
func proveArgs(call []string) (program string, dirs []string) {
	program = "perl -Ilib"
	for i := 1; i < len(call); i++ {
		switch w := call[i]; {
		case (w == "-e" || w == "--exec") && i+1 < len(call):
			i++
			program = call[i]
		case !strings.HasPrefix(w, "-"):
			dirs = append(dirs, strings.TrimSuffix(w, "/"))
		}
	}
	if len(dirs) == 0 {
		dirs = []string{"t"}
	}
	return program, dirs
}

// proveAsk is the command of an ask for a call.
func proveAsk(call []string) string {
	program, dirs := proveArgs(call)
	return "for f in $(find " + quoteAll(dirs) + " -name '*.t' | sort); do printf '\\036%s\\n' \"$f\"; " + program + " \"$f\"; done >'{out}/report'"
}

// plantTAP writes a file that perl and sh both run.
func plantTAP(file string, sample []byte, word string) (string, string, bool) {
	text := "print \"1..1\\nnot ok 1 - " + word + "\\n\";\n"
	if first, _, _ := strings.Cut(string(sample), "\n"); strings.Contains(first, "sh") {
		text = first + "\nprintf '1..1\\nnot ok 1 - " + word + "\\n'\n"
	}
	return path.Join(path.Dir(file), word+".t"), text, true
}

func parseTAPFiles(files map[string][]byte) Report {
	var r Report
	for _, part := range strings.Split(string(files["report"]), between)[min(1, strings.Count(string(files["report"]), between)):] {
		name, body, _ := strings.Cut(part, "\n")
		parseTAP([]byte(body), name, &r)
	}
	return r.settle()
}

// parseDumpedTAP reads what prove kept of each file, below the file's name.
func parseDumpedTAP(files map[string][]byte) Report {
	var r Report
	for _, name := range sortedKeys(files) {
		parseTAP(files[name], name, &r)
	}
	return r.settle()
}
