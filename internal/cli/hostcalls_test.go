package cli

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// Who may write calls Forge by name in a comment on its pull request, and is heard
// once, however often and late that is read; of anybody else nothing follows, and
// nothing is said.
func TestCalledByNameOnAPullRequest(t *testing.T) {
	t.Parallel()
	g := hosttest.StartGitHub(t)
	w := hubAt(t, g, g.URL)
	w.plan(phase("01", "first", 4))
	w.forge("run").want(exitFrozen)
	see := w.eyes()
	own := func() (said []string) {
		t.Helper()
		for _, c := range w.pull(1).Comments {
			if c.Own && strings.Contains(c.Body, "Heard") || strings.Contains(c.Body, "Not done") || strings.Contains(c.Body, "It asks") {
				said = append(said, c.Body)
			}
		}
		return said
	}
	w.people.Say(t, "eve", 1, "/forge fix\n\nquieter")
	w.forge("resume").want(exitFrozen)
	if n := see.count()[work.IterationFinished]; n != 1 || len(own()) > 0 {
		t.Errorf("somebody who may not write called: %d iterations, %q", n, own())
	}

	w.people.Say(t, "ann", 1, "/forge fix\n\nlouder")
	for range 3 {
		w.forge("resume").want(exitFrozen)
	}
	if n := see.count()[work.IterationFinished]; n != 2 || len(own()) != 0 || g.Signs("louder") != 1 || g.Signs("quieter") != 0 {
		t.Errorf("a call to fix: %d iterations, %q, %d signs", n, own(), g.Signs("louder"))
	}
	if said := w.forge("logs", "01", "--prompt", "--iteration", "2").want(exitDone).stdout; !strings.Contains(said, "louder") || strings.Contains(said, "quieter") {
		t.Errorf("the agent was told:\n%s", said)
	}

	w.people.Say(t, "ann", 1, "/forge explain\n/forge budget 9")
	for range 2 {
		w.forge("resume").want(exitFrozen)
	}
	if said := own(); len(said) != 1 || !strings.Contains(said[0], "It asks") || !strings.Contains(said[0], "forge resume") {
		t.Errorf("it says %q", said)
	}
	w.people.Say(t, "ann", 1, "/forge stop")
	w.forge("resume").want(exitFailed)
	if n := see.count()[work.IterationFinished]; n != 2 {
		t.Errorf("%d iterations after it was stopped", n)
	}
}

// A level that is called for is the run's once, however often the comment is read
// and wherever Forge died meanwhile; an approval beside it does not swallow it.
func TestLevelIsCalledOnce(t *testing.T) {
	t.Parallel()
	g := hosttest.StartGitHub(t)
	proxy := hosttest.StartProxy(t, g.URL)
	w := hubAt(t, g, proxy.URL)
	w.plan(phase("01", "first", 4), phase("02", "second", 4, "01"))
	w.forge("run").want(exitFrozen)
	changes := func() int {
		t.Helper()
		return w.eyes().count()[work.PolicyChanged]
	}
	w.people.Say(t, "eve", 1, "/forge level guided")
	w.forge("resume").want(exitFrozen)
	if n := changes(); n != 0 {
		t.Errorf("%d changes by who may not write", n)
	}
	w.people.Say(t, "ann", 1, "/forge level guided")
	proxy.Misbehave(func(r *http.Request) hosttest.Fault {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/reactions") {
			return hosttest.Fault{Status: http.StatusBadGateway} // as if it died between the two
		}
		return hosttest.Fault{}
	})
	w.forge("resume")
	proxy.Misbehave(nil)
	for range 3 {
		w.forge("resume").want(exitFrozen)
	}
	if n := changes(); n != 1 {
		t.Errorf("%d changes for one call", n)
	}
	if n := g.Signs("level guided"); n != 1 {
		t.Errorf("%d signs that it was heard", n)
	}

	w.people.Say(t, "ann", 1, "/forge level review")
	w.people.Review(t, "ann", 1, w.pull(1).Head, work.PullApproved, "fine")
	w.forge("resume").want(exitFrozen)
	if n := changes(); n != 2 {
		t.Errorf("%d changes for two calls, the last beside an approval", n)
	}
}
