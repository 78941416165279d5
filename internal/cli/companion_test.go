package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	pages "forge/factory/web"
	"forge/internal/companion"
	"forge/internal/fakemodel"
	"forge/internal/site"
	"forge/internal/work"
)

// companionTOML names the model of a companion.
func companionTOML(address string) string {
	return "[llm]\nbase_url = \"" + address + "\"\nmodel = \"m-small\"\nroles = { companion = \"m-talk\" }\nusd_per_mtok_in = 1.0\nusd_per_mtok_out = 2.0\n"
}

// talker is a project whose companion a model of the test answers for.
type talker struct {
	*world
	model *fakemodel.Server
	run   string
}

// withTalker is a project with a run that waits for a person at its end, and a model
// that answers by turns.
func withTalker(t *testing.T, svc fakemodel.Service, more string) *talker {
	t.Helper()
	w := newWorld(t, writesMain(1, "package main\n\nvar a = 1\n")+writesMain(2, "package main\n\nvar b = 2\n"), "true")
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w.configure(companionTOML(s.Service("talk", svc))+more, "true")
	w.plan(phase("01", "first", 3))
	w.forge("run", "--level", "guided").want(exitFrozen)
	out := &talker{world: w, model: s}
	runs, err := out.room(t).Runs.Runs(t.Context(), 1, "")
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	out.run = runs[0].ID
	return out
}

// calls is a turn of the model that calls tools.
func calls(tools ...fakemodel.Tool) fakemodel.Turn { return fakemodel.Turn{Tools: tools} }

func tool(name string, input map[string]any) fakemodel.Tool {
	return fakemodel.Tool{Name: name, Input: input}
}

// room is the project as a process of the owner's talks about it.
func (w *talker) room(t *testing.T) pages.Project {
	t.Helper()
	app := &App{Stdin: strings.NewReader(""), Stdout: &safeBuffer{}, Stderr: &safeBuffer{}, Environ: w.env, Dir: w.root, Now: time.Now}
	app.logTo(log.WarnLevel)
	b, err := app.openBoard(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return site.Talked(b)
}

func owner() pages.Asker { return pages.Asker{Name: "tester", Role: pages.RoleAdmin, Door: "web"} }

// A person asks at a terminal: what was looked up is shown, and the answer; the
// conversation is kept, and what was said goes with the next question.
func TestAskAtATerminal(t *testing.T) {
	t.Parallel()
	w := withTalker(t, fakemodel.Service{Models: []string{"m-talk"}, Turns: []fakemodel.Turn{
		calls(tool("file", map[string]any{"path": "main.go"}), tool("status", map[string]any{"run": "260101-none"})),
		{Text: "It sets a\x1b]8;;http://evil.example\x07 in main.go:3.\nNo more."},
		{Text: "Yes, main.go:3."},
	}}, "")
	e := w.forge("ask", w.run, "What does it do?").want(exitDone)
	for _, want := range []string{`· file {"path":"main.go"}`, "there is no run 260101-none here", "It sets a in main.go:3.\nNo more.\n"} {
		if !strings.Contains(e.stdout, want) {
			t.Errorf("forge ask is without %q:\n%s", want, e.stdout)
		}
	}
	if strings.Contains(e.stdout, "\x1b") {
		t.Errorf("what the model wrote acts on the terminal: %q", e.stdout)
	}
	var turn work.TalkTurn
	if err := json.Unmarshal([]byte(w.forge("ask", w.run, "Sure?", "--output", "json").want(exitDone).stdout), &turn); err != nil {
		t.Fatal(err)
	}
	if turn.Answer != "Yes, main.go:3." || turn.Stage != string(companion.ResultWaits) || turn.By != "tester" {
		t.Errorf("the turn is %+v", turn)
	}
	sent := w.model.Requests("talk")
	last := string(sent[len(sent)-1].Body)
	for _, want := range []string{"What does it do?", "No more.", "Sure?", "result waits", "~~~data-"} {
		if !strings.Contains(last, want) {
			t.Errorf("the second question goes without %q:\n%s", want, last)
		}
	}
	talk, err := w.room(t).Companion.Talk(t.Context(), w.run)
	if err != nil || len(talk.Turns) != 2 || len(talk.Turns[0].Calls) != 2 || talk.Turns[0].Calls[1].Refused == "" || !strings.Contains(talk.Turns[0].Calls[0].Output, "var a = 1") {
		t.Errorf("kept is %+v, %v", talk, err)
	}
	if want := 3 * (100*1.0 + 10*2.0) / 1e6; talk.Tokens != 330 || talk.USD < want*0.99 || talk.USD > want*1.01 {
		t.Errorf("it took %d tokens and %v dollars, want 330 and %v", talk.Tokens, talk.USD, want)
	}
}

// Without a model it is said how one is named, and nothing else happens.
func TestAskWithoutAModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "true")
	w.forge("ask", "What is this?").want(exitUsage).warns("the companion has no model", "base_url and model in [llm]", "companion = ")
	w.forge("ask").want(exitUsage).warns("forge ask [RUN]")
	w.forge("ask", "999999-none", "Why?").want(exitUsage)
	w.forge("ask", " ").want(exitUsage).warns("nothing is asked")
}

