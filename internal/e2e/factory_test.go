package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/pace"
)

const factoryConfig = `
[agent]
use = "mine"
[agents.mine]
kind = "exec"
command = ["sh", "agent.sh"]
env = ["HALL", "PAUSE"]
[factory]
default_policy = "end_to_end"
max_running = %d
triage = "off"
[verify]
commands = ["test -f start.txt"]
`

// factoryAgent notes each time that it is called, takes a moment, and does what
// the issue's title says.
const factoryAgent = `
echo "$FORGE_RUN $FORGE_PHASE/$FORGE_ITERATION $FORGE_ATTEMPT" >>"$HALL/calls"
sleep "$PAUSE"
echo "$FORGE_PHASE_NAME" >"$FORGE_PHASE_NAME.txt"
echo "<promise>ISSUE ${FORGE_PHASE_NAME#thing} DONE</promise>"
`

// hall is a project with so many ready issues.
func hall(t *testing.T, issues, running int, pause string) *checkout {
	t.Helper()
	c := newCheckout(t, "off", map[string]string{
		"start.txt": "here\n", "agent.sh": factoryAgent, ".forge/forge.toml": fmt.Sprintf(factoryConfig, running),
	})
	c.env = append(c.env, "HALL="+c.root, "PAUSE="+pause)
	for n := range issues {
		c.acknowledged("issue", "add", fmt.Sprintf("thing%d", n+1), "--column", "ready")
	}
	return c
}

// acknowledged runs a command that has to say yes.
func (c *checkout) acknowledged(args ...string) string {
	c.t.Helper()
	out, stderr, code := c.quick(args...)
	if code != 0 {
		c.t.Fatalf("forge %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return out
}

// calls are the lines that the agents wrote.
func (c *checkout) calls() []string {
	text, _ := os.ReadFile(c.at("calls"))
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(text)), " ", "|"))
}

// killedAt starts the factory, and kills it when its agents were called so often.
func (c *checkout) killedAt(calls int) {
	c.t.Helper()
	cmd := c.command(os.Args[0], "factory", "--once")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
	for deadline := time.Now().Add(patience); len(c.calls()) < calls && time.Now().Before(deadline); {
		select {
		case <-over:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-over
}

type shownCard struct {
	Title  string   `json:"title"`
	Column string   `json:"column"`
	State  string   `json:"state"`
	Reason string   `json:"reason"`
	Run    string   `json:"run"`
	Labels []string `json:"labels"`
}

func (c *checkout) card(id int) shownCard {
	c.t.Helper()
	var card shownCard
	if err := json.Unmarshal([]byte(c.acknowledged("issue", "show", fmt.Sprint(id), "--output", "json")), &card); err != nil {
		c.t.Fatal(err)
	}
	return card
}

// unfinished is the cards that are not done, with what went before.
func (c *checkout) unfinished(issues int) string {
	c.t.Helper()
	var out strings.Builder
	for id := 1; id <= issues; id++ {
		if card := c.card(id); card.Column != "done" {
			stdout, stderr, _ := c.forge("issue", "show", fmt.Sprint(id))
			why, _, _ := c.forge("why", "--run", card.Run)
			fmt.Fprintf(&out, "%s%s\n%s\n", stdout, stderr, why)
		}
	}
	return out.String()
}

// allLandedOnce holds the board, the journal and the target against each other.
func (c *checkout) allLandedOnce(issues int) {
	c.t.Helper()
	subjects := strings.Split(strings.TrimSpace(c.must("git", "log", "--no-merges", "--format=%s", "forge/landed")), "\n")
	for id := 1; id <= issues; id++ {
		card := c.card(id)
		if card.Column != "done" || card.State != "" {
			c.t.Errorf("issue %d: %+v", id, card)
			continue
		}
		if n := count(subjects, fmt.Sprintf("thing%d", id)); n != 1 {
			c.t.Errorf("issue %d landed %d times", id, n)
		}
		var evs []event
		for line := range strings.Lines(c.acknowledged("audit", "export", "--run", card.Run)) {
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				c.t.Fatalf("%q: %v", line, err)
			}
			evs = append(evs, e)
		}
		onceEach(c.t, evs)
	}
	// No attempt twice, and no issue in two runs.
	calls, runs := c.calls(), map[string]string{}
	for n, call := range calls {
		if slices.Contains(calls[:n], call) {
			c.t.Errorf("the agent was called twice for %s", call)
		}
		run, _, _ := strings.Cut(call, "|")
		issue, _, _ := strings.Cut(run, "-")
		if was := runs[issue]; was != "" && was != run {
			c.t.Errorf("issue %s was worked on in runs %s and %s", issue, was, run)
		}
		runs[issue] = run
	}
	c.must("git", "fsck", "--no-dangling")
	if got := c.must("git", "status", "--porcelain"); got != "" {
		c.t.Errorf("the checkout changed:\n%s", got)
	}
}

func count(list []string, of string) (n int) {
	for _, s := range list {
		if s == of {
			n++
		}
	}
	return n
}

// killFactory kills the factory with all its issues in flight, time and again;
// then it does all of it, none twice, and what was acknowledged stays.
func killFactory(t *testing.T, issues, kills int) {
	c := hall(t, issues, issues, "0.3")
	for n := range kills {
		c.killedAt(issues*(n+1)/2 + 1)
		id := n%issues + 1
		c.acknowledged("issue", "edit", fmt.Sprint(id), "--label", fmt.Sprintf("kill-%d", n))
	}
	last := fmt.Sprint(issues + 1)
	c.acknowledged("issue", "add", "thing"+last, "--column", "ready", "--level", "plan_then_review")
	if _, stderr, code := c.forge("factory", "--once"); code != 3 {
		t.Fatalf("exit code %d, want 3: one is in review\n%s\n%s", code, stderr, c.unfinished(issues+1))
	}
	// An answer that was acknowledged is heard, though nobody was there.
	var asked struct {
		Checkpoints []struct {
			ID string `json:"id"`
		} `json:"checkpoints"`
	}
	if err := json.Unmarshal([]byte(c.acknowledged("checkpoints", "--output", "json")), &asked); err != nil || len(asked.Checkpoints) != 1 {
		t.Fatalf("checkpoints: %+v, %v", asked, err)
	}
	c.acknowledged("approve", asked.Checkpoints[0].ID)
	c.killedAt(0)
	if _, stderr, code := c.forge("factory", "--once"); code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, stderr, c.unfinished(issues+1))
	}
	c.allLandedOnce(issues + 1)
	for n := range kills {
		if card := c.card(n%issues + 1); !slices.Contains(card.Labels, fmt.Sprintf("kill-%d", n)) {
			t.Errorf("an acknowledged edit is lost: %+v", card)
		}
	}
	if left, _ := filepath.Glob(c.at("state/runs/*/phases/*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestKillFactory(t *testing.T) {
	pace.Slow(t, "the factory is killed time and again")
	t.Parallel()
	killFactory(t, 5, 2)
}

// Two servers on one board share its issues: each is worked on once.
func TestTwoFactories(t *testing.T) {
	pace.Slow(t, "agents take their time, so that both servers find work")
	t.Parallel()
	const issues = 6
	c := hall(t, issues, 2, "0.1")
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, stderr, code := c.forge("factory", "--once"); code != 0 {
				t.Errorf("exit code %d\n%s", code, stderr)
			}
		})
	}
	both.Wait()
	// One of them may have left when the other still had some.
	if _, stderr, code := c.forge("factory", "--once"); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	c.allLandedOnce(issues)
	if n := len(c.calls()); n != issues {
		t.Errorf("the agent was called %d times for %d issues", n, issues)
	}
}

