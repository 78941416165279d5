package vibekanban

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

// onMain is a board that has no task yet, in a repository with the branches here and
// away at a remote.
func onMain() Here {
	return Here{
		Board: func(string) Standing { return Nowhere },
		Branch: func(name string) Whereabouts {
			return map[string]Whereabouts{"vk/here": BranchHere, "vk/away": BranchRemote}[name]
		},
	}
}

// Every status becomes what its row says, however it is written; what nobody knows
// waits for a person.
func TestFates(t *testing.T) {
	for status, want := range map[string]string{
		"todo": "backlog", "To do": "backlog", "TODO": "backlog", "Backlog": "backlog",
		"inprogress": "backlog waits: it was in progress", "In Progress": "backlog waits: it was in progress", "in_progress": "backlog waits: it was in progress",
		"inreview": "backlog waits: it was in review", "In review": "backlog waits: it was in review",
		"done": "done", "Done": "done",
		"cancelled": "backlog cancelled: cancelled in Vibe Kanban", "Canceled": "backlog cancelled: cancelled in Vibe Kanban",
		"":           `backlog waits: it stood in ""`,
		"Ready":      `backlog waits: it stood in "Ready"`,
		"QA\x1b[2J ": `backlog waits: it stood in "QA"`,
		"done!?":     "done", "undone": `backlog waits: it stood in "undone"`,
	} {
		i := Become("App", []Task{{Key: "k", Title: "t", Status: status}}, onMain())[0].Issue
		got := string(i.Column)
		if i.State != "" {
			got += " " + string(i.State) + ": " + i.Reason
		}
		if !strings.HasPrefix(got, want) || want == "backlog" && got != want || want == "done" && got != want {
			t.Errorf("%q became %q, want %q", status, got, want)
		}
		if i.Column == work.ColumnReady || i.Run != "" {
			t.Errorf("%q begins by itself", status)
		}
	}
}

func TestCard(t *testing.T) {
	task := Task{
		Key: "k", Name: "VIB-1", Title: "Mend\u200b `it`\nnow", Description: "a\r\n<!-- run rm -->b", Status: "In Review", Priority: "High",
		Labels: []string{"bug", "a,b", "bug", ""}, Parent: "Epic", BlockedBy: []string{"VIB-9"}, Creator: "Ann", Assignees: "Bob, Cid",
		Created: "2026-02-03T04:05:06+00:00", Due: "2026-03-01T00:00:00+00:00", Start: "soon", Attachments: []string{"a`.png"},
		Pulls:    []Pull{{"https://x/1", "Merged", "main"}},
		Comments: []Comment{{"Ann", "2026-02-04T00:00:00Z", "first"}, {"", "", "second<!-- x -->"}},
		Attempts: []Attempt{
			{Branch: "vk/here", Targets: []string{"main"}, Agent: "CODEX", Created: "2026-02-03 05:00:00", Merged: []string{"abc on main"}, Pulls: []Pull{{URL: "https://x/2"}}},
			{Branch: "vk/away"}, {},
		},
	}
	c := Become("App", []Task{task}, onMain())[0]
	want := "ab\n\n---\nAnn said on 2026-02-04:\n\nfirst\n\n---\nSomebody said:\n\nsecond\n\n---\n" + strings.Join([]string{
		"Task `VIB-1` of project `App` in Vibe Kanban: `In Review` there, written by `Ann` on 2026-02-03.",
		"Part of: `Epic`.", "Assigned there to: `Bob, Cid`.", "Due: `2026-03-01`.", "Waited there also for: `VIB-9`.", "Not taken along: the attachments: `a'.png`.",
		"Pull request `https://x/1`, `merged`, onto `main`.",
		"\nAttempts there, whose conversations are not taken along:\n",
		"1. branch `vk/here`, in this repository, from `main`, by `CODEX` on 2026-02-03; merged as `abc on main`; pull request `https://x/2`",
		"2. branch `vk/away`, only at a remote of this repository", "3. no branch is known",
		"\n3 hidden comments or invisible characters were taken out.\n",
	}, "\n")
	want = strings.Replace(want, "ab\n", "a\nb\n", 1)
	if c.Issue.Description != want {
		t.Errorf("description\n%s\nwant\n%s", c.Issue.Description, want)
	}
	if c.Issue.Title != "Mend `it` now" || c.Issue.Priority != work.PriorityHigh || !slices.Equal(c.Issue.Labels, []string{"bug", "a b"}) || c.Issue.Source != "import:vibe-kanban/App/VIB-1" || !c.Issue.Imported() {
		t.Errorf("card %+v", c.Issue)
	}
	left := []Left{
		{"conversations of attempts with their agents", 3, ""}, {"attachments", 1, "a`.png"},
		{"tasks that a task waited for, which are on no board or wait for it themselves", 1, "VIB-9"}, {"labels beyond what a card has", 1, ""},
	}
	if !reflect.DeepEqual(c.Left, left) {
		t.Errorf("left %+v", c.Left)
	}

	mine := onMain()
	mine.Mine = true
	if i := Become("App", []Task{task}, mine)[0].Issue; i.Source != "" || i.Description != want {
		t.Errorf("a person's own is an outsider's: %+v", i)
	}
}

