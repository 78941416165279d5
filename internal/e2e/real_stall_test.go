//go:build real

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

const stallSoon = proveB + `
[autonomy]
stale_iterations_before_pivot = 2
pivot_prompt = "Begin at the other end."
`

var idle = says("I think about it.")

// An agent that gets nowhere is told once to change its strategy, in a session
// of its own.
func TestRealStallsAndPivots(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		c := newWith(t, p, "off", onePhase(6, ""), stallSoon,
			idle, idle,
			says("Another way.", p.write("b.txt", "b\n")), says("Half of it is there."),
			claim)
		evs := c.runs(0, "run", "--autonomous")
		begun, done, prompts := started(t, evs), finished(t, evs), c.prompts()
		if len(begun) != 4 || len(done) != 4 || len(prompts) != 4 {
			t.Fatalf("%d iterations began, %d finished, %d prompts", len(begun), len(done), len(prompts))
		}
		for i, want := range []struct {
			prompt string
			same   bool // session as before
		}{{"full", false}, {"feedback", true}, {"pivot", false}, {"feedback", true}} {
			if begun[i].Prompt != want.prompt {
				t.Errorf("iteration %d got the prompt %q, want %q", i+1, begun[i].Prompt, want.prompt)
			}
			if same := i > 0 && begun[i].Session == done[i-1].Session; same != want.same {
				t.Errorf("iteration %d continues: %v, want %v", i+1, same, want.same)
			}
			pivots := strings.Contains(prompts[i].prompt, "Begin at the other end.")
			if pivots != (want.prompt == "pivot") {
				t.Errorf("iteration %d is told to change its strategy: %v", i+1, pivots)
			}
		}
		if done[2].Session == done[1].Session {
			t.Error("the pivot did not begin a new session")
		}
		pivot := prompts[2]
		if pivot.before != "" || !strings.Contains(pivot.prompt, "Words of the whole specification") || !strings.Contains(pivot.prompt, "I think about it.") {
			t.Errorf("the pivot's session begins with %q, after %q", pivot.prompt, pivot.before)
		}
	})
}

// looping is a shell command that does not end, and leaves a child behind in
// a session of its own.
func looping(word string) string {
	return leaving(word) + fmt.Sprintf("sh -c 'while :; do sleep 1; done' %s", word)
}

// leaving is a shell command that leaves a child behind in a session of its own,
// whose parent is gone. It goes on once that is so, and the file apart is there
// then: before, the child still dies with the shell that starts it, whose command
// line holds the word as well.
func leaving(word string) string {
	return fmt.Sprintf("( setsid sh -c 'touch loops; while :; do sleep 1; done' %s >/dev/null 2>&1 </dev/null & ); "+
		"until [ -e loops ]; do sleep 0.1; done; mv loops apart; ", word)
}

// An agent that hangs is ended with all that it started, and its session is
// not gone on with: when its model falls silent, and when its tool never ends.
func TestRealHangs(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		for name, h := range map[string]struct {
			limits func(secs int) string
			turns  []fakemodel.Turn
			want   string
		}{
			"model": {
				limits: func(secs int) string { return fmt.Sprintf("idle_secs = %d\n", secs) }, want: "idle_timeout",
				turns: []fakemodel.Turn{says("I start it.", p.shell("touch begun; "+leaving("97541")+"echo on its way")), {Fault: fakemodel.Fault{Hang: true}}},
			},
			"tool": {
				limits: func(secs int) string { return fmt.Sprintf("idle_secs = %d\niteration_secs = %d\n", secs, 2*secs) }, want: "iteration_timeout",
				turns: []fakemodel.Turn{says("I wait. <promise>ALL DONE</promise>", p.shell("touch begun; "+looping("97541")))},
			},
		} {
			if name == "model" && p.slow {
				continue // ended like that in the suite of agents; what Forge makes of it the tool shows
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				// One of the two in a sandbox, where processes have other numbers.
				sandbox := map[string]string{"model": "off", "tool": "required"}[name]
				turns := append(slices.Clone(h.turns), says("I write.", p.write("b.txt", "b\n")), claim)
				// A limit that ends the agent before it hangs, or when it does
				// not, is too short for this machine and shows nothing.
				for secs := p.soon; !hangs(t, p, sandbox, h.limits(secs), h.want, secs < 180, turns...); secs *= 2 {
				}
			})
		}
	})
}

