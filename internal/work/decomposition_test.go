package work

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestDecompositions(t *testing.T) {
	split := func(body string) Signals { return ParseSignals("<decomposition>" + body + "</decomposition>") }
	got := split(` {"analysis": "two providers", "tasks": [
		{"id": "task-1", "name": " Google ", "description": "the first", "files": ["src/a.go"], "depends_on": [], "budget": 5},
		{"id": "task-2", "name": "GitHub", "budget": 3, "promise": "SECOND", "verify": ["make github"]}
	], "integration_task": {"id": "integrate", "name": "Wire", "description": "both", "budget": 2}}`)
	want := []Decomposition{{Analysis: "two providers", Tasks: []SplitTask{
		{ID: "task-1", Name: "Google", About: "the first", Files: []string{"src/a.go"}, Budget: 5},
		{ID: "task-2", Name: "GitHub", Budget: 3, Promise: "SECOND", Verify: []string{"make github"}},
		{ID: "integrate", Name: "Wire", About: "both", Budget: 2, DependsOn: []string{"task-1", "task-2"}},
	}}}
	if !reflect.DeepEqual(got.Decompositions, want) || len(got.Problems) > 0 {
		t.Errorf("got %+v, problems %q", got.Decompositions, got.Problems)
	}
	if n := want[0].Total(); n != 10 {
		t.Errorf("it asks for %d iterations, want 10", n)
	}

	many := make([]string, MaxSplitTasks+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"id":"t%d","name":"n","budget":1}`, i)
	}
	for name, bad := range map[string][2]string{
		"no JSON":            {`tasks`, "not a JSON object"},
		"an unknown field":   {`{"tasks":[],"parallel":true}`, "unknown field"},
		"an unknown word":    {`{"tasks":[{"id":"a","name":"n","budget":1,"agent":"x"}]}`, "part 1: unknown field"},
		"a field twice":      {`{"tasks":[{"id":"a","id":"b","name":"n","budget":1}]}`, "twice"},
		"a budget of words":  {`{"tasks":[{"id":"a","name":"n","budget":"two"}]}`, "budget cannot be"},
		"an id with a space": {`{"tasks":[{"id":"a b","name":"n","budget":1}]}`, "is no id"},
		"an empty command":   {`{"tasks":[{"id":"a","name":"n","budget":1,"verify":[" "]}]}`, "is empty"},
		"a hidden path":      {`{"tasks":[{"id":"a","name":"n","budget":1,"files":["a\u202eb"]}]}`, "printable"},
		"too many":           {`{"tasks":[` + strings.Join(many, ",") + `]}`, "21 parts"},
		"too many words":     {`{"tasks":[{"id":"a","name":"n","budget":1,"description":"` + strings.Repeat("x", MaxSplitBytes) + `"}]}`, "bytes together"},
	} {
		if got := split(bad[0]); len(got.Decompositions) != 0 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0], bad[1]) || strings.ContainsAny(got.Problems[0], "<>") {
			t.Errorf("%s: got %+v, problems %q, want one of %q", name, got.Decompositions, got.Problems, bad[1])
		}
	}
}
