//go:build real

package e2e

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// inModes runs a test with every agent, with bubblewrap and, but for those that
// take seconds to start, without a sandbox, as other stories do with all.
func inModes(t *testing.T, test func(t *testing.T, p player, sandbox string)) {
	eachPlayer(t, func(t *testing.T, p player) {
		for _, sandbox := range []string{"off", "required"} {
			if sandbox == "off" && p.slow {
				continue
			}
			t.Run("sandbox "+sandbox, func(t *testing.T) {
				if _, err := exec.LookPath("bwrap"); err != nil && sandbox == "required" {
					if os.Getenv("FORGE_TEST_REQUIRE_SANDBOX") != "" {
						t.Fatal("bubblewrap is required and not installed")
					}
					t.Skip("bubblewrap is not installed")
				}
				t.Parallel()
				test(t, p, sandbox)
			})
		}
	})
}

const proveB = `[verify]
commands = ["test ! -f bad.txt"]
`

const skipPermissions = "[defaults]\nskip_permissions = true\n"

func TestRealEditsAndIsMerged(t *testing.T) {
	inModes(t, func(t *testing.T, p player, sandbox string) {
		c := newWith(t, p, sandbox, onePhase(3, ""), proveB, says("I write.", p.write("b.txt", "b\n")), claim)
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
		if got := finished(t, evs); len(got) != 1 || got[0].Sandbox != want || (got[0].Usage.Input == nil) == p.tokens || got[0].Usage.CostUSD == nil && p.cost {
			t.Errorf("iterations %+v", got)
		}
	})
}

// A false promise is fed back into the same session, without what it knows.
// Where there is none to go on with, all is said again.
func TestRealGoesOnInItsSession(t *testing.T) {
	inModes(t, func(t *testing.T, p player, sandbox string) {
		c := newWith(t, p, sandbox, onePhase(3, ""), proveB+skipPermissions,
			says("I write.", p.write("bad.txt", "b\n")), says("", p.write("b.txt", "b\n")), claim,
			says("I see.", p.shell("rm bad.txt")), claim)
		evs := c.runs(0, "run", "--autonomous")
		begun, done := started(t, evs), finished(t, evs)
		prompts := c.prompts()
		if len(begun) != 2 || len(done) != 2 || len(prompts) != 2 {
			t.Fatalf("%d iterations began, %d finished, %d prompts", len(begun), len(done), len(prompts))
		}
		if begun[0].Session != "" || begun[0].Prompt != "full" {
			t.Errorf("the first iteration began %+v", begun[0])
		}
		second := prompts[1]
		if !strings.Contains(second.prompt, "test ! -f bad.txt") || strings.TrimSpace(second.prompt) != c.sent(2, 1) {
			t.Errorf("the second prompt is %q", second.prompt)
		}
		goesOn := !p.homeless || sandbox == "off"
		if goesOn && (begun[1].Session == "" || begun[1].Session != done[0].Session || begun[1].Prompt != "feedback" || done[1].Session != done[0].Session) {
			t.Errorf("session %q was followed by %+v and %q", done[0].Session, begun[1], done[1].Session)
		}
		if !goesOn && (begun[1].Session != "" || begun[1].Prompt != "full" || second.before != "") {
			t.Errorf("session %q was followed by %+v, after %q", done[0].Session, begun[1], second.before)
		}
		for _, known := range []string{"Words of the whole specification", "its content the words of the next fence"} {
			if strings.Contains(second.prompt, known) == goesOn {
				t.Errorf("the second prompt repeats %q: %v", known, goesOn)
			}
			if strings.Contains(second.before, known) != goesOn {
				t.Errorf("the session knows %q: %v", known, !goesOn)
			}
		}
		c.countedOnce(evs)
	})
}

