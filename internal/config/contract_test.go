package config

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

// The criteria of a phase are part of what proves it, and what shows them is
// evidence for all phases.
func TestTheContractOfAPlan(t *testing.T) {
	cfg, _, err := load(t, "[verify]\ncommands = [\"make test\"]\n[agent]\nuse = \"x\"\n[agents.x]\nkind = \"exec\"\ncommand = [\"true\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	plan := NewPlan(work.Plan{Phases: []work.Phase{
		{Number: "01", Name: "a", Promise: "A", Criteria: []work.Acceptance{
			{What: "it runs", Command: "make test"}, {What: "it counts", Command: "make count"}, {What: "it is tested", Test: "tests/a_test.py::test_a"}, {What: "it is told", Page: "docs/a.md"},
		}},
		{Number: "02", Name: "b", Promise: "B"},
		{Number: "03", Name: "c", Promise: "C", DependsOn: []string{"04"}},
		{Number: "04", Name: "d", Promise: "D", DependsOn: []string{"01"}},
	}})
	set, err := Resolve(cfg, plan, Facts{Kinds: []KindFacts{{Name: "exec"}}})
	if err != nil {
		t.Fatal(err)
	}
	one, two := set.Phases["01"], set.Phases["02"]
	if want := []string{"make test", "make count", "test -s tests/a_test.py", "test -s docs/a.md"}; !slices.Equal(one.Verify, want) || !one.VerifyOwn {
		t.Errorf("phase 01 is proven by %q, want %q", one.Verify, want)
	}
	if !slices.Equal(one.MayChange, []string{"docs/a.md"}) || len(two.MayChange) > 0 {
		t.Errorf("phase 01 may change %q, phase 02 %q; want its own page alone", one.MayChange, two.MayChange)
	}
	if want := []string{"make test"}; !slices.Equal(two.Verify, want) || two.VerifyOwn {
		t.Errorf("phase 02 is proven by %q, want %q", two.Verify, want)
	}
	if got := set.Phases["03"]; !slices.Equal(got.Verify, one.Verify) || len(got.MayChange) > 0 {
		t.Errorf("phase 03, which comes after 01, is proven by %q and may change %q", got.Verify, got.MayChange)
	}
	if want := []string{"tests/a_test.py", "docs/a.md"}; !slices.Equal(set.Proof.Evidence, want) {
		t.Errorf("evidence is %q, want %q", set.Proof.Evidence, want)
	}
}

func TestCriteriaInAPlanFile(t *testing.T) {
	const head = `{"phases": [{"number": "01", "name": "a", "promise": "A", "criteria": [` + "\n"
	p, _, err := parsePlan(head+`{"what": "it counts", "command": "make count"}]}]}`, PlanFile, nil)
	if err != nil || len(p.Phases[0].Criteria) != 1 || p.Phases[0].Criteria[0].Command != "make count" {
		t.Fatalf("got %+v, %v", p, err)
	}
	_, _, err = parsePlan(head+`{"what": "a"},`+"\n"+`{"what": "b", "commnad": "x"},`+"\n"+`{"what": "c", "page": 7}]}]}`, PlanFile, nil)
	for _, want := range []string{"phases.json:2: ", "names no evidence", "phases.json:3: ", `unknown key "commnad" in a criterion`, "phases.json:4: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

// That a file is there is no proof where nothing runs it: a phase of a project
// without verify commands rests on its agent's word, whatever its criteria name.
func TestAFileThatIsThereProvesNothing(t *testing.T) {
	cfg, _, err := load(t, "[agent]\nuse = \"x\"\n[agents.x]\nkind = \"exec\"\ncommand = [\"true\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	plan := NewPlan(work.Plan{Phases: []work.Phase{
		{Number: "01", Name: "a", Promise: "A", Criteria: []work.Acceptance{{What: "it is tested", Test: "a_test.go"}, {What: "it is told", Page: "a.md"}}},
		{Number: "02", Name: "b", Promise: "B", Criteria: []work.Acceptance{{What: "it is tested", Test: "b_test.go"}, {What: "it runs", Command: "make b"}}},
	}})
	set, err := Resolve(cfg, plan, Facts{Kinds: []KindFacts{{Name: "exec"}}})
	if err != nil {
		t.Fatal(err)
	}
	if one := set.Phases["01"]; len(one.Verify) > 0 || one.VerifyOwn {
		t.Errorf("phase 01 is proven by %q", one.Verify)
	}
	if want := []string{"make b", "test -s b_test.go"}; !slices.Equal(set.Phases["02"].Verify, want) {
		t.Errorf("phase 02 is proven by %q, want %q", set.Phases["02"].Verify, want)
	}
}
