package setup

import (
	"strings"
	"testing"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/work"
)

// What is missing is a step of what to do next, and is said once.
func TestNextBeginsWithWhatIsMissing(t *testing.T) {
	var said strings.Builder
	i := &Telling{Setup: &Setup{}, Out: &said}
	i.Base.Commit, i.Agent.Name, i.Agent.Kind = "c", "claude", "claude"
	i.Agent.Found = agent.Detection{Found: true, LoggedIn: agent.LoginNo, Why: "claude is not logged in: run claude and log in, or set KEY"}
	i.SayAgent()
	i.SayNoVerify()
	i.SayNext(nil)

	got := said.String()
	for _, want := range []string{"1. log in  ", "2. edit " + config.ProjectFile + "  [verify] commands", "run claude and log in, or set KEY"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "not logged in"); n != 1 {
		t.Errorf("it says %d times that nobody is logged in:\n%s", n, got)
	}

	said.Reset()
	i.noVerify, i.Agent.Found = false, agent.Detection{Found: true, LoggedIn: agent.LoginYes}
	i.Settings.Verify = work.VerifySettings{None: true}
	i.SayNothing()
	i.SayNext(nil)
	if got := said.String(); !strings.Contains(got, "1. forge list") {
		t.Errorf("nothing is missing, and a step says so:\n%s", got)
	}
}