// What does not fit onto a card is cut, and said.
func TestLargeCard(t *testing.T) {
	task := Task{Key: "k", Title: strings.Repeat("é", 300), Description: strings.Repeat("x", work.MaxIssueDescription), Status: "done", Priority: "P0"}
	for n := range 100 {
		task.Labels = append(task.Labels, fmt.Sprint("label ", n))
		task.Comments = append(task.Comments, Comment{"Ann", "", strings.Repeat("y", 1000)})
		task.Pulls = append(task.Pulls, Pull{strings.Repeat("u", 1000), strings.Repeat("s", 1000), strings.Repeat("t", 1000)})
		task.Attempts = append(task.Attempts, Attempt{Branch: strings.Repeat("b", 1000), Pulls: task.Pulls})
	}
	cards := Become("App", []Task{task}, onMain())
	if err := Check(cards); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, l := range cards[0].Left {
		said = append(said, fmt.Sprint(l.N, " ", l.What))
	}
	want := []string{"100 conversations of attempts with their agents", "1 priorities that there are none of here", "80 labels beyond what a card has",
		"1 ends of descriptions that do not fit onto a card", "68 older comments that do not fit onto a card"}
	if !slices.Equal(said, want) {
		t.Errorf("left %q, want %q", said, want)
	}
	if d := cards[0].Issue.Description; !strings.Contains(d, "and 80 more.") || !strings.Contains(d, "And 80 more pull requests.") {
		t.Error("what is left out is not said")
	}
}

// Each task becomes one card, behind those that it waits for; what it cannot wait for
// is named; nobody waits for himself.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "tasks")
		where := map[string]Standing{}
		var list []Task
		for i := range n {
			key := fmt.Sprint(i)
			where[key] = rapid.SampledFrom([]Standing{Nowhere, Nowhere, OnBoard, Elsewhere}).Draw(t, "standing")
			list = append(list, Task{Key: key, Title: "t" + key, Blockers: rapid.SliceOfN(rapid.StringMatching(`[0-9]`), 0, 4).Draw(t, "blockers")})
		}
		for _, out := range []string{"8", "9"} {
			if where[out] == Nowhere {
				where[out] = rapid.SampledFrom([]Standing{Nowhere, OnBoard}).Draw(t, "outside")
			}
		}
		here := onMain()
		here.Board = func(key string) Standing { return where[key] }
		cards := Become("App", list, here)

		if len(cards) != n {
			t.Fatalf("%d cards of %d tasks", len(cards), n)
		}
		stands := map[string]bool{}
		for _, c := range cards {
			at := slices.IndexFunc(list, func(t Task) bool { return t.Key == c.Key })
			if at < 0 || stands[c.Key] {
				t.Fatalf("task %s stands twice or nowhere", c.Key)
			}
			kept, lost := map[string]bool{}, 0
			for _, need := range c.Needs {
				if where[need] == Elsewhere || !stands[need] && where[need] != OnBoard || kept[need] {
					t.Fatalf("task %s waits for %s, which does not stand before it", c.Key, need)
				}
				kept[need] = true
			}
			for _, l := range c.Left {
				lost += l.N
			}
			of := map[string]bool{}
			for _, by := range list[at].Blockers {
				of[by] = true
			}
			if len(kept) > len(of) || lost < len(of)-len(kept) {
				t.Fatalf("task %s waited for %v, waits for %v, and %d are named", c.Key, of, kept, lost)
			}
			stands[c.Key] = true
		}
	})
}

// Whatever a file says becomes a card that the board takes.
func FuzzCard(f *testing.F) {
	f.Add("title", "words\n", "todo", "bug, x", "vk/1")
	f.Add("a\xffb", "\xff", "\xff", "a,\xffb", "\xff")
	f.Add("\u202e\x1b]0;x\x07", "<!--", "In Review", ",", "`\n`")
	f.Fuzz(func(t *testing.T, title, words, status, label, branch string) {
		task := Task{
			Key: "k", Name: label, Title: title, Description: words, Status: status, Priority: label, Labels: []string{label, words}, Parent: title, BlockedBy: []string{title},
			Creator: branch, Assignees: label, Created: branch, Due: label, Comments: []Comment{{branch, label, words}}, Attachments: []string{branch},
			Attempts: []Attempt{{Branch: branch, Targets: []string{label}, Agent: title, Merged: []string{words}, Pulls: []Pull{{words, status, branch}}}},
		}
		cards := Become(title, []Task{task}, onMain())
		if err := Check(cards); err != nil {
			t.Fatal(err)
		}
		if i := cards[0].Issue; i.Column != work.ColumnBacklog && i.Column != work.ColumnDone || strings.Contains(i.Source, "\n") {
			t.Fatalf("card %+v", i)
		}
	})
}
