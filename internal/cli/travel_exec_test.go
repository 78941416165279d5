package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// execFleet is a fleet whose agent is a program of the repository, named by a
// relative path as in the README.
func execFleet(t *testing.T) *fleet {
	t.Helper()
	f := newFleet(t)
	w := f.first
	w.write("tools/agent.sh", "#!/bin/sh\ncat >/dev/null\necho \"made by $FORGE_PHASE\" >\"out-$FORGE_PHASE.txt\"\necho \"<promise>PHASE $FORGE_PHASE DONE</promise>\"\n")
	if err := os.Chmod(filepath.Join(w.root, "tools/agent.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	execConfig(w, "./tools/agent.sh")
	w.git("add", "-A")
	w.git("commit", "--quiet", "-m", "an agent of its own")
	w.git("push", "--quiet", "origin", "HEAD:main")
	return f
}

// execConfig makes command the agent.
func execConfig(w *world, command string) {
	w.write(".forge/forge.toml", "[project]\nname = \"demo\"\n[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\""+command+"\"]\n[verify]\ncommands = [\"true\"]\n")
}

// A run whose agent is a program in the checkout goes on in a checkout of another
// path, with the program that is there.
func TestRelativeCommandTravels(t *testing.T) {
	t.Parallel()
	f := execFleet(t)
	run := f.frozen()
	w := f.machine()
	w.forge("approve", run+".1", "--remote", "--resume").want(exitFrozen)
	if _, err := os.Stat(f.first.root); err != nil {
		t.Fatal(err)
	}
	f.first.forge("approve", run+".2", "--remote", "--resume").want(exitDone)
	if got := f.git("show", "refs/heads/forge/run-"+run+":out-01.txt"); got != "made by 01" {
		t.Errorf("out-01.txt is %q", got)
	}
}

// What cannot go on here is said before an answer is taken: the question stays
// open, and is answered where it can.
func TestAnswerThatCannotGoOnIsNotTaken(t *testing.T) {
	t.Parallel()
	f := execFleet(t)
	run := f.frozen()
	w := f.machine()
	execConfig(w, "./tools/other.sh")
	w.forge("approve", run+".1", "--remote", "--resume").want(exitUsage).warns("nothing was answered", "began with other settings than this checkout has: [agents.mine]")
	w.forge("show", run+".1", "--remote").want(exitDone).says("pending")

	execConfig(w, "./tools/agent.sh")
	user := filepath.Join(w.home, ".config/forge/config.toml")
	w.write(user, "[sandbox]\nmode = \"off\"\n[autonomy]\nceiling = \"manual\"\n")
	w.forge("approve", run+".1", "--remote", "--resume").want(exitUsage).warns("nothing was answered", "this machine's ceiling allows")
	w.write(user, "[sandbox]\nmode = \"off\"\n")
	f.first.forge("approve", run+".1", "--remote", "--resume").want(exitFrozen)
}

// What an older Forge wrote down as the path on its machine is found on this one
// too, and is no other setting.
func TestRecordedPathsMove(t *testing.T) {
	t.Parallel()
	old := work.AgentSettings{Name: "mine", Kind: "exec", Command: []string{"/old/place/tools/agent.sh", "/old/place/x"}, File: "/old/place/a.toml", Checkout: "/old/place"}
	spec := orchestrator.Spec{Settings: work.Settings{Agents: map[string]work.AgentSettings{"mine": old}}, Base: work.Base{RepoRoot: "/old/place"}}
	p := &project.Checkout{Base: work.Base{RepoRoot: "/new"}, Config: &config.Config{}}
	p.Relocate(&spec)
	own := work.AgentSettings{Name: "mine", Kind: "exec", Command: []string{"./tools/agent.sh", "/old/place/x"}, File: "/new/a.toml", Checkout: "/new"}
	got, _ := json.Marshal(project.AtPath(spec.Settings.Agents["mine"]))
	want, _ := json.Marshal(project.AtPath(own))
	if string(got) != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if old.Command[0] != "/old/place/tools/agent.sh" {
		t.Error("what is on record was changed")
	}
}
