package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

const goodPlan = `{
  "spec_hash": "abc",
  "phases": [
    {"number": "01", "name": "schema", "promise": "SCHEMA DONE", "budget": 3},
    {"number": "02", "name": "api", "promise": "API DONE", "depends_on": ["01"], "kind": "strategic",
     "verify": ["make test"], "may_change": ["tests/**"], "agent": null}
  ]
}
`

func TestBadPlans(t *testing.T) {
	phase := func(fields string) string {
		return "{\"phases\": [\n{\"number\": \"01\", \"name\": \"a\", \"promise\": \"A\",\n" + fields + "}\n]}"
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"1: broken JSON: unexpected end of the file (a bracket, a brace or a quote is not closed)"}},
		{"broken", "{\n  \"phases\": [,]\n}", []string{"2: broken JSON: invalid character ',' looking for beginning of value (a value is missing before it, or a comma stands there too many)"}},
		{"cut", "{\n\"phases\": [\n", []string{"3: broken JSON: unexpected end of the file (a bracket, a brace or a quote is not closed)"}},
		{"no comma", "{\"phases\": [{\"number\": \"01\" \"name\": \"one\"}]}", []string{`1: broken JSON: invalid character '"' after object key:value pair (a comma is missing before it, or a closing })`}},
		{"more after it", goodPlan + "\n{}", []string{"10: broken JSON: more text after the end of the JSON value (correct the JSON there)"}},
		{"not an object", "[]", []string{"1: the plan is a list, want an object (write { … })"}},
		{"no phases", "{}", []string{"1: phases: the plan has no phases (add at least one phase with number, name and promise)"}},
		{"unknown keys", "{\"phasis\": [],\n\"phases\": [\n{\"number\":\"1\", \"promis\": \"X\"}]}", []string{
			`1: unknown key "phasis" in the plan (did you mean "phases"?)`,
			"3: phase 1, name: the name is empty (give the phase a short name)",
			`3: unknown key "promis" in a phase (did you mean "promise"?)`,
		}},
		{"a wrong shape hides nothing", "{\"phases\": [\n{\"number\": \"1\", \"name\": \"a\", \"promise\": \"A\", \"budget\": 0},\n{\"number\": \"2\", \"name\": \"b\", \"promise\": \"A\", \"agent\": 7}]}", []string{
			"2: phases[0].budget is 0 (use 1 or more, or leave it out for the default)",
			`3: phase 2, promise: the promise "A" is also that of phase 1 (give each phase its own words)`,
			"3: phases[1].agent is a number, want a string (write it in quotes)",
		}},
		{"a dependency twice", "{\"phases\": [\n{\"number\": \"1\", \"name\": \"a\", \"promise\": \"A\"},\n{\"number\": \"2\", \"name\": \"b\", \"promise\": \"B\", \"depends_on\": [\"1\", \"1\"]}]}", []string{
			`3: phase 2, depends_on[1]: it depends on "1" twice (remove one of them)`,
		}},
		{"key twice", phase(`"name": "b"`), []string{"3: phases[0].name is written twice (remove one of them; the first is on line 2)"}},
		{"wrong types", "{\"phases\": [\n{\"number\": 1,\n\"name\": [],\n\"promise\": \"P\",\n\"budget\": \"8\",\n\"depends_on\": \"01\",\n\"skills\": [\"a\", 2]},\n7]}", []string{
			"2: phases[0].number is a number, want a string (write it in quotes)",
			"3: phases[0].name is a list, want a string (write it in quotes)",
			"5: phases[0].budget is a string, want an integer (write digits without quotes)",
			`6: phases[0].depends_on is a string, want a list of strings (write ["…", "…"])`,
			"7: phases[0].skills[1] is a number, want a string (write it in quotes)",
			"8: phases[1] is a number, want an object (write { … })",
		}},
		{"no agent in a list", phase(`"agent": []`), []string{"3: phases[0].agent names no agent (name at least one, or leave the key out)"}},
		{"a number among agents", phase(`"agent": ["claude", 7]`), []string{"3: phases[0].agent[1] is a number, want a string (write it in quotes)"}},
		{"a fallback of nobody", phase(`"fallback": ["codex"]`), []string{
			`3: phase 01, fallback: there is a fallback, and no agent whose place it takes (write "agent": ["…", "…"], the one that is wanted most first)`,
		}},
		{"budget 0", phase(`"budget": 0`), []string{"3: phases[0].budget is 0 (use 1 or more, or leave it out for the default)"}},
		{"budget below 0", phase(`"budget": -2`), []string{"3: phases[0].budget is -2 (use 1 or more, or leave it out for the default)"}},
		{"half a budget", phase(`"budget": 1.5`), []string{"3: phases[0].budget is 1.5, not a number of iterations (write a whole number from 1)"}},
		{"a huge budget", phase(`"budget": 99999999999999999999`), []string{"3: phases[0].budget is 99999999999999999999, not a number of iterations (write a whole number from 1)"}},
		{"time 0", phase(`"iteration_timeout_secs": 0`), []string{"3: phases[0].iteration_timeout_secs is 0 (use 1 or more, or leave it out for the default)"}},
		{"words", phase(`"permission_mode": "strickt", "phase_type": "x", "kind": "y", "context_limit": "lots", "may_change": ["../x"], "skills": ["a/b"]`), []string{
			`3: phase 01, permission_mode: unknown permission mode "strickt" (use standard, autonomous or readonly)`,
			`3: phase 01, phase_type: unknown phase type "x" (use scaffold, implement, test, refactor, fix)`,
			`3: phase 01, kind: unknown kind "y" (use tactical or strategic)`,
			`3: phase 01, context_limit: "lots" is no context limit (write tokens ("120000") or a share ("80%"))`,
			`3: phase 01, may_change[0]: "../x": it leaves the checkout (write a path below the checkout, such as "tests/**")`,
			`3: phase 01, skills[0]: "a/b" is not a skill (write the name of a file or folder in .forge/skills/, without its ending)`,
		}},
		{"names", "{\"phases\": [\n{\"number\": \"1\", \"name\": \"a/b\", \"promise\": \"A\"},\n{\"number\": \"2\", \"name\": \"-x\", \"promise\": \"A\"},\n{\"number\": \"x\", \"name\": \"c\\u0001\", \"promise\": \" \"}]}", []string{
			`2: phase 1, name: the name "a/b" contains a path separator (write it without / and \)`,
			`3: phase 2, name: the name "-x" starts with a dash (start it with a letter or digit)`,
			`3: phase 2, promise: the promise "A" is also that of phase 1 (give each phase its own words)`,
			`4: phase x, number: "x" is not a phase number (write digits, or digits.digits, such as "05" or "05.1")`,
			`4: phase x, name: the name "c\x01" contains a control character (write it on one line of printable text)`,
			`4: phase x, promise: the promise is empty (name the words the agent says when the phase is done)`,
		}},
		{"a name of 10 KB", "{\"phases\": [{\"number\": \"1\", \"name\": \"" + strings.Repeat("n", 10<<10) + "\", \"promise\": \"A\"}]}", []string{
			"1: phase 1, name: the name has 10240 bytes (keep it under 200)",
		}},
		{"a number twice", "{\"phases\": [\n{\"number\": \"05\", \"name\": \"a\", \"promise\": \"A\"},\n{\"number\": \"5\", \"name\": \"b\", \"promise\": \"B\"}]}", []string{
			`3: phase 5, number: "5" is also the number of phase "a" on line 2 (give each phase its own number)`,
		}},
		{"deep", "{\"phases\": " + strings.Repeat("[", 5000), []string{"1: broken JSON: nested deeper than 32 levels (correct the JSON there)"}},
		{"not UTF-8", "{\n\"\xff\": 1}", []string{"2: is not UTF-8 text (save it as UTF-8)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := project(t, map[string]string{PlanFile: tt.text})
			_, _, err := LoadPlan(filepath.Join(dir, PlanFile), nil)
			var problems *Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error is %v, want *Problems", err)
			}
			want := PlanFile + ":" + strings.Join(tt.want, "\n"+PlanFile+":")
			if err.Error() != want {
				t.Errorf("got\n%s\nwant\n%s", err, want)
			}
		})
	}
}

