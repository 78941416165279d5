package cli

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// planScript is an agent that plans a job and does nothing of it.
const planScript = `[[step]]
do = [{run = '''for i in 1 2 3 4 5; do echo "- {title: number $i, done: false}"; done >forge-job/todos.yaml; echo plan >forge-job/plan.md'''}, {print = "<promise>phase ${FORGE_PHASE} of job ${FORGE_RUN} is done</promise>"}]
`

// What is cancelled or aborted closes its pull requests; where the host is away
// it ends all the same, and says what it left.
func TestEndingClosesPullRequests(t *testing.T) {
	t.Parallel()
	away := func(t *testing.T) (*pullWorld, func()) {
		g := hosttest.StartGitHub(t)
		proxy := hosttest.StartProxy(t, g.URL)
		return hubAt(t, g, proxy.URL), func() {
			proxy.Misbehave(func(*http.Request) hosttest.Fault { return hosttest.Fault{Status: http.StatusBadGateway} })
		}
	}
	job := func(t *testing.T, w *pullWorld) string {
		w.write(".forge/agent.toml", planScript)
		w.forge("job", "start", "-d", "Count.", "--level", "partial").want(exitFrozen)
		_, id := w.asked(1)
		return runOfCheckpoint(id)
	}
	t.Run("Job", func(t *testing.T) {
		t.Parallel()
		w := fakeHub(t)
		id := job(t, w)
		w.forge("job", "cancel", id, "-m", "not needed").want(exitDone).says("cancelled")
		look := w.pull(1)
		if !strings.Contains(look.Body, "## Why\n\n> Count.") {
			t.Errorf("the text does not say what the job is:\n%s", look.Body)
		}
		if n := len(look.Comments); look.State != work.PullClosed || n != 1 || !strings.Contains(look.Comments[n-1].Body, "not needed") {
			t.Errorf("%+v, %+v", look.PullRequest, look.Comments)
		}
		w.forge("job", "cancel", id).want(exitUsage)
	})
	t.Run("JobAndTheHostIsAway", func(t *testing.T) {
		pace.Slow(t, "a host that fails is asked again, with pauses")
		t.Parallel()
		w, leave := away(t)
		id := job(t, w)
		leave()
		w.forge("job", "cancel", id).want(exitDone).says("cancelled", "Phase 1 left a pull request that may be open still").warns("its pull request may be open still", "502")
		w.forge("job", "show", id).want(exitDone).says("cancelled")
		w.forge("status", id).want(exitDone).says("left a pull request that may be open still")
	})
	t.Run("RunAndTheHostIsAway", func(t *testing.T) {
		pace.Slow(t, "a host that fails is asked again, with pauses")
		t.Parallel()
		w, leave := away(t)
		w.forge("run").want(exitFrozen)
		_, id := w.asked(1)
		leave()
		w.forge("reject", id, "--choice", "abort", "--resume").want(exitFailed).warns("its pull request may be open still", "502")
		w.forge("status").want(exitDone).says("cancelled", "Phase 01 left a pull request that may be open still")
	})
}
