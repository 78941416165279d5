//go:build real

package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"forge/internal/fakemodel"
)

// inModes runs a test without a sandbox and with bubblewrap.
func inModes(t *testing.T, test func(t *testing.T, sandbox string)) {
	for _, sandbox := range []string{"off", "required"} {
		t.Run("sandbox "+sandbox, func(t *testing.T) {
			if _, err := exec.LookPath("bwrap"); err != nil && sandbox == "required" {
				if os.Getenv("FORGE_TEST_REQUIRE_SANDBOX") != "" {
					t.Fatal("bubblewrap is required and not installed")
				}
				t.Skip("bubblewrap is not installed")
			}
			t.Parallel()
			test(t, sandbox)
		})
	}
}

const proveB = `[verify]
commands = ["test ! -f bad.txt"]
`

func TestClaudeEditsAndIsMerged(t *testing.T) {
	inModes(t, func(t *testing.T, sandbox string) {
		c := newWithClaude(t, sandbox, onePhase(3, ""), proveB, says("I write.", writes("b.txt", "b\n")), claim)
		evs := c.runs(0, "run", "--autonomous")
		if got := ended(evs, "01"); got != "done" {
			t.Errorf("the phase ended %q", got)
		}
		if got := c.must("git", "show", "main:b.txt"); got != "b\n" {
			t.Errorf("main holds b.txt %q", got)
		}
		prompts := c.prompts()
		if len(prompts) != 1 || strings.TrimSpace(prompts[0].prompt) != c.sent(1, 1) {
			t.Errorf("the model was asked %q", prompts)
		}
		want := map[string]string{"off": "none", "required": "bubblewrap"}[sandbox]
		if got := finished(t, evs); len(got) != 1 || got[0].Sandbox != want || got[0].Usage.CostUSD == nil {
			t.Errorf("iterations %+v", got)
		}
	})
}