func TestPlanFiles(t *testing.T) {
	dir := t.TempDir()
	_, _, err := LoadPlan(filepath.Join(dir, PlanFile), nil)
	if err == nil || err.Error() != ".forge/phases.json: there is no plan (write one, or make one from the spec with forge generate)" {
		t.Errorf("missing: %v", err)
	}
	must(t, os.MkdirAll(filepath.Join(dir, PlanFile), 0o755))
	if _, _, err = LoadPlan(filepath.Join(dir, PlanFile), nil); err == nil || !strings.Contains(err.Error(), "is a folder, not a file") {
		t.Errorf("folder: %v", err)
	}
	large := filepath.Join(dir, "large.json")
	must(t, os.WriteFile(large, make([]byte, MaxPlanBytes+1), 0o644))
	if _, _, err = LoadPlan(large, nil); err == nil || err.Error() != large+": has 8388609 bytes, Forge reads at most 8388608 (make it smaller)" {
		t.Errorf("large: %v", err)
	}
}

func TestPlanLoads(t *testing.T) {
	plan, warnings, err := parsePlan(goodPlan, PlanFile, nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := work.Plan{SpecHash: "abc", Phases: []work.Phase{
		{Number: "01", Name: "schema", Promise: "SCHEMA DONE", Budget: 3},
		{Number: "02", Name: "api", Promise: "API DONE", DependsOn: []string{"01"}, Kind: work.KindStrategic, Verify: []string{"make test"}, MayChange: []string{"tests/**"}},
	}}
	if !reflect.DeepEqual(plan.Plan, want) {
		t.Errorf("got  %+v\nwant %+v", plan.Plan, want)
	}
}

func TestPlanOfTheRustForge(t *testing.T) {
	plan, warnings, err := parsePlan(`{
  "spec_hash": "1f", "generated_at": "2026-01-26T15:03:22Z",
  "phases": [{
    "number": "05", "name": "OAuth integration", "promise": "OAUTH COMPLETE", "reasoning": "",
    "depends_on": [], "skills": [], "permission_mode": "strict", "phase_type": "implement", "sub_phases": [],
    "reviews": {"specialists": [{"type": "security", "gate": true}, "performance"]},
    "swarm": {"strategy": "parallel"}, "parent_phase": null
  }]
}`, PlanFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	ph := plan.Phases[0]
	if ph.PermissionMode != work.PermissionStandard || ph.Budget != 0 || strings.Join(ph.Reviews, " ") != "security performance" {
		t.Errorf("got %+v", ph)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	want := []string{
		`.forge/phases.json:5: phases[0].permission_mode "strict" is deprecated: the phase is now sensitive and asks before each iteration (write "standard" and add its name to autonomy.sensitive_patterns.patterns)`,
		".forge/phases.json: not used: phases[0].swarm (these are read, nothing else)",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestGraphProblemsHaveLines(t *testing.T) {
	_, _, err := parsePlan(goodPlan, PlanFile, func(p work.Plan) []work.Problem {
		return []work.Problem{
			{Path: "phases[1].depends_on[0]", What: "unknown phase 9", Fix: "did you mean 01?"},
			{Path: "phases[0].depends_on", What: "a cycle"},
			{What: "whole"},
		}
	})
	want := ".forge/phases.json:1: whole\n.forge/phases.json:4: phase 01, depends_on: a cycle\n.forge/phases.json:5: phase 02, depends_on[0]: unknown phase 9 (did you mean 01?)"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// FuzzPlan: no input panics, every problem has its line within the text, and
// what is accepted is a plan that Check accepts.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{goodPlan, "", "{", `{"phases":[{"number":"1","name":"a","promise":"A","reviews":{"specialists":[]}}]}`, `{"phases":[[[[`, `{"a":1}{`, "nul", `{"phases":null}`, `{"phases":[{"budget":1e9}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plan, _, err := parsePlan(text, PlanFile, nil)
		if err == nil {
			if problems := plan.Check(); len(problems) > 0 {
				t.Fatalf("%q is accepted with %v", text, problems)
			}
			return
		}
		var problems *Problems
		if !errors.As(err, &problems) {
			t.Fatalf("%T", err)
		}
		for _, p := range problems.List {
			if p.Line < 1 || p.Line > 1+strings.Count(text, "\n") || p.Col < 1 || p.What == "" || p.Fix == "" || strings.Contains(p.String(), "\n") {
				t.Fatalf("%q: a problem without place or way out: %+v", text, p)
			}
		}
	})
}
