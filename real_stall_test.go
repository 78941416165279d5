//go:build real

package main

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

func TestClaudeStallsAndPivots(t *testing.T) {
	t.Parallel()
	c := newWithClaude(t, "off", onePhase(6, ""), stallSoon,
		idle, idle,
		says("Another way.", writes("b.txt", "b\n")), says("Half of it is there."),
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
}

func TestClaudeStallsTwice(t *testing.T) {
	t.Parallel()
	c := newWithClaude(t, "off", onePhase(8, ""), stallSoon, idle, idle, idle, idle, idle)
	evs := c.runs(1, "run", "--autonomous")
	if got := ended(evs, "01"); got != "failed stale" {
		t.Errorf("the phase ended %q", got)
	}
	if got := len(finished(t, evs)); got != 4 {
		t.Errorf("after %d iterations, want 4", got)
	}
}

// looping is a shell command that does not end, and leaves a child behind in
// a session of its own.
func looping(word string) string {
	return fmt.Sprintf("setsid sh -c 'while :; do sleep 1; done' %s >/dev/null 2>&1 </dev/null & %s", word, endless(word))
}

func endless(word string) string {
	return fmt.Sprintf("sh -c 'while :; do sleep 1; done' %s", word)
}

func TestClaudeHangs(t *testing.T) {
	const config = proveB + "[defaults]\nskip_permissions = true\n[limits]\n"
	for name, h := range map[string]struct {
		config string
		turns  []fakemodel.Turn
		want   string
	}{
		"model": {
			config: config + "idle_secs = 8\n", want: "idle_timeout",
			turns: []fakemodel.Turn{
				says("I start it.", bash("setsid sh -c 'while :; do sleep 1; done' 97541 >/dev/null 2>&1 </dev/null & echo on its way")),
				{Fault: fakemodel.Fault{Hang: true}},
			},
		},
		"tool": {
			config: config + "idle_secs = 8\niteration_secs = 16\n", want: "iteration_timeout",
			turns: []fakemodel.Turn{says("I wait. <promise>ALL DONE</promise>", bash(looping("97541")))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inModes(t, func(t *testing.T, sandbox string) {
				turns := append(slices.Clone(h.turns), says("I write.", writes("b.txt", "b\n")), claim)
				c := newWithClaude(t, sandbox, onePhase(3, ""), h.config, turns...)
				evs, code := c.follow(func(e event, _ func()) {
					if e.Kind == "iteration.finished" && e.Iteration == 1 {
						noneLeft("97541")(t, c.checkout, nil)
					}
				}, "run", "--autonomous")
				if code != 0 {
					t.Errorf("exit code %d", code)
				}
				begun, done := started(t, evs), finished(t, evs)
				if len(done) != 2 || done[0].Outcome != h.want || len(done[0].Claims) > 0 || done[1].Outcome != "ok" {
					t.Errorf("iterations %+v", done)
				}
				if len(begun) != 2 || begun[1].Session != "" || begun[1].Prompt != "full" {
					t.Errorf("a session that hung was gone on with: %+v", begun)
				}
				if got := c.prompts(); len(got) < 2 || !strings.Contains(got[len(got)-1].prompt, h.want) {
					t.Errorf("the agent was not told of the %s: %q", h.want, got)
				}
			})
		})
	}
}

// Forge is killed while the agent works. Whoever resumes ends what is left of
// the agent before the iteration runs again, under the same number.
func TestClaudeOutlivesForge(t *testing.T) {
	t.Parallel()
	c := newWithClaude(t, "off", onePhase(3, ""), proveB+"[defaults]\nskip_permissions = true\n",
		says("I write.", writes("b.txt", "b\n")), says("There is more to do."),
		says("I wait.", writes("half.txt", "half\n"), bash(looping("97542"))))
	evs, code := c.follow(func(e event, kill func()) {
		if e.Kind != "iteration.started" || e.Iteration != 2 {
			return
		}
		for range 600 {
			if running("97542", c.root) != "" && exists(c.at("state/runs/*/phases/01/half.txt")) {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		kill()
	}, "run", "--autonomous")
	if code != -1 {
		t.Fatalf("forge was not killed: exit code %d", code)
	}
	if running("97542", c.root) == "" || running("claude", c.root) == "" {
		t.Fatal("the agent did not outlive Forge, so that nothing is shown")
	}
	// The agent itself looks what is left of its earlier attempt.
	c.answer(says("I look.", bash(`for p in /proc/[0-9]*/cmdline; do
	if tr '\0' ' ' <"$p" 2>/dev/null | grep -q ' 9754[2]'; then echo "$p"; fi
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
}

func exists(pattern string) bool {
	files, _ := filepath.Glob(pattern)
	return len(files) > 0
}

func TestClaudeForgetsItsSession(t *testing.T) {
	t.Parallel()
	// Verify runs between two iterations, so that it can take the session away.
	c := newWithClaude(t, "off", onePhase(3, `,"verify":["rm -rf ../../../../../home/.claude/projects; test ! -f bad.txt"]`),
		proveB+"[defaults]\nskip_permissions = true\n",
		says("I write.", writes("bad.txt", "b\n"), writes("b.txt", "b\n")), claim,
		says("I see.", bash("rm bad.txt")), claim)
	evs := c.runs(0, "run", "--autonomous")
	begun, done, prompts := started(t, evs), finished(t, evs), c.prompts()
	if len(begun) != 2 || len(done) != 2 || len(prompts) != 2 {
		t.Fatalf("%d iterations began, %d finished, %d prompts", len(begun), len(done), len(prompts))
	}
	if begun[1].Session != done[0].Session || begun[1].Session == "" {
		t.Errorf("session %q was followed by %q", done[0].Session, begun[1].Session)
	}
	if done[1].Outcome != "ok" || done[1].Session == "" || done[1].Session == done[0].Session {
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
	if one, two := done[0].Usage.CostUSD, done[1].Usage.CostUSD; one == nil || two == nil || !near(*one, *two) {
		t.Errorf("cost %v, then %v", one, two)
	}
}
