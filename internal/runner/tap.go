package runner

import (
	"path"
	"slices"
	"strings"
)

func batsKind() Kind {
	return Kind{Name: "bats", Find: findBats, Parse: parseBats, Plant: plantBats}
}

func tapKind() Kind {
	return Kind{Name: "tap", Find: findTAP, Parse: parseTAPFiles, Plant: plantTAP}
}

func findBats(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		if path.Base(c.Words[0]) != "bats" {
			continue
		}
		words := c.Words[0] + " --formatter tap"
		for _, w := range c.Words[1:] {
			if w == "-r" || w == "--recursive" || !strings.HasPrefix(w, "-") {
				words += " " + quoteGlob(w)
			}
		}
		asks = append(asks, Ask{
			Runner: "bats", Dir: c.Dir, Command: words + " >'{out}/report'",
			Tests: p.Below(c.Dir, func(f string) bool { return path.Ext(f) == ".bats" }),
		})
	}
	return merged(asks)
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
		exec, dirs := "perl -Ilib", []string{}
		for i := 1; i < len(c.Words); i++ {
			switch w := c.Words[i]; {
			case (w == "-e" || w == "--exec") && i+1 < len(c.Words):
				i++
				exec = c.Words[i]
			case !strings.HasPrefix(w, "-"):
				dirs = append(dirs, strings.TrimSuffix(w, "/"))
			}
		}
		if len(dirs) == 0 {
			dirs = []string{"t"}
		}
		asks = append(asks, Ask{
			Runner: "tap", Dir: c.Dir,
			Tests: p.Below(c.Dir, func(f string) bool {
				return path.Ext(f) == ".t" && slices.ContainsFunc(dirs, func(d string) bool { return below(f, path.Join(c.Dir, d)) || f == path.Join(c.Dir, d) })
			}),
			Command: "for f in $(find " + quoteAll(dirs) + " -name '*.t' | sort); do printf '\\036%s\\n' \"$f\"; " + exec + " \"$f\"; done >'{out}/report'",
		})
	}
	return merged(asks)
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