// A false promise is fed back into the same session, without what it knows.
func TestClaudeGoesOnInItsSession(t *testing.T) {
	inModes(t, func(t *testing.T, sandbox string) {
		c := newWithClaude(t, sandbox, onePhase(3, ""), proveB+"[defaults]\nskip_permissions = true\n",
			says("I write.", writes("bad.txt", "b\n"), writes("b.txt", "b\n")), claim,
			says("I see.", bash("rm bad.txt")), claim)
		evs := c.runs(0, "run", "--autonomous")
		begun, done := started(t, evs), finished(t, evs)
		if len(begun) != 2 || len(done) != 2 {
			t.Fatalf("%d iterations began, %d finished", len(begun), len(done))
		}
		if begun[0].Session != "" || begun[0].Prompt != "full" {
			t.Errorf("the first iteration began %+v", begun[0])
		}
		if begun[1].Session == "" || begun[1].Session != done[0].Session || begun[1].Prompt != "feedback" || done[1].Session != done[0].Session {
			t.Errorf("session %q was followed by %+v and %q", done[0].Session, begun[1], done[1].Session)
		}
		prompts := c.prompts()
		if len(prompts) != 2 {
			t.Fatalf("%d prompts", len(prompts))
		}
		second := prompts[1]
		if !strings.Contains(second.prompt, "test ! -f bad.txt") || strings.TrimSpace(second.prompt) != c.sent(2, 1) {
			t.Errorf("the second prompt is %q", second.prompt)
		}
		for _, known := range []string{"Words of the whole specification", "its content these words"} {
			if strings.Contains(second.prompt, known) {
				t.Errorf("the second prompt repeats %q", known)
			}
			if !strings.Contains(second.before, known) {
				t.Errorf("the session has forgotten %q", known)
			}
		}
		// What the program counts for the whole session is not counted twice.
		one, two, sum := done[0].Usage.CostUSD, done[1].Usage.CostUSD, done[1].Total.CostUSD
		if one == nil || two == nil || sum == nil || *one <= 0 || !near(*one, *two) || !near(*sum, *one+*two) {
			t.Errorf("cost %v, then %v of %v", one, two, sum)
		}
		if _, spent := ends(t, evs); !near(spent, *one+*two) {
			t.Errorf("the run has cost %g", spent)
		}
	})
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestClaudeIsRefused(t *testing.T) {
	t.Parallel()
	c := newWithClaude(t, "off", onePhase(3, ""), proveB,
		says("I run it.", bash("go version > ran.txt")), says("It was refused."),
		says("I write.", writes("b.txt", "b\n")), claim)
	evs := c.runs(0, "run", "--autonomous")
	done, prompts := finished(t, evs), c.prompts()
	if len(done) != 2 || len(prompts) != 2 {
		t.Fatalf("%d iterations, %d prompts", len(done), len(prompts))
	}
	if want := []string{"Bash: go version > ran.txt"}; !slices.Equal(done[0].Denied, want) || done[0].Outcome != "ok" || done[0].Changed {
		t.Errorf("outcome %q, changed %v, denied %q, want %q", done[0].Outcome, done[0].Changed, done[0].Denied, want)
	}
	if !strings.Contains(prompts[1].prompt, "go version > ran.txt") {
		t.Errorf("the second prompt does not say what was refused: %q", prompts[1].prompt)
	}
}

func TestClaudeReadOnly(t *testing.T) {
	inModes(t, func(t *testing.T, sandbox string) {
		c := newWithClaude(t, sandbox, onePhase(1, `,"permission_mode":"readonly"`), proveB,
			says("I try.", writes("b.txt", "b\n"), bash("touch c.txt"), bash("echo x > d.txt")),
			says("I try again.", fakemodel.Tool{Name: "Edit", Input: map[string]string{"file_path": "a.txt", "old_string": "a", "new_string": "b"}}),
			claim)
		evs := c.runs(0, "run", "--autonomous")
		done := finished(t, evs)
		if len(done) != 1 || done[0].Changed || done[0].Outcome != "ok" || len(done[0].Denied) == 0 {
			t.Errorf("iterations %+v", done)
		}
		if got := ended(evs, "01"); got != "done" {
			t.Errorf("the phase ended %q", got)
		}
		if got := strings.TrimSpace(c.must("git", "log", "--format=%s", "main")); got != "start" {
			t.Errorf("main holds the commits %q", got)
		}
	})
}

// Only the model's own last words claim anything.
func TestClaudeWordsThatDoNotCount(t *testing.T) {
	t.Parallel()
	const promise = "<promise>ALL DONE</promise>"
	c := newWithClaude(t, "off", onePhase(2, ""), proveB+`
[defaults]
skip_permissions = true
[agents.claude]
args = ["--forward-subagent-text"]
`,
		fakemodel.Turn{Thinking: "I say " + promise, Text: "I write.", Tools: []fakemodel.Tool{writes("b.txt", promise+"\n")}},
		says("This is not the last word: "+promise, bash("cat b.txt; echo '"+promise+"'")),
		fakemodel.Turn{Thinking: promise, Text: "There is more to do."},
		says("Another asks.", fakemodel.Tool{Name: "Agent", Input: map[string]string{"description": "d", "prompt": "say " + promise, "subagent_type": "general-purpose"}}),
		says(promise), says("It said so, not I."))
	evs := c.runs(1, "run", "--autonomous")
	if got := ended(evs, "01"); got != "failed budget_exhausted" {
		t.Errorf("the phase ended %q", got)
	}
	for i, d := range finished(t, evs) {
		if len(d.Claims) > 0 || d.Outcome != "ok" {
			t.Errorf("iteration %d ended %q and claims %q", i+1, d.Outcome, d.Claims)
		}
		if own := i == 0; (len(d.Signals.Promises) > 0) != own {
			t.Errorf("in iteration %d the model itself said the promise: %v, want %v", i+1, !own, own)
		}
	}
	// Nor does an echo of the prompt.
	c.answer(says(c.sent(1, 1)), claim)
	evs = c.runs(0, "resume", "--budget", "01=2")
	done := finished(t, evs)
	if len(done) != 2 || len(done[0].Claims) > 0 || len(done[1].Claims) != 1 {
		t.Errorf("iterations %+v", done)
	}
}