// hangs says whether the limits let an agent that hangs, and then does not,
// come as far as that. Where they have to, it fails when they do not.
func hangs(t *testing.T, p player, sandbox, limits, want string, may bool, turns ...fakemodel.Turn) bool {
	t.Helper()
	c := newWith(t, p, sandbox, onePhase(3, ""), proveB+skipPermissions+"[limits]\n"+limits, turns...)
	begun := false
	evs, code := c.follow(func(e event, _ func()) {
		if e.Kind == "iteration.finished" && e.Iteration == 1 {
			begun = exists(c.at("state/runs/*/phases/01/begun"))
			noneLeft("97541")(t, c.checkout, nil)
		}
	}, "run", "--autonomous")
	done := finished(t, evs)
	elsewhere := done // where no limit is to end it
	if begun {
		elsewhere = done[min(len(done), 1):]
	}
	if may && slices.ContainsFunc(elsewhere, func(d iterationEnd) bool { return strings.HasSuffix(d.Outcome, "_timeout") }) {
		return false
	}
	if code != 0 || !begun {
		t.Errorf("exit code %d, the agent came so far as to hang: %v", code, begun)
	}
	if len(done) != 2 || done[0].Outcome != want || len(done[0].Claims) > 0 || !p.well(done[1].Outcome) {
		t.Errorf("iterations %+v", done)
	}
	if s := started(t, evs); len(s) != 2 || s[1].Session != "" || s[1].Prompt != "full" {
		t.Errorf("a session that hung was gone on with: %+v", s)
	}
	if got := c.prompts(); len(got) < 2 || !strings.Contains(got[len(got)-1].prompt, want) {
		t.Errorf("the agent was not told of the %s: %q", want, got)
	}
	return true
}

// Forge is killed while the agent works. Whoever resumes ends what is left of
// the agent before the iteration runs again, under the same number.
func TestRealOutlivesForge(t *testing.T) {
	eachPlayer(t, func(t *testing.T, p player) {
		c := newWith(t, p, "off", onePhase(3, ""), proveB+skipPermissions,
			says("I write.", p.write("b.txt", "b\n")), says("There is more to do."),
			says("I wait.", p.write("half.txt", "half\n")), says("", p.shell(looping("97542"))))
		evs, code := c.follow(func(e event, kill func()) {
			if e.Kind != "iteration.started" || e.Iteration != 2 {
				return
			}
			for end := time.Now().Add(patience); time.Now().Before(end) && !exists(c.at("state/runs/*/phases/01/apart")); {
				time.Sleep(100 * time.Millisecond)
			}
			kill()
		}, "run", "--autonomous")
		if code != -1 {
			t.Fatalf("forge was not killed: exit code %d", code)
		}
		// The agent itself may leave when nobody reads what it says; its command goes on.
		if running("97542", c.root) == "" {
			t.Fatalf("nothing that the agent began outlived Forge, so that nothing is shown; of itself there is %q", running(p.process, c.root))
		}
		// The agent itself looks what is left of its earlier attempt.
		c.answer(says("I look.", p.shell(`for p in /proc/[0-9]*/cmdline; do
	if tr '\0' ' ' <"$p" 2>/dev/null | grep -q ' 9754[2]'; then
		if tr '\0' '\n' <"${p%cmdline}environ" 2>/dev/null | grep -q "^HOME=$HOME$"; then echo "$p"; fi
	fi
done >left.txt; ls >files.txt`)), claim)
		more := c.runs(0, "resume")
		onceEach(t, append(evs, more...))
		noneLeft("97542")(t, c.checkout, nil)
		again := find(more, "iteration.started", "01")
		if again.Iteration != 2 || again.Attempt != 2 {
			t.Errorf("iteration %d, attempt %d was started, want 2 and 2", again.Iteration, again.Attempt)
		}
		if first, next := finished(t, evs), started(t, more); len(first) != 1 || len(next) != 1 || next[0].Session != first[0].Session {
			t.Errorf("the session %+v was followed by %+v", first, next)
		}
		if got := c.must("git", "show", "main:left.txt"); got != "" {
			t.Errorf("when the agent was started again, its earlier self still ran: %s", got)
		}
		if got := strings.Fields(c.must("git", "show", "main:files.txt")); strings.Join(got, " ") != "a.txt b.txt files.txt left.txt" {
			t.Errorf("the attempt began with the files %q", got)
		}
		if prompt := c.prompts()[len(c.prompts())-1].prompt; strings.TrimSpace(prompt) != c.sent(2, 2) || c.sent(2, 2) != c.sent(2, 1) {
			t.Errorf("the second attempt was told %q", prompt)
		}
	})
}

func exists(pattern string) bool {
	files, _ := filepath.Glob(pattern)
	return len(files) > 0
}