// A model that cannot be asked is said, and what was asked is kept with that.
func TestAskWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	w := withTalker(t, fakemodel.Service{Turns: []fakemodel.Turn{{Fault: fakemodel.Fault{Status: 401, Message: "no"}, Repeat: -1}}}, "")
	e := w.forge("ask", w.run, "What?").want(exitUnjudged)
	if !strings.Contains(e.stdout, "No answer: the service answers 401") {
		t.Errorf("it says %q", e.stdout)
	}
	talk, err := w.room(t).Companion.Talk(t.Context(), w.run)
	if err != nil || len(talk.Turns) != 1 || talk.Turns[0].Failed == "" || !talk.Turns[0].Over {
		t.Errorf("kept is %+v, %v", talk, err)
	}
}

// One question may call so many tools, one conversation cost so much, and no more;
// what nobody counted is not nothing.
func TestTheCompanionStaysWithinItsBounds(t *testing.T) {
	t.Parallel()
	more := calls(tool("status", nil), tool("why", nil))
	more.Repeat = -1
	w := withTalker(t, fakemodel.Service{Turns: []fakemodel.Turn{{When: "tool_choice_none", Text: "never"}, more}}, "[companion]\nmax_calls = 3\nmax_usd = 0.1\nmax_tokens = 40000\n")
	p := w.room(t)
	turn, err := p.Companion.Ask(t.Context(), w.run, "Look everywhere", owner(), nil)
	if err != nil || len(turn.Calls) != 3 || !strings.Contains(turn.Failed, "only called tools") {
		t.Errorf("%d calls, failed %q, %v", len(turn.Calls), turn.Failed, err)
	}
	sent := w.model.Requests("talk")
	if n := len(sent); n != 3 || strings.Contains(string(sent[n-1].Body), `"tools":`) {
		t.Errorf("after the last call it is asked %d times, and still offered tools", n)
	}

	// The next question would take more than is left.
	w.model.Service("talk", fakemodel.Service{Turns: []fakemodel.Turn{{Text: "all", NoUsage: true, Repeat: -1}}})
	asked := 0
	for ; asked < 20; asked++ {
		if turn, err = p.Companion.Ask(t.Context(), w.run, "Again?", owner(), nil); err != nil || turn.Failed != "" {
			break
		}
	}
	said := turn.Failed
	if err != nil {
		said = err.Error()
	}
	if asked == 0 || asked == 20 || !strings.Contains(said, "companion.max_") {
		t.Errorf("after %d questions: %q", asked, said)
	}
	talk, err := p.Companion.Talk(t.Context(), w.run)
	if err != nil || talk.USD > 0.1 || talk.Tokens > 40000 {
		t.Errorf("it took %v dollars and %d tokens, %v", talk.USD, talk.Tokens, err)
	}
}

