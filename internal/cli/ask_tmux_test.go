package cli

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/fakemodel"
	"forge/internal/pace"
	"forge/internal/work"
)

// At a real terminal what is proposed is shown, and asked about. Yes has it done, no
// dismisses it; no other key, and no end of the terminal, is an answer.
func TestConfirmingOnATerminal(t *testing.T) {
	pace.Slow(t, "a terminal is opened for each way to answer")
	t.Parallel()
	issue := func(title string) fakemodel.Tool { return tool("propose_issue", map[string]any{"title": title}) }
	var turns []fakemodel.Turn
	for n := range 5 {
		tools := []fakemodel.Tool{issue(fmt.Sprintf("Number %d", n))}
		if n == 0 {
			tools = append(tools, issue("One more"))
		}
		turns = append(turns, calls(tools...), fakemodel.Turn{Text: "See the proposals."})
	}
	w := withTalker(t, fakemodel.Service{Turns: turns}, "")
	ask := func(width int) *terminal {
		term := w.terminal(width, 30, "ask", w.run, "Propose-it")
		term.shows("See the proposals.", "Put a new issue into the backlog?", "to do it yourself: forge issue add")
		return term
	}
	ended := func(term *terminal, code string, says ...string) {
		term.shows(append(says, "EXIT="+code)...)
		term.restored()
	}
	stands := func(turn int, want ...work.ProposalState) {
		t.Helper()
		talk, err := w.room(t).Companion.Talk(t.Context(), w.run)
		if err != nil || len(talk.Turns) <= turn {
			t.Fatalf("%+v, %v", talk, err)
		}
		for n, p := range talk.Turns[turn].Proposals {
			if n >= len(want) || p.State != want[n] {
				t.Errorf("question %d: proposal %d is %s, want %v", turn, n, p.State, want)
			}
		}
	}
	board := func(want ...string) {
		t.Helper()
		p := w.room(t)
		issues, err := p.Cards.Issues(t.Context(), work.IssueFilter{Project: p.Board.Project}, 20, "")
		var titles []string
		for _, i := range issues {
			titles = append(titles, i.Title)
		}
		if err != nil || strings.Join(titles, "|") != strings.Join(want, "|") {
			t.Errorf("the board has %q, %v; want %q", titles, err, want)
		}
	}

	// Yes to the first, no to the second.
	term := ask(100)
	board()
	term.keys("y")
	term.shows("done: it is issue 1", "One more")
	board("Number 0")
	term.keys("n")
	ended(term, "0", "dismissed")
	stands(0, work.ProposalDone, work.ProposalDismissed)
	board("Number 0")

	// Enter alone is no. What no answer is comes before: nothing follows from it.
	term = ask(60)
	term.keys("-l", "x ?es")
	term.keys("BSpace")
	stands(1, work.ProposalOpen)
	term.keys("Left")
	term.keys("Right")
	board("Number 0")
	term.keys("C-c")
	ended(term, "130")
	stands(1, work.ProposalOpen)

	term = ask(80)
	term.keys("C-d")
	stands(2, work.ProposalOpen)
	term.keys("Enter")
	ended(term, "0", "dismissed")
	stands(2, work.ProposalDismissed)

	// The terminal is closed while it is asked.
	term = ask(80)
	if err := term.command("kill-server").Run(); err != nil {
		t.Fatal(err)
	}
	stands(3, work.ProposalOpen)

	// Without a terminal at both ends nobody is asked.
	w.forge("ask", w.run, "Propose-it").want(exitDone).says("Number 4", "to do it yourself")
	stands(4, work.ProposalOpen)
	board("Number 0")
}
