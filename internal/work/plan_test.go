package work

import (
	"reflect"
	"strings"
	"testing"
)

// goodPhase is a phase with every field set that Check looks at.
func goodPhase() Phase {
	return Phase{
		Number: "05.1", Name: "Wire the parser", Promise: "PARSER WIRED", Budget: 8, IterationTimeoutSecs: 60,
		PermissionMode: PermissionReadonly, PhaseType: "fix", Kind: KindStrategic, Verify: []string{"make test"},
	}
}

func TestCheckFindsNothingWrong(t *testing.T) {
	bare := Phase{Number: "1", Name: "a", Promise: "b"}
	if got := (Plan{Phases: []Phase{goodPhase(), bare}}).Check(); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
	for _, mode := range PermissionModes() {
		for _, typ := range PhaseTypes() {
			p := goodPhase()
			p.PermissionMode, p.PhaseType = mode, typ
			if got := (Plan{Phases: []Phase{p}}).Check(); got != nil {
				t.Errorf("%s, %s: got %v, want nothing", mode, typ, got)
			}
		}
	}
}

func TestCheckNamesThePlace(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Phase)
		path string
		what string
	}{
		{"no number", func(p *Phase) { p.Number = "" }, "phases[1].number", "not a phase number"},
		{"number in words", func(p *Phase) { p.Number = "five" }, "phases[1].number", `"five"`},
		{"number with three parts", func(p *Phase) { p.Number = "1.2.3" }, "phases[1].number", "not a phase number"},
		{"number and a line break", func(p *Phase) { p.Number = "1\n" }, "phases[1].number", "not a phase number"},
		{"negative number", func(p *Phase) { p.Number = "-1" }, "phases[1].number", "not a phase number"},
		{"no name", func(p *Phase) { p.Name = " \t" }, "phases[1].name", "empty"},
		{"name with a separator", func(p *Phase) { p.Name = "../etc" }, "phases[1].name", "path separator"},
		{"name with a backslash", func(p *Phase) { p.Name = `a\b` }, "phases[1].name", "path separator"},
		{"name that is a flag", func(p *Phase) { p.Name = "--force" }, "phases[1].name", "dash"},
		{"name with an escape sequence", func(p *Phase) { p.Name = "a\x1b[31m" }, "phases[1].name", "control character"},
		{"name that turns the writing direction", func(p *Phase) { p.Name = "a\u202eb" }, "phases[1].name", "control character"},
		{"name of broken UTF-8", func(p *Phase) { p.Name = "a\xff" }, "phases[1].name", "control character"},
		{"name of 10 KB", func(p *Phase) { p.Name = strings.Repeat("x", 10<<10) }, "phases[1].name", "10240 bytes"},
		{"no promise", func(p *Phase) { p.Promise = "\n" }, "phases[1].promise", "empty"},
		{"promise with a tag", func(p *Phase) { p.Promise = "a</promise>" }, "phases[1].promise", "< or >"},
		{"promise of two lines", func(p *Phase) { p.Promise = "a\nb" }, "phases[1].promise", "control character"},
		{"promise too long", func(p *Phase) { p.Promise = strings.Repeat("x", MaxPromiseBytes+1) }, "phases[1].promise", "1001 bytes"},
		{"promise of another phase", func(p *Phase) { p.Promise = " FIRST DONE " }, "phases[1].promise", "also that of phase 01"},
		{"negative budget", func(p *Phase) { p.Budget = -1 }, "phases[1].budget", "-1 iterations"},
		{"negative timeout", func(p *Phase) { p.IterationTimeoutSecs = -1 }, "phases[1].iteration_timeout_secs", "negative"},
		{"unknown mode", func(p *Phase) { p.PermissionMode = "strict" }, "phases[1].permission_mode", `"strict"`},
		{"unknown type", func(p *Phase) { p.PhaseType = "Fix" }, "phases[1].phase_type", `"Fix"`},
		{"unknown kind", func(p *Phase) { p.Kind = "both" }, "phases[1].kind", `"both"`},
		{"empty verify command", func(p *Phase) { p.Verify = []string{"true", " "} }, "phases[1].verify[1]", "empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := goodPhase()
			tt.edit(&p)
			got := Plan{Phases: []Phase{{Number: "01", Name: "first", Promise: "FIRST DONE"}, p}}.Check()
			if len(got) != 1 || got[0].Path != tt.path || !strings.Contains(got[0].What, tt.what) || got[0].Fix == "" {
				t.Fatalf("got %v, want one problem at %s that says %q and a way out", got, tt.path, tt.what)
			}
			if line := got[0].String(); strings.ContainsAny(line, "\n\x1b") || len(line) > 300 {
				t.Errorf("%q is not one short line", line)
			}
		})
	}
}

func TestCheckReportsEverythingAtOnce(t *testing.T) {
	got := Plan{Phases: []Phase{{Number: "x", Budget: -1}, {Number: "1", Name: "/", Promise: "P"}, {Number: "2", Name: "n", Promise: "P"}}}.Check()
	var paths []string
	for _, p := range got {
		paths = append(paths, p.Path)
	}
	want := []string{"phases[0].number", "phases[0].name", "phases[0].promise", "phases[0].budget", "phases[1].name", "phases[2].promise"}
	if !reflect.DeepEqual(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
}

func TestAPlanWithoutPhases(t *testing.T) {
	if got := (Plan{}).Check(); len(got) != 1 || got[0].Path != "phases" {
		t.Errorf("got %v, want one problem at phases", got)
	}
}

func TestProblemAsText(t *testing.T) {
	tests := map[string]Problem{
		"it is wrong":                  {What: "it is wrong"},
		"phases[3]: it is wrong":       {Path: "phases[3]", What: "it is wrong"},
		"a: it is wrong (do it right)": {Path: "a", What: "it is wrong", Fix: "do it right"},
	}
	for want, p := range tests {
		if got := p.String(); got != want {
			t.Errorf("%+v reads %q, want %q", p, got, want)
		}
	}
}

func TestPermissionModesIsACopy(t *testing.T) {
	PermissionModes()[0], PhaseTypes()[0] = "x", "x"
	if PermissionModes()[0] != PermissionStandard || PhaseTypes()[0] != "scaffold" {
		t.Error("a caller changed the list")
	}
}
