package runner

import (
	_ "embed"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

var (
	// What minitest's driver and its plugin have in common.
	//go:embed drivers/minitest_outcomes.rb
	minitestOutcomes string
	//go:embed drivers/minitest.rb
	minitestDriver string
	//go:embed drivers/minitest_plugin.rb
	minitestPlugin string
)

func minitestKind() Kind {
	return Kind{Name: "minitest", Find: findMinitest, Parse: parseLines, Plant: plantMinitest, Own: ownMinitest}
}

func rspecKind() Kind {
	return Kind{Name: "rspec", Find: findRSpec, Parse: parseRSpec, Plant: plantRSpec, Own: ownRSpec}
}

// findMinitest asks minitest for the test files of a project that has some in
// its form and calls ruby or rake.
func findMinitest(p *Project) []Ask {
	tests := p.Below(".", func(f string) bool {
		base := path.Base(f)
		return path.Ext(f) == ".rb" && (strings.HasPrefix(base, "test_") || strings.HasSuffix(base, "_test.rb")) && !strings.Contains(base, "helper")
	})
	minitest := slices.ContainsFunc(p.Paths, func(f string) bool {
		return path.Ext(f) == ".rb" && strings.Contains(p.Text(f), "initest")
	})
	var asks []Ask
	for _, c := range p.Calls() {
		program := path.Base(c.Words[0])
		if !minitest || program != "ruby" && program != "rake" && program != "bundle" && program != "minitest" {
			continue
		}
		if program == "bundle" && slices.Contains(c.Words, "rspec") {
			continue
		}
		asks = append(asks, minitestAsk(c, tests))
	}
	return merged(asks)
}

func minitestAsk(c Call, tests []string) Ask {
	words := []string{"ruby", "-I", "lib", "-I", "test", "-I", "spec", "-I", "."}
	if path.Base(c.Words[0]) == "bundle" {
		words = append([]string{"bundle", "exec"}, words...)
	}
	words = append(words, "{out}/ask.rb", "{out}/report")
	var here []string
	for _, t := range tests {
		if below(t, c.Dir) {
			here = append(here, t)
		}
	}
	// The driver finds the files: one that is planted shall be among them.
	return Ask{
		Runner: "minitest", Dir: c.Dir, Tests: here,
		Command: quoteAll(words) + " >'{out}/said'",
		Files:   map[string]string{"ask.rb": minitestOutcomes + minitestDriver},
	}
}

func plantMinitest(file string, _ []byte, word string) (string, string, bool) {
	name := word + "_test.rb"
	if strings.HasPrefix(path.Base(file), "test_") {
		name = "test_" + word + ".rb"
	}
	text := "require \"minitest/autorun\"\n\nclass Test" + capital(word) + " < Minitest::Test\n  def test_" + word + "\n    assert_equal 0, \"" + word + "\".length\n  end\nend\n"
	return path.Join(path.Dir(file), name), text, true
}

// findRSpec asks RSpec where the commands name it, or its settings are there
// and rake is called.
func findRSpec(p *Project) []Ask {
	var asks []Ask
	for _, c := range p.Calls() {
		at := slices.IndexFunc(c.Words, func(w string) bool { return path.Base(w) == "rspec" })
		rake := path.Base(c.Words[0]) == "rake" || slices.Contains(c.Words, "rake")
		if at < 0 && !(rake && p.Has(path.Join(c.Dir, ".rspec"))) {
			continue
		}
		ask := rspecAsk(c, at)
		ask.Tests = p.Below(c.Dir, func(f string) bool { return strings.HasSuffix(f, "_spec.rb") })
		asks = append(asks, ask)
	}
	return merged(asks)
}

// rspecAsk is how RSpec is asked for a call, in which its name is at at; below 0
// = rake calls it.
func rspecAsk(c Call, at int) Ask {
	words := []string{"rspec", "--format", "json", "--out", "{out}/report", "--no-fail-fast"}
	if path.Base(c.Words[0]) == "bundle" {
		words = append([]string{"bundle", "exec"}, words...)
	}
	if at >= 0 {
		words = append(words, rspecArgs(c.Words[at+1:])...)
	}
	return Ask{Runner: "rspec", Dir: c.Dir, Command: quoteAll(words) + " >'{out}/said'"}
}

func rspecArgs(args []string) []string {
	var keep []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case slices.Contains([]string{"-I", "-r", "--require", "-P", "--pattern", "--default-path", "-O", "--options"}, a) && i+1 < len(args):
			keep = append(keep, a, args[i+1])
			i++
		case slices.Contains([]string{"-f", "--format", "-o", "--out", "-e", "--example", "-t", "--tag", "--seed", "--order"}, a):
			i++
		case !strings.HasPrefix(a, "-") && !strings.Contains(a, ":"):
			keep = append(keep, a)
		}
	}
	return keep
}

func plantRSpec(file string, _ []byte, word string) (string, string, bool) {
	text := "RSpec.describe \"" + word + "\" do\n  it \"has no length\" do\n    expect(\"" + word + "\".length).to eq(0)\n  end\nend\n"
	return path.Join(path.Dir(file), word+"_spec.rb"), text, true
}

func parseRSpec(files map[string][]byte) Report {
	var r Report
	var said struct {
		Examples []struct {
			Full      string `json:"full_description"`
			File      string `json:"file_path"`
			Status    string `json:"status"`
			Exception struct {
				Class, Message string
			} `json:"exception"`
		} `json:"examples"`
		Messages []string `json:"messages"`
		Summary  struct {
			Outside int `json:"errors_outside_of_examples_count"`
		} `json:"summary"`
	}
	if json.Unmarshal(files["report"], &said) != nil {
		return r
	}
	for _, e := range said.Examples {
		file := strings.TrimPrefix(e.File, "./")
		o := jestOutcome(e.Status)
		r.add(Test{Name: file + ": " + e.Full, Group: file, Outcome: o, Text: failureText(o, e.Exception.Class+"\n"+e.Exception.Message)})
	}
	if said.Summary.Outside > 0 {
		r.broke("spec", strings.Join(said.Messages, "\n"))
	}
	return r.settle()
}