// countedOnce says that what the program counts for a whole session, of money
// or of tokens, is not counted for each of its iterations again: the first of
// them made three requests, the second two.
func (c *withAgent) countedOnce(evs []event) {
	c.t.Helper()
	done := finished(c.t, evs)
	if one, two := done[0].Usage.Input, done[1].Usage.Input; c.player.tokens && (one == nil || two == nil || *one != 300 || *two != 200) {
		c.t.Errorf("tokens %v, then %v", one, two)
	}
	if !c.player.cost {
		return
	}
	one, two := done[0].Usage.CostUSD, done[1].Usage.CostUSD
	if one == nil || two == nil || *one <= 0 || !near(*one*2, *two*3) {
		c.t.Fatalf("cost %v, then %v", one, two)
	}
	if _, spent := ends(c.t, evs); !near(spent, *one+*two) {
		c.t.Errorf("the run has cost %g", spent)
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// What the permission mode refuses is named, to the user and to the agent.
func TestRealIsRefused(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		c := newWith(t, p, "off", onePhase(3, ""), proveB,
			says("I run it.", p.refused), says("It was refused."),
			says("I write.", p.write("b.txt", "b\n")), claim)
		evs := c.runs(0, "run", "--autonomous")
		done, prompts := finished(t, evs), c.prompts()
		if len(done) != 2 || len(prompts) != 2 {
			t.Fatalf("%d iterations, %d prompts", len(done), len(prompts))
		}
		if len(done[0].Denied) != 1 || !strings.Contains(done[0].Denied[0], p.denied) || !p.well(done[0].Outcome) || done[0].Changed {
			t.Errorf("outcome %q, changed %v, denied %q, want %q", done[0].Outcome, done[0].Changed, done[0].Denied, p.denied)
		}
		if !strings.Contains(prompts[1].prompt, p.denied) {
			t.Errorf("the second prompt does not say what was refused: %q", prompts[1].prompt)
		}
		if text, _, _ := c.forge("why", "01"); !strings.Contains(text, p.denied) {
			t.Errorf("the user is not told: %s", text)
		}
	})
}

func TestRealReadOnly(t *testing.T) {
	inModes(t, func(t *testing.T, p player, sandbox string) {
		c := newWith(t, p, sandbox, onePhase(1, `,"permission_mode":"readonly"`), proveB,
			says("I try.", p.write("b.txt", "b\n")), says("", p.shell("touch c.txt")), says("", p.shell("echo x > d.txt")), claim)
		evs := c.runs(0, "run", "--autonomous")
		done := finished(t, evs)
		if len(done) != 1 || done[0].Changed || !p.well(done[0].Outcome) || len(done[0].Denied) == 0 {
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

// A session that is gone is followed by a new one, that is told all.
func TestRealForgetsItsSession(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		// Verify runs between two iterations, so that it can take the session away.
		c := newWith(t, p, "off", onePhase(3, `,"verify":["rm -rf ../../../../../home/`+p.store+`; test ! -f bad.txt"]`), proveB+skipPermissions,
			says("I write.", p.write("bad.txt", "b\n")), says("", p.write("b.txt", "b\n")), claim,
			says("I see.", p.shell("rm bad.txt")), claim)
		evs := c.runs(0, "run", "--autonomous")
		begun, done, prompts := started(t, evs), finished(t, evs), c.prompts()
		if len(begun) != 2 || len(done) != 2 || len(prompts) != 2 {
			t.Fatalf("%d iterations began, %d finished, %d prompts", len(begun), len(done), len(prompts))
		}
		if begun[1].Session != done[0].Session || begun[1].Session == "" {
			t.Errorf("session %q was followed by %q", done[0].Session, begun[1].Session)
		}
		if !p.well(done[1].Outcome) || done[1].Session == "" || done[1].Session == done[0].Session {
			t.Errorf("the second iteration ended %q in session %q", done[1].Outcome, done[1].Session)
		}
		for _, want := range []string{"Words of the whole specification", "Verify failed"} {
			if !strings.Contains(prompts[1].prompt, want) {
				t.Errorf("the prompt of the new session does not say %q: %q", want, prompts[1].prompt)
			}
		}
		if prompts[1].before != "" || strings.TrimSpace(prompts[1].prompt) != c.sent(2, 1) {
			t.Errorf("the prompt of the new session is %q, after %q", prompts[1].prompt, prompts[1].before)
		}
		c.countedOnce(evs)
	})
}

// The doctor sees an agent that works, and one without its key.
func TestRealDoctor(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		c := newWith(t, p, "off", onePhase(1, ""), proveB, says("well"))
		stdout, stderr, code := c.forge("doctor", "--try")
		if code != 0 || !strings.Contains(stdout, `agent "`+p.name+`" answers: well`) {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
		if p.login == "" {
			return
		}
		c.env = slices.DeleteFunc(c.env, func(kv string) bool { return strings.Contains(kv, "_API_KEY=") })
		if p.name == "codex" {
			c.write("home/.codex/config.toml", "") // of another provider it says nothing
		}
		stdout, stderr, code = c.forge("doctor")
		if code != 2 || !strings.Contains(stdout, `agent "`+p.name+`" is not logged in`) || !strings.Contains(stdout, p.login) {
			t.Errorf("without a key: exit code %d\n%s%s", code, stdout, stderr)
		}
	})
}
