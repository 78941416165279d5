package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

// listed are todos as the edge reads them: "x name" is done.
func listed(names ...string) func(*IterationDone) {
	return func(d *IterationDone) {
		c := work.TodoCheck{Total: len(names)}
		for _, n := range names {
			name, done := strings.CutPrefix(n, "x ")
			c.Listed = append(c.Listed, name)
			if done {
				c.Done = append(c.Done, name)
			} else {
				c.Open = append(c.Open, name)
			}
		}
		d.Todos = &c
	}
}

// staged is a job whose first plan staged a to f, of which f was done already.
func staged(t *testing.T) *story {
	st := aJob(t, "full")
	st.work("1", st.promise("1"), listed("a", "b", "c", "d", "e", "x f"))
	st.verify("1", true)
	st.joins("1")
	return st
}

// A todo that was staged and is gone unfinished is not done, however many are
// left, and the agent reads which one it is.
func TestTodosTakenOutOfTheList(t *testing.T) {
	for name, tt := range map[string]struct {
		list []string
		lost []string
	}{
		"all done":                         {[]string{"x a", "x b", "x c", "x d", "x e", "x f"}, nil},
		"one gone":                         {[]string{"x a", "x b", "x c", "x d", "x f"}, []string{"e"}},
		"one gone, others added":           {[]string{"x a", "x b", "x c", "x d", "x g", "x h"}, []string{"e"}},
		"two gone":                         {[]string{"x a", "x b", "x c", "x g", "x h"}, []string{"d", "e"}},
		"what was done before may be gone": {[]string{"x a", "x b", "x c", "x d", "x e"}, nil},
		"another order, more of them":      {[]string{"x g", "x e", "x d", "x c", "x b", "x a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			st := staged(t)
			st.work("2", st.promise("2"), listed(tt.list...))
			if tt.lost == nil {
				st.isPending("2 verify")
				return
			}
			st.isPending("2 iterate")
			prompt := st.prompt("2")
			for _, n := range tt.lost {
				if !strings.Contains(prompt, n+",") && !strings.Contains(prompt, n+";") {
					t.Errorf("the prompt does not name %s:\n%s", n, prompt)
				}
			}
			if !strings.Contains(prompt, "gone from forge-job/todos.yaml unfinished") {
				t.Errorf("the prompt does not say what is wrong:\n%s", prompt)
			}
			// Put back and done, it is.
			st.work("2", st.promise("2"), listed("x a", "x b", "x c", "x d", "x e"))
			st.isPending("2 verify")
		})
	}
}

func TestTodosTakenOutOverSeveralIterations(t *testing.T) {
	st := staged(t)
	st.work("2", listed("x a", "x b", "c", "d", "e"))
	if want := []string{"c", "d", "e"}; !slices.Equal(st.phase("2").Staged, want) {
		t.Fatalf("unfinished are %v, want %v", st.phase("2").Staged, want)
	}
	// What was done may go into the archive; d may not.
	st.work("2", st.promise("2"), listed("x c", "x e", "x g", "x h", "x i"))
	st.isPending("2 iterate")
	if want := []string{"d"}; !slices.Equal(st.phase("2").Check.Lost, want) {
		t.Errorf("lost are %v, want %v", st.phase("2").Check.Lost, want)
	}
	// A list that cannot be read loses nothing and finishes nothing, and a
	// process that dies forgets nothing.
	st.work("2", func(d *IterationDone) { d.Todos = &work.TodoCheck{Problems: []string{"it is empty"}} })
	st.dies(Resumed{})
	st.work("2", st.promise("2"), completes(complete), listed("x c", "x e", "x g", "x h", "x i"))
	st.isPending("2 iterate")
	st.work("2", st.promise("2"), listed("x c", "x d", "x e", "x g", "x h"))
	st.isPending("2 verify")
}

// Two todos that begin alike are two.
func TestTodosThatBeginAlike(t *testing.T) {
	long := strings.Repeat("long title ", 10)
	st := aJob(t, "full")
	st.work("1", st.promise("1"), listed(long+"1", long+"2", "c", "d", "e"))
	st.verify("1", true)
	st.joins("1")
	st.work("2", st.promise("2"), listed("x "+long+"1", "x c", "x d", "x e", "x f"))
	st.isPending("2 iterate")
}
