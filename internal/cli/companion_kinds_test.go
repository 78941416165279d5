package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pages "forge/factory/web"
	"forge/internal/companion"
	"forge/internal/fakemodel"
	"forge/internal/pace"
	"forge/internal/todos"
	"forge/internal/work"
)

// aKind is how one kind of proposal is tried: in what world, with what input, by what
// it is seen, and how it becomes stale.
type aKind struct {
	job   bool
	start []string // how the run begins, until it waits for a person
	input map[string]any
	// seen is all that a confirmation of the kind may change.
	seen func(t *testing.T, w *talker, p pages.Project) any
	// holds is in what is seen once it was confirmed.
	holds string
	// stale changes the world so that the proposal does not hold any more; nil = there is
	// nothing that it rests on.
	stale func(t *testing.T, w *talker, p pages.Project)
	why   string // it is refused then
}

func kinds() map[work.ProposalKind]aKind {
	atEnd, atStart := []string{"run", "--level", "guided"}, []string{"run"}
	points := func(t *testing.T, w *talker, p pages.Project) any {
		cp := w.point(t, p)
		return []any{cp.Comments, cp.Edits, cp.Status}
	}
	over := func(t *testing.T, w *talker, _ pages.Project) {
		w.forge("approve", w.run+".1", "--level", "full", "--resume").want(exitDone)
	}
	edited := func(path string) func(*testing.T, *talker, pages.Project) {
		return func(t *testing.T, w *talker, p pages.Project) {
			cp := w.point(t, p)
			file, err := p.Edits.EditedFile(t.Context(), cp.ID, path)
			if err != nil {
				t.Fatal(err)
			}
			wish := pages.FileWish{Path: path, What: pages.WishEdit, Content: []byte("todos:\n- title: of somebody else's\n"), Base: file.Base, By: "rosa", Admin: true}
			if file.Edit != nil {
				wish.Seen = file.Edit.Sum()
			}
			if _, err := p.Edits.EditFile(t.Context(), cp.ID, cp.Revision, wish); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := "todos:\n- title: First\n- title: Another\n- title: Third\n- title: Fourth\n- title: Fifth\n"
	return map[work.ProposalKind]aKind{
		work.ProposeTell: {
			start: atStart, input: map[string]any{"phase": "01", "text": "use tabs"}, holds: "use tabs",
			seen:  func(_ *testing.T, w *talker, _ pages.Project) any { return w.saidTo(w.run) },
			stale: over, why: "no place",
		},
		work.ProposeComment: {
			start: atEnd, input: map[string]any{"path": "main.go", "line": 3, "text": "Call it b."}, seen: points, holds: "Call it b.",
			stale: func(t *testing.T, w *talker, _ pages.Project) { w.forge("reject", w.run+".1", "-m", "no") }, why: "no place",
		},
		work.ProposeEdit: {
			start: atEnd, input: map[string]any{"path": "main.go", "old": "var a", "new": "var c"}, seen: points, holds: "main.go",
			stale: edited("main.go"), why: "meanwhile",
		},
		work.ProposeTodos: {
			job: true, input: map[string]any{"content": list}, seen: points, holds: todos.File,
			stale: edited(todos.File), why: "meanwhile",
		},
		work.ProposeIssue: {
			start: atEnd, input: map[string]any{"title": "Name it well"}, holds: "Name it well",
			seen: func(t *testing.T, w *talker, p pages.Project) any {
				issues, err := p.Cards.Issues(t.Context(), work.IssueFilter{Project: p.Board.Project}, 10, "")
				if err != nil {
					t.Fatal(err)
				}
				var titles []string
				for _, i := range issues {
					titles = append(titles, i.Title)
				}
				return titles
			},
		},
		work.ProposeLevel: {
			start: atEnd, input: map[string]any{"level": "full"}, holds: "full",
			seen:  func(_ *testing.T, w *talker, _ pages.Project) any { return w.levelsOf(w.run) },
			stale: over, why: "no place",
		},
		work.ProposeSettings: {
			start: atEnd, input: map[string]any{"values": []map[string]any{{"key": "cost.run_usd", "value": "3"}}}, holds: "run_usd = 3",
			seen: func(t *testing.T, w *talker, _ pages.Project) any {
				data, err := os.ReadFile(filepath.Join(w.root, ".forge/forge.toml"))
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			},
			stale: func(t *testing.T, w *talker, _ pages.Project) {
				file := filepath.Join(w.root, ".forge/forge.toml")
				data, err := os.ReadFile(file)
				if err == nil {
					err = os.WriteFile(file, append(data, "# changed by hand\n"...), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			why: "changed meanwhile",
		},
	}
}

// Of each kind of proposal: nothing happens before a person confirms it, and nothing
// when they dismiss it; once confirmed it is done, once; and where things changed
// meanwhile it is refused, and nothing is done.
func TestEachKindOfProposal(t *testing.T) {
	pace.Slow(t, "a run for each kind")
	t.Parallel()
	all := kinds()
	for _, stage := range companion.Stages() {
		for _, kind := range stage.May {
			if _, known := all[kind]; !known {
				t.Errorf("proposals of kind %s are tried by nobody", kind)
			}
		}
	}
	for kind, k := range all {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var turns []fakemodel.Turn
			for range 3 {
				turns = append(turns, calls(tool("propose_"+string(kind), k.input)), fakemodel.Turn{Text: "See the proposal."})
			}
			w := k.world(t, fakemodel.Service{Turns: turns})
			p := w.room(t)
			look := func() string {
				data, err := json.Marshal(k.seen(t, w, p))
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
			propose := func() work.TalkProposal {
				turn, err := p.Companion.Ask(t.Context(), w.run, "Propose it", owner(), nil)
				if err != nil || len(turn.Proposals) != 1 || turn.Proposals[0].Kind != kind {
					t.Fatalf("%+v, %v", turn, err)
				}
				return turn.Proposals[0]
			}
			before := look()

			no := propose()
			if got, err := p.Companion.Dismiss(t.Context(), w.run, no.N, owner()); err != nil || got.State != work.ProposalDismissed {
				t.Errorf("dismiss: %+v, %v", got, err)
			}
			if _, err := p.Companion.Confirm(t.Context(), w.run, no.N, owner()); err == nil || !strings.Contains(err.Error(), "dismissed by tester") {
				t.Errorf("what was dismissed is confirmed: %v", err)
			}
			yes := propose()
			if now := look(); now != before {
				t.Fatalf("before anybody confirms it is %s, and was %s", now, before)
			}
			if got, err := p.Companion.Confirm(t.Context(), w.run, yes.N, owner()); err != nil || got.State != work.ProposalDone || got.Result == "" {
				t.Fatalf("confirm: %+v, %v", got, err)
			}
			done := look()
			if done == before || strings.Count(done, k.holds) != strings.Count(before, k.holds)+1 {
				t.Errorf("once it is confirmed it is %s, and was %s", done, before)
			}
			if _, err := p.Companion.Confirm(t.Context(), w.run, yes.N, owner()); err == nil || !strings.Contains(err.Error(), "done by tester") {
				t.Errorf("it is confirmed twice: %v", err)
			}
			if now := look(); now != done {
				t.Errorf("it is done twice: %s", now)
			}
		})
	}
}

// A proposal rests on what the model saw: where that is another thing by now, a
// confirmation does nothing, and says so.
func TestStaleProposalsOfEachKind(t *testing.T) {
	pace.Slow(t, "a run for each kind")
	t.Parallel()
	for kind, k := range kinds() {
		if k.stale == nil {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := k.world(t, fakemodel.Service{Turns: []fakemodel.Turn{calls(tool("propose_"+string(kind), k.input)), {Text: "See the proposal."}}})
			p := w.room(t)
			turn, err := p.Companion.Ask(t.Context(), w.run, "Propose it", owner(), nil)
			if err != nil || len(turn.Proposals) != 1 {
				t.Fatalf("%+v, %v", turn, err)
			}
			k.stale(t, w, p)
			before := fmt.Sprint(k.seen(t, w, p))
			got, err := p.Companion.Confirm(t.Context(), w.run, turn.Proposals[0].N, owner())
			said := got.Result
			if err != nil {
				said = err.Error()
			}
			if err == nil && got.State != work.ProposalRefused || said == "" || !strings.Contains(said, k.why) {
				t.Errorf("it is %s: %q, %v", got.State, said, err)
			}
			if now := fmt.Sprint(k.seen(t, w, p)); now != before {
				t.Errorf("it is %s, and was %s", now, before)
			}
			t.Logf("%s: %s", kind, said)
		})
	}
}

// world is a project in which the kind can be proposed.
func (k aKind) world(t *testing.T, svc fakemodel.Service) *talker {
	t.Helper()
	script := writesMain(1, "package main\n\nvar a = 1\n") + writesMain(2, "package main\n\nvar b = 2\n")
	if k.job {
		script = jobScript
	}
	w := newWorld(t, script, "true")
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w.configure(companionTOML(s.Service("talk", svc)), "true")
	start := k.start
	if k.job {
		start = []string{"job", "start", "-d", "Write the file."}
	} else {
		w.plan(phase("01", "first", 3))
	}
	w.forge(start...).want(exitFrozen)
	return &talker{world: w, model: s, run: w.runs()[0]}
}