// What is proposed is done when a person says yes, by the way that they have
// anyway, once; and not by who may not.
func TestProposalsAreCarriedOutByAPerson(t *testing.T) {
	t.Parallel()
	w := withTalker(t, fakemodel.Service{Turns: []fakemodel.Turn{
		calls(
			tool("propose_comment", map[string]any{"path": "main.go", "line": 3, "text": "Call it b.", "why": "a says nothing"}),
			tool("propose_edit", map[string]any{"path": "main.go", "old": "var a", "new": "var c"}),
			tool("propose_issue", map[string]any{"title": "Name it well", "description": "Everywhere.", "criteria": []string{"no a is left"}}),
			tool("propose_level", map[string]any{"level": "full"}),
			tool("propose_settings", map[string]any{"values": []map[string]any{{"key": "cost.run_usd", "value": "3"}}}),
			tool("propose_comment", map[string]any{"path": "main.go", "line": 99, "text": "nowhere"}),
			tool("propose_todos", map[string]any{"content": "- title: x\n"}),
		),
		{Text: "See the proposals."},
	}}, "")
	p := w.room(t)
	before := w.files(t)
	turn, err := p.Companion.Ask(t.Context(), w.run, "Rename a", owner(), nil)
	if err != nil || turn.Failed != "" || len(turn.Proposals) != 5 || len(turn.Calls) != 2 {
		t.Fatalf("%+v, %v", turn, err)
	}
	for _, c := range turn.Calls {
		if c.Refused == "" {
			t.Errorf("%s %s was not refused", c.Tool, c.Input)
		}
	}
	if now := w.files(t); now != before {
		t.Error("a proposal changed the checkout")
	}
	if cp := w.point(t, p); len(cp.Comments)+len(cp.Edits) != 0 || cp.Status != work.CheckpointPending {
		t.Errorf("a proposal changed the question: %+v", cp)
	}
	by := map[work.ProposalKind]work.TalkProposal{}
	for _, one := range turn.Proposals {
		by[one.Kind] = one
	}
	if d := by[work.ProposeSettings].Diff; !slices.ContainsFunc(d, func(l work.DiffLine) bool { return l.What == "ins" && strings.Contains(l.Text, "run_usd = 3") }) {
		t.Errorf("the change of the configuration is shown as %v", d)
	}
	if d := by[work.ProposeLevel].Diff; !slices.ContainsFunc(d, func(l work.DiffLine) bool { return l.What == "del" && strings.Contains(l.Text, "it stops") }) {
		t.Errorf("the change of the level is shown as %v", d)
	}

	for kind, one := range by {
		least, _ := companion.Least(kind)
		for role := pages.RoleNone; role < least; role++ {
			if _, err := p.Companion.Confirm(t.Context(), w.run, one.N, pages.Asker{Name: "rosa", Role: role, Door: "web"}); err == nil || !strings.Contains(err.Error(), least.String()) {
				t.Errorf("%s confirms a change of kind %s: %v", role, kind, err)
			}
		}
		if _, err := p.Companion.Confirm(t.Context(), "", one.N, owner()); err == nil {
			t.Errorf("proposal %d is confirmed in another conversation", one.N)
		}
		got, err := p.Companion.Confirm(t.Context(), w.run, one.N, owner())
		if err != nil || got.State != work.ProposalDone {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
		if _, err := p.Companion.Confirm(t.Context(), w.run, one.N, owner()); err == nil || !strings.Contains(err.Error(), "done by tester") {
			t.Errorf("%s is confirmed twice: %v", kind, err)
		}
	}
	cp := w.point(t, p)
	if len(cp.Comments) != 1 || cp.Comments[0].Body != "Call it b." || cp.Comments[0].Hunk != "var a = 1" || len(cp.Edits) != 1 || cp.Edits[0].By != "tester" || cp.Status != work.CheckpointPending {
		t.Errorf("the question is %+v", cp)
	}
	issues, err := p.Cards.Issues(t.Context(), work.IssueFilter{Project: p.Board.Project}, 10, "")
	if err != nil || len(issues) != 1 || issues[0].Title != "Name it well" || issues[0].Column != work.ColumnBacklog || len(issues[0].Criteria) != 1 {
		t.Errorf("the board has %+v, %v", issues, err)
	}
	if text, err := os.ReadFile(filepath.Join(w.root, ".forge/forge.toml")); err != nil || !strings.Contains(string(text), "run_usd = 3") {
		t.Errorf("the configuration is %s, %v", text, err)
	}
}

// A proposal that does not hold any more is refused, and says so; one that a person
// dismisses is never done.
func TestProposalsThatDoNotHoldAnyMore(t *testing.T) {
	t.Parallel()
	edit := func(name string) fakemodel.Turn {
		return calls(tool("propose_edit", map[string]any{"path": "main.go", "old": "var a", "new": "var " + name}))
	}
	w := withTalker(t, fakemodel.Service{Turns: []fakemodel.Turn{edit("c"), {Text: "1"}, edit("d"), {Text: "2"}, edit("e"), {Text: "3"}}}, "")
	p := w.room(t)
	var numbers []int64
	for range 3 {
		turn, err := p.Companion.Ask(t.Context(), w.run, "Rename a", owner(), nil)
		if err != nil || len(turn.Proposals) != 1 {
			t.Fatalf("%+v, %v", turn, err)
		}
		numbers = append(numbers, turn.Proposals[0].N)
	}
	if got, err := p.Companion.Dismiss(t.Context(), w.run, numbers[0], owner()); err != nil || got.State != work.ProposalDismissed {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := p.Companion.Confirm(t.Context(), w.run, numbers[0], owner()); err == nil {
		t.Error("what was dismissed is confirmed")
	}
	if got, err := p.Companion.Confirm(t.Context(), w.run, numbers[1], owner()); err != nil || got.State != work.ProposalDone {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := p.Companion.Confirm(t.Context(), w.run, numbers[2], owner()); err != nil || got.State != work.ProposalRefused || !strings.Contains(got.Result, "meanwhile") {
		t.Errorf("an edit of a file that was edited meanwhile: %+v, %v", got, err)
	}
	if cp := w.point(t, p); len(cp.Edits) != 1 {
		t.Errorf("edits: %+v", cp.Edits)
	}
}

// A process that dies between the yes and what comes of it leaves a proposal that
// nobody carries out again.
func TestAConfirmationOfWhichNobodyKnowsWhatCame(t *testing.T) {
	t.Parallel()
	w := withTalker(t, fakemodel.Service{Turns: []fakemodel.Turn{calls(tool("propose_issue", map[string]any{"title": "One"})), {Text: "1"}}}, "")
	p := w.room(t)
	turn, err := p.Companion.Ask(t.Context(), w.run, "An issue", owner(), nil)
	if err != nil || len(turn.Proposals) != 1 {
		t.Fatalf("%+v, %v", turn, err)
	}
	talk, err := p.Companion.Talk(t.Context(), w.run)
	if err != nil {
		t.Fatal(err)
	}
	line, _ := json.Marshal(work.TalkEntry{Kind: work.TalkSettling, Of: turn.Proposals[0].N, By: "tester", State: work.ProposalSettling})
	if err := p.Companion.(*companion.Room).Threads.AddTalk(t.Context(), w.run, talk.Head, time.Now(), line); err != nil {
		t.Fatal(err)
	}
	for _, settle := range []func() error{
		func() error {
			_, err := p.Companion.Confirm(t.Context(), w.run, turn.Proposals[0].N, owner())
			return err
		},
		func() error {
			_, err := p.Companion.Dismiss(t.Context(), w.run, turn.Proposals[0].N, owner())
			return err
		},
	} {
		if err := settle(); err == nil || !strings.Contains(err.Error(), "nobody wrote down what came of it") {
			t.Errorf("it is settled again: %v", err)
		}
	}
	if issues, err := p.Cards.Issues(t.Context(), work.IssueFilter{Project: p.Board.Project}, 10, ""); err != nil || len(issues) != 0 {
		t.Errorf("the board has %v, %v", issues, err)
	}
}

// point is the question of the run as it is now.
func (w *talker) point(t *testing.T, p pages.Project) work.Checkpoint {
	t.Helper()
	all, err := p.Questions.Checkpoints(t.Context(), w.run, "", 10, "")
	if err != nil || len(all) != 1 {
		t.Fatalf("%d questions, %v", len(all), err)
	}
	return all[0]
}

// files is everything in the checkout, as one text.
func (w *world) files(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %q\n", path, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
