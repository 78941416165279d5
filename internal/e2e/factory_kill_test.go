package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
	"forge/internal/pace"
)

// killedWhen runs the factory until what happens, and kills it then.
func (c *checkout) killedWhen(what func() bool) {
	c.t.Helper()
	cmd := c.command(os.Args[0], "factory", "--once", "--listen", "off")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(over)
	}()
	for deadline := time.Now().Add(patience); !what() && time.Now().Before(deadline); {
		select {
		case <-over:
			c.t.Fatal("the factory ended before it could be killed")
		case <-time.After(2 * time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-over
}

// TestKillTriage: killed with a question to the model under way, at each stage,
// the next process goes on with what was confirmed, and the issue is done once.
func TestKillTriage(t *testing.T) {
	pace.Slow(t, "the factory dies in each of three stages")
	t.Parallel()
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	hang := fakemodel.Turn{Fault: fakemodel.Fault{Hang: true}}
	said := func(text string) fakemodel.Turn { return fakemodel.Turn{Text: text} }
	intent := said(`{"summary":"that","confidence":0.9,"question":"","wants":[]}`)
	where := said(`{"summary":"there","confidence":0.9,"question":"","touches":[],"risks":[]}`)
	act := said(`{"summary":"do it","confidence":0.9,"question":"","kind":"standard","name":"implement","steps":[],"irreversibility":"low","regret_potential":"low","risk_amplifier":false,"requires_post_review":false,"sub_issues":[]}`)
	all := []fakemodel.Turn{intent, where, act}
	for stage := range all {
		t.Run(fmt.Sprintf("stage %d", stage+1), func(t *testing.T) {
			name := fmt.Sprintf("kill-%d", stage)
			address := server.Service(name, fakemodel.Service{Turns: append(slices.Clone(all[:stage]), hang)})
			c := hall(t, 1, 1, "0")
			c.write("repo/.forge/forge.toml", strings.Replace(fmt.Sprintf(factoryConfig, 1), `triage = "off"`, `triage = "model"`, 1))
			c.must("git", "commit", "-qam", "triage")
			c.write("config/forge/config.toml", fmt.Sprintf("[sandbox]\nmode = \"off\"\n[llm]\nbase_url = %q\nmodel = \"m\"\n", address))
			c.killedWhen(func() bool { return len(server.Requests(name)) > stage })
			server.Service(name, fakemodel.Service{Turns: all[stage:]})
			if _, stderr, code := c.forge("factory", "--once", "--listen", "off"); code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			c.allLandedOnce(1)
			events := c.acknowledged("audit", "export", "--run", "triage-1-1")
			if n := strings.Count(events, `"kind":"inference.started"`); n != 4 {
				t.Errorf("%d questions began, want three and the one that was cut off", n)
			}
			if n := strings.Count(events, `"kind":"inference.finished"`); n != 3 {
				t.Errorf("%d answers are on record, want 3", n)
			}
			c.acknowledged("audit", "verify", "--run", "triage-1-1")
		})
	}
}

// TestKillWhileALandingIsVerified: what the verify commands left running is
// found by its mark and ended, and each result lands once: one alone, and those that
// wait while another one is proven, which land together.
func TestKillWhileALandingIsVerified(t *testing.T) {
	pace.Sequential(t, processesAlone)
	pace.Slow(t, "the factory dies, with one issue and with four")
	t.Parallel()
	for _, issues := range []int{1, 4} {
		t.Run(fmt.Sprintf("of %d", issues), func(t *testing.T) { killWhileALandingIsVerified(t, issues) })
	}
}

func killWhileALandingIsVerified(t *testing.T, issues int) {
	c := hall(t, issues, issues, "0")
	mark := c.at("landing")
	c.write("repo/verify.sh", fmt.Sprintf(`case "$PWD" in *landing*) ;; *) exit 0 ;; esac
[ -e %[1]s ] && exit 0
echo $$ >%[1]s.new && mv %[1]s.new %[1]s
exec tail -f %[1]s
`, mark))
	c.write("repo/.forge/forge.toml", strings.Replace(fmt.Sprintf(factoryConfig, issues), "test -f start.txt", "sh verify.sh", 1))
	c.must("git", "add", "-A")
	c.must("git", "commit", "-qm", "verify")
	there := func(name string) bool {
		_, err := os.Stat(name)
		return err == nil
	}
	c.killedWhen(func() bool { return there(mark) })
	if _, stderr, code := c.forge("factory", "--once", "--listen", "off"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	pid, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline")); err == nil && strings.Contains(string(line), mark) {
		t.Errorf("a verify of the dead process still runs: %q", line)
	}
	c.allLandedOnce(issues)
}
