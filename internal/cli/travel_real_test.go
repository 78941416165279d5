//go:build real

package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"forge/internal/handoff"
	"forge/internal/host/hosttest"
)

// giteaFleet is a fleet whose remote is a repository on a real Gitea, which git
// gets the token for from the user's own configuration.
func giteaFleet(t *testing.T, g *hosttest.GiteaCrowd) (f *fleet, repo string) {
	repo = g.Repo(t, false)
	w := newWorld(t, done("01"), "true")
	w.plan(phase("01", "first", 4))
	w.git("add", "-A")
	w.git("commit", "--quiet", "-m", "plan")
	f = &fleet{t: t, remote: g.URL + "/owner/" + repo + ".git", first: w}
	f.account(w, g.Tokens["ann"])
	w.git("remote", "add", "origin", f.remote)
	w.git("push", "--quiet", "origin", "main")
	return f, repo
}

// account lets git on a machine speak for somebody.
func (f *fleet) account(w *world, token string) *world {
	w.write(filepath.Join(w.home, ".gitconfig"), fmt.Sprintf("[user]\nname = Test\nemail = test@example.invalid\n[credential %q]\nhelper = \"!f() { test $1 = get && echo username=x && echo password=%s; }; f\"\n", f.remote[:strings.Index(f.remote, "/owner/")], token))
	return w
}

// travels: a run that freezes on one machine goes on on others, over HTTP with a
// token. Gitea takes records as any reference and compares them before they are
// replaced; rules of branches hold up branches alone; who may only read changes
// nothing.
func travels(t *testing.T, g *hosttest.GiteaCrowd) {
	f, repo := giteaFleet(t, g)
	one := f.first
	writes := g.Token(t, "ann", "write:repository")
	machine := func() *world { return f.account(f.machine(), writes) }
	rules := "/repos/owner/" + repo + "/branch_protections"
	g.Do(t, g.Tokens["owner"], http.MethodPost, rules, map[string]any{"rule_name": "**", "enable_push": false}, nil)
	one.forge("run", "--push").want(exitFrozen)
	_, run, _ := strings.Cut(one.git("ls-remote", "origin", handoff.RecordRefs+"/*"), handoff.RecordRefs+"/")

	reader := f.account(f.machine(), g.Tokens["eve"])
	reader.forge("checkpoints", "--remote").want(exitDone).says(run + ".1")
	reader.forge("approve", run+".1", "--remote").want(exitUsage).warns("does not take " + handoff.RecordRef(run) + ": User permission denied for writing")

	two, three := machine(), machine()
	two.forge("show", run+".1", "--remote").want(exitDone).says("Start phase 01")
	two.forge("approve", run+".1", "--remote").want(exitDone)
	one.forge("approve", run+".1").want(exitUsage).warns("already_resolved")
	ends := make([]ended, 2)
	var all sync.WaitGroup
	for n, w := range []*world{two, three} {
		all.Go(func() { ends[n] = w.forge("resume", run, "--remote") })
	}
	all.Wait()
	worked := 0
	for _, e := range ends {
		switch {
		case strings.Contains(e.stderr, "iteration 1 finished"):
			worked++
			// Its branch is held up, and its record arrived.
			e.want(exitFrozen).warns("run "+run+" arrived, and its branch did not", "does not take forge/run-"+run+": Not allowed to push to protected branch", "forge push "+run)
		case e.code != exitFrozen: // after the first was through
			e.want(exitUsage)
		}
	}
	if worked != 1 {
		t.Errorf("%d machines worked on it:\n%s\n%s", worked, ends[0].stderr, ends[1].stderr)
	}
	g.Do(t, g.Tokens["owner"], http.MethodDelete, rules+"/**", nil, nil)
	one.forge("approve", run+".2", "--remote", "--resume").want(exitDone)
	reader.git("fetch", "--quiet", "origin", "forge/run-"+run)
	if got := reader.git("show", "FETCH_HEAD:out-01.txt"); got != "made by 01" {
		t.Errorf("what arrived is %q", got)
	}
	machine().forge("show", run+".2", "--remote").want(exitDone).says("approved by")
}
