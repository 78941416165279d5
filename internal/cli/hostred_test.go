package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// redScript mends what a person broke, once it is set on it.
const redScript = `[[step]]
phase = "01"
iteration = 1
do = [{write = "out-01.txt", content = "one\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "01"
do = [{write = "state.txt", content = "whole\n"}, {print = "It is whole again."}]
`

// wholeIs is verified of what people push: it says why not, and how it ends.
const wholeIs = "sh -c 'grep -qs broken state.txt || exit 0; echo state is @broken; exit 3'"

// What people push and verify is red on is theirs: they are asked in the pull
// request, and no agent does anything until somebody calls it.
func TestPushThatIsRedAsksWhoPushed(t *testing.T) {
	pace.Slow(t, "round after round of a pull request")
	t.Parallel()
	fakeHub(t).redPush()
}

// iterations is how often an agent worked on phase 01.
func (w *pullWorld) iterations() int {
	n := 1
	for w.forge("logs", "01", "--prompt", "--iteration", fmt.Sprint(n)).code == exitDone {
		n++
	}
	return n - 1
}

// says counts what Forge said on a pull request that holds all the words.
func (w *pullWorld) saidWith(number int64, words ...string) (n int) {
	w.t.Helper()
	look, err := w.host.Look(w.t.Context(), number)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range look.Comments {
		all := c.Own
		for _, word := range words {
			all = all && strings.Contains(c.Body, word)
		}
		if all {
			n++
		}
	}
	return n
}

func (w *pullWorld) redPush() {
	t := w.t
	conf, err := os.ReadFile(filepath.Join(w.root, ".forge/forge.toml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(".forge/forge.toml", strings.Replace(string(conf), `"test -f README.md"`, fmt.Sprintf("%q", wholeIs), 1))
	w.write(".forge/agent.toml", redScript)
	w.plan(phase("01", "first", 8))
	w.forge("run").want(exitFrozen)
	look, _ := w.asked(1)

	// Approved as it is, and red: it does not land, and no agent is set on it.
	pushed := w.push(look.Branch, map[string]string{"state.txt": "broken\n"})
	w.people.Review(t, "ann", 1, pushed, work.PullApproved, "mine")
	w.forge("resume").want(exitFrozen)
	after, id := w.asked(1)
	if after.Head != pushed || after.State != work.PullOpen || w.iterations() != 1 {
		t.Fatalf("after a red push: %+v, %d iterations", after.PullRequest, w.iterations())
	}
	w.forge("show", id).want(exitDone).says("is red. What now?", "what ", " pushed is not proven", "state is @broken")
	w.forge("why", "01").want(exitDone).says("pushed is red")
	if n := w.saidWith(1, "what you pushed is not proven", "grep -qs broken", "```\nstate is", "/forge fix"); n != 1 {
		t.Errorf("it is said %d times: %+v", n, after.Comments)
	}

	// Approved once more, it is proven once more: red stays red, and is said once.
	w.forge("approve", id, "--resume").want(exitFrozen)
	if again, next := w.asked(1); next == id || again.State != work.PullOpen || w.iterations() != 1 || w.saidWith(1, "what you pushed is not proven") != 1 {
		t.Fatalf("after another approval: %+v, %s", again.PullRequest, next)
	}

	// Checks of the host that fail on it are the person's as well.
	w.people.Status(t, pushed, "unit", "failure")
	w.forge("resume").want(exitFrozen)
	_, id = w.asked(1)
	w.forge("show", id).want(exitDone).says("they fail on what people pushed, and the agent is not set on that")
	w.forge("resume").want(exitFrozen)
	if n := w.saidWith(1, "checks fail on what you pushed", "`unit`"); n != 1 || w.iterations() != 1 {
		t.Errorf("that checks fail is said %d times, after %d iterations", n, w.iterations())
	}

	// Called, the agent mends it.
	w.people.Say(t, "ann", 1, "/forge fix")
	w.forge("resume").want(exitFrozen)
	mended, _ := w.asked(1)
	if mended.Head == pushed || !w.grew(mended.Branch, pushed) || w.iterations() != 2 {
		t.Fatalf("after /forge fix: %+v, %d iterations", mended.PullRequest, w.iterations())
	}
	w.people.Review(t, "ann", 1, mended.Head, work.PullApproved, "thanks")
	w.forge("resume").want(exitDone)
	if got := w.git("show", "HEAD:state.txt"); got != "whole" {
		t.Errorf("state.txt is %q", got)
	}
}

// The same of an issue's result: approved as it is and red, what people pushed is
// theirs, whether specialists look at results or not.
func TestPushOnAResultThatIsRedAsksWhoPushed(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	t.Run("Reviewed", func(t *testing.T) {
		s, asked := reviewedHub(t, "plan_then_review")
		s.redOnResult()
		if len(asked()) == 0 {
			t.Error("no specialist was asked")
		}
	})
	t.Run("Unreviewed", func(t *testing.T) { issueHub(t, "plan_then_review").redOnResult() })
}

func (s *issueWorld) redOnResult() {
	t := s.t
	s.forge("factory", "--once").want(exitFrozen)
	first := s.run()
	pushed := s.push(s.pull().Branch, map[string]string{"red.txt": "by ann\n"})
	s.people.Review(t, "ann", 1, pushed, work.PullApproved, "mine")
	for range 3 {
		s.forge("factory", "--once").want(exitFrozen)
	}
	s.card("holds what people pushed", "test ! -f red.txt", "/forge fix", "landing_red")
	look := s.pull()
	if look.Head != pushed || look.State != work.PullOpen || s.run() != first {
		t.Fatalf("after a red push: %+v, run %s, then %s", look.PullRequest, first, s.run())
	}
	if n := s.saidWith(1, "what you pushed is not proven", "test ! -f red.txt", "/forge fix"); n != 1 {
		t.Errorf("it is said %d times: %+v", n, look.Comments)
	}
	// Called, the agent mends it.
	s.people.Review(t, "ann", 1, pushed, work.PullChangesRequested, "take it away again")
	s.write(".forge/agent.toml", "[[step]]\nphase = \"1\"\ndo = [{delete = \"red.txt\"}, {write = \"more.txt\", content = \"mended\\n\"}, {print = \"It is mended. <promise>ISSUE 1 DONE</promise>\"}]\n")
	s.forge("factory", "--once").want(exitFrozen)
	mended := s.pull()
	if mended.Head == pushed || !s.grew(mended.Branch, pushed) {
		t.Fatalf("after a request for changes: %+v", mended.PullRequest)
	}
	s.people.Review(t, "ann", 1, mended.Head, work.PullApproved, "thanks")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntwo\n", 2)
}