// killFactoryBetween kills the factory after every step-th git command of an
// issue that has to be merged with what landed meanwhile: the effect is there,
// what follows is not. It lands, once.
func killFactoryBetween(t *testing.T, step int) {
	prepare := func(t *testing.T) *checkout {
		c := hall(t, 1, 1, "0")
		c.must("git", "branch", "forge/landed")
		c.must("git", "worktree", "add", "-q", c.at("hand"), "forge/landed")
		return c
	}
	// The target moves while the issue's agent works.
	moves := func(c *checkout) {
		c.write("repo/agent.sh", factoryAgent+"\n[ -d \"$HALL/hand\" ] || exit 0\ncd \"$HALL/hand\" && git -c user.name=Test -c user.email=test@example.invalid commit -q --allow-empty -m meanwhile && git -C \"$HALL/repo\" worktree remove --force \"$HALL/hand\"\n")
		c.must("git", "commit", "-qam", "agent")
		c.must("git", "-C", c.at("hand"), "merge", "-q", "--ff-only", "main")
	}
	count := prepare(t)
	moves(count)
	count.killingGit(0)
	if _, stderr, code := count.forge("factory", "--once"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if got := strings.Count(count.must("git", "log", "--merges", "--format=%s", "forge/landed"), "thing1"); got != 1 {
		t.Fatalf("undisturbed it was merged %d times, want once", got)
	}
	calls, err := os.ReadFile(filepath.Join(count.path, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= strings.Count(string(calls), "x"); n += step {
		t.Run(fmt.Sprintf("git call %d", n), func(t *testing.T) {
			t.Parallel()
			c := prepare(t)
			moves(c)
			c.killingGit(n)
			c.forge("factory", "--once")
			c.path = ""
			if _, stderr, code := c.forge("factory", "--once"); code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			c.allLandedOnce(1)
			if got := strings.Count(c.must("git", "log", "--merges", "--format=%s", "forge/landed"), "thing1"); got > 1 {
				t.Errorf("merged %d times", got)
			}
		})
	}
}

func TestKillFactoryBetweenGitCommands(t *testing.T) {
	pace.Slow(t, "a factory dies and is started again")
	pace.Sequential(t, processesAlone)
	t.Parallel()
	killFactoryBetween(t, 61)
}
