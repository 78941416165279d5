package todos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseReadsTodos(t *testing.T) {
	got := Parse([]byte(`# the next phase
todos:
  - id: read
    title: Read  the
      documents
    done: true
  - title: "Write: the plan"
    status: in_progress
    needs: [read, 7]
  - {id: 7, title: Look, status: done}
  - title: |
      Answer
      it
    notes: later
    needs: read
`))
	want := []Todo{
		{ID: "read", Title: "Read the documents", Status: Done, Line: 3},
		{Title: "Write: the plan", Status: InProgress, Needs: []string{"read", "7"}, Line: 7},
		{ID: "7", Title: "Look", Status: Done, Line: 10},
		{Title: "Answer it", Status: Open, Needs: []string{"read"}, Notes: "later", Line: 11},
	}
	if len(got.Problems) > 0 {
		t.Fatalf("problems: %q", got.Problems)
	}
	for i := range want {
		if g, w := fmt.Sprintf("%+v", got.Todos[i]), fmt.Sprintf("%+v", want[i]); g != w {
			t.Errorf("todo %d:\n got %s\nwant %s", i, g, w)
		}
	}
	check := got.Check()
	if check.Total != 4 || !slices.Equal(check.Done, []string{"Read the documents", "Look"}) {
		t.Errorf("check: %+v", check)
	}
	bare := Parse([]byte("- title: a\n- title: b\n"))
	if len(bare.Problems) > 0 || len(bare.Todos) != 2 {
		t.Errorf("a bare list: %+v", bare)
	}
	one := Parse([]byte("todos:\n- title: a\n"))
	if len(one.Problems) > 0 || len(one.Todos) != 1 {
		t.Errorf("one todo: %+v", one)
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	item := func(rest string) string { return "- title: a\n" + rest }
	tests := map[string]struct {
		text string
		want []string // each is part of a problem, in order
	}{
		"empty":                 {"", []string{"forge-job/todos.yaml is empty"}},
		"blank":                 {" \n\t\n", []string{"is empty"}},
		"comments alone":        {"# nothing\n", []string{"holds nothing"}},
		"not UTF-8":             {"- title: a\n- title: \xff\n", []string{"not UTF-8 text: line 2"}},
		"too large":             {strings.Repeat("#", MaxBytes+1), []string{"has 1048577 bytes"}},
		"broken":                {"- title: a\n  - x: [\n", []string{"is not YAML"}},
		"a text":                {"do it all", []string{`:1: the todos are the text "do it all", want a list`}},
		"another table":         {"tasks:\n- title: a\n", []string{":1: unknown key \"tasks\"; the list stands under todos"}},
		"two documents":         {"- title: a\n---\n- title: b\n", []string{":2: a second document begins"}},
		"an entry of text":      {item("- b\n"), []string{`:2: a todo is the text "b", want a table with a title`}},
		"no title":              {item("- id: x\n"), []string{":2: a todo has no title"}},
		"blank title":           {item("- title: '  '\n"), []string{":2: a title is blank"}},
		"a number as title":     {item("- title: 42\n"), []string{`:2: title is the value "42", want text`}},
		"null title":            {item("- title:\n"), []string{":2: title is nothing, want text"}},
		"long title":            {item("- title: " + strings.Repeat("x", 501) + "\n"), []string{":2: a title has 501 bytes, at most 500"}},
		"unknown key":           {item("  doen: true\n"), []string{`:2: unknown key "doen" in a todo; known are title`}},
		"yes":                   {item("  done: yes\n"), []string{`:2: done is the text "yes", want true or false`}},
		"done as text":          {item("  done: \"true\"\n"), []string{`:2: done is the text "true"`}},
		"unknown status":        {item("  status: completed\n"), []string{`:2: unknown status "completed"`}},
		"two minds":             {item("  status: open\n  done: true\n"), []string{":1: a todo says done: true and status: open"}},
		"same title":            {item("- title: ' a'\n"), []string{`:2: the title "a" stands on line 1 already`}},
		"same id":               {"- {id: x, title: a}\n- {id: x, title: b}\n", []string{`:2: the id "x" stands on line 1 already`}},
		"unknown need":          {item("  needs: [b]\n"), []string{`:1: "a" needs "b", and no todo has that id`}},
		"itself":                {"- {id: x, title: a, needs: x}\n", []string{":1: todos need each other: x → x"}},
		"a circle":              {"- {id: a, title: a, needs: c}\n- {id: b, title: b, needs: [c]}\n- {id: c, title: c, needs: [b]}\n", []string{":2: todos need each other: b → c → b"}},
		"blank id":              {item("  id: ''\n"), []string{":2: id is blank"}},
		"an alias":              {"- &x {title: a}\n- *x\n", []string{":1: a todo is an alias, anchor or tag", ":2: a todo is an alias"}},
		"a tag":                 {"- !!map {title: a}\n", []string{"a todo is an alias, anchor or tag"}},
		"a key that is no text": {item("  [x]: y\n"), []string{":2: "}},
		"twice the same key":    {"- title: a\n  title: b\n", []string{`:2: "title" stands twice in a todo`}},
		"deep brackets":         {"a: " + strings.Repeat("[", 50_000), []string{":1: is not YAML: exceeded max depth"}},
		"deep entries":          {strings.Repeat("- ", 500_000), []string{":1: is not YAML: exceeded max depth"}},
		"a folder's worth":      {strings.Repeat("- title: x\n", MaxTodos+1), []string{"the title \"x\" stands on line 1 already"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Parse([]byte(tt.text))
			if len(got.Problems) == 0 {
				t.Fatalf("no problem in %+v", got.Todos)
			}
			at := 0
			for _, want := range tt.want {
				i := slices.IndexFunc(got.Problems[at:], func(p string) bool { return strings.Contains(p, want) })
				if i < 0 {
					t.Fatalf("no problem with %q in %q", want, got.Problems)
				}
				at += i + 1
			}
			if len(got.Problems) > maxProblems+1 {
				t.Errorf("%d problems", len(got.Problems))
			}
		})
	}
}

// What is wrong about "done" is never read as done.
func TestParseDoesNotGuessDone(t *testing.T) {
	for _, rest := range []string{"done: yes", "done: 1", "done: 'true'", "done: True!", "done: True", "done: TRUE", "done: on", "done: y", "done: ", "status: Done", "status: finished", "status: true", "done: false\n  status: done", "done: true\n  status: open", "Done: true", "done : [true]"} {
		got := Parse([]byte("- title: a\n  " + rest + "\n"))
		if d := got.Check().Done; len(d) > 0 {
			t.Errorf("%q is taken for done: %q", rest, d)
		}
		if len(got.Problems) == 0 {
			t.Errorf("%q is no problem", rest)
		}
	}
}

func TestUnreadableIsNeverDone(t *testing.T) {
	c := Unreadable("is missing").Check()
	if c.Total != 0 || len(c.Done) != 0 || !slices.Equal(c.Problems, []string{"forge-job/todos.yaml is missing"}) {
		t.Errorf("check: %+v", c)
	}
}

// A circle is found exactly where some todo can be reached from itself.
func TestCycleAgainstReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "todos")
		var text strings.Builder
		var reach [8][8]bool
		for i := range n {
			fmt.Fprintf(&text, "- id: t%d\n  title: todo %d\n  needs: [", i, i)
			for j := range n {
				if rapid.IntRange(0, n).Draw(t, "edge") == 0 {
					reach[i][j] = true
					fmt.Fprintf(&text, "t%d, ", j)
				}
			}
			text.WriteString("]\n")
		}
		for k := range n {
			for i := range n {
				for j := range n {
					reach[i][j] = reach[i][j] || reach[i][k] && reach[k][j]
				}
			}
		}
		circle := false
		for i := range n {
			circle = circle || reach[i][i]
		}
		got := Parse([]byte(text.String()))
		if found := len(got.Problems) > 0; found != circle {
			t.Fatalf("a circle is there: %v, found: %q\n%s", circle, got.Problems, text.String())
		}
		if circle && (len(got.Problems) != 1 || !strings.Contains(got.Problems[0], "need each other")) {
			t.Fatalf("problems: %q", got.Problems)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("todos:\n- title: a\n  done: true\n  needs: [b]\n- {id: b, title: c, status: open}\n"))
	f.Add([]byte("- &a {title: *a, <<: *a}\n"))
	f.Add([]byte("? [a, {b: c}]\n: - - - d\n---\n%YAML 1.2\n!!x |-\n e\n"))
	f.Add([]byte("\ufeff- title: \"\\u0000\"\n  id: 0x1F\n  needs: 1.50\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Parse(data)
		check := got.Check()
		if len(check.Done) > check.Total || check.Total > MaxTodos {
			t.Fatalf("%+v", check)
		}
		for _, p := range got.Problems {
			if p != "and more" && !strings.HasPrefix(p, File) || strings.Contains(p, "\n") {
				t.Fatalf("problem %q", p)
			}
		}
		if len(got.Problems) > 0 {
			return
		}
		titles := map[string]bool{}
		for _, todo := range got.Todos {
			if todo.Title == "" || titles[todo.Title] || todo.Line < 1 {
				t.Fatalf("todo %+v of %q", todo, data)
			}
			titles[todo.Title] = true
			if todo.Status == Done && !strings.Contains(string(data), "true") && !strings.Contains(strings.ToLower(string(data)), "done") {
				t.Fatalf("done by itself: %q", data)
			}
		}
	})
}
