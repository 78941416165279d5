package work

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCriteriaNameTheirEvidence(t *testing.T) {
	good := []Acceptance{
		{What: "a", Command: "make test-a"}, {What: "b", Test: "tests/b_test.py::test_b"}, {What: "c", Page: "docs/a page.md"},
	}
	plan := func(all ...Acceptance) []Problem {
		return Plan{Phases: []Phase{{Number: "01", Name: "n", Promise: "P", Criteria: all}}}.Check()
	}
	if got := plan(good...); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
	for what, bad := range map[string]Acceptance{
		"names no evidence":              {What: "a"},
		"names 2 pieces of evidence":     {What: "a", Command: "true", Page: "a.md"},
		"says nothing that has to be so": {Command: "true"},
		"control or invisible":           {What: "a\x1b[31m", Command: "true"},
		"evidence of a criterion":        {What: "a", Command: "true\nrm x"},
		`"../a.md" is no file`:           {What: "a", Page: "../a.md"},
		`"/etc/passwd" is no file`:       {What: "a", Page: "/etc/passwd"},
		`"docs/*" is no file`:            {What: "a", Page: "docs/*"},
		`".forge/phases.json" is no`:     {What: "a", Page: ".forge/phases.json"},
		`"-rf" is no file`:               {What: "a", Test: "-rf"},
		`"" is no file`:                  {What: "a", Test: "::name"},
	} {
		got := plan(good[0], bad)
		if len(got) != 1 || !strings.Contains(got[0].What, what) || !strings.HasPrefix(got[0].Path, "phases[0].criteria[1]") || got[0].Fix == "" {
			t.Errorf("%+v: got %v, want one problem that says %q, with a way out", bad, got, what)
		}
	}
	many := make([]Acceptance, MaxAcceptance+1)
	for i := range many {
		many[i] = good[0]
	}
	if got := plan(many...); len(got) != 1 || got[0].Path != "phases[0].criteria" {
		t.Errorf("31 criteria: %v", got)
	}
}

// What shows a criterion is a command that fails before, whatever the file is called.
func TestTheProofOfACriterion(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"a page.md", "it's.md", "$(touch x).md", "a;b.md"} {
		a := Acceptance{What: "a", Page: file}
		run := func() error {
			c := exec.Command("sh", "-c", a.Proof())
			c.Dir = dir
			return c.Run()
		}
		if run() == nil {
			t.Errorf("%q: %s passes, and there is no such page", file, a.Proof())
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(); err != nil {
			t.Errorf("%q: %s: %v", file, a.Proof(), err)
		}
	}
	if got := (Acceptance{Test: "a_test.go::TestA"}).Proof(); got != "test -s a_test.go" {
		t.Errorf("a test is shown by %q", got)
	}
}
