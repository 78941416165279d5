package project

import (
	"errors"
	"fmt"
	"testing"

	"forge/internal/agent"
	"forge/internal/journal"
	"forge/internal/work"
)

// What an agent lacks is said once, with the way out.
func TestLacks(t *testing.T) {
	tests := []struct {
		about string
		set   work.AgentSettings
		found agent.Detection
		want  []string
	}{
		{"nothing", work.AgentSettings{Name: "claude", Kind: "claude"}, agent.Detection{Found: true, LoggedIn: agent.LoginYes}, nil},
		{
			"not there", work.AgentSettings{Name: "claude", Kind: "claude"}, agent.Detection{Why: "/opt/claude is not installed: see the page"},
			[]string{`agent "claude" is not installed: see the page (install it, or name another in [agent] use)`},
		},
		{
			"not logged in", work.AgentSettings{Name: "c", Kind: "claude"}, agent.Detection{Found: true, LoggedIn: agent.LoginNo, Why: "claude is not logged in: run claude and log in"},
			[]string{`agent "c" is not logged in: run claude and log in`},
		},
		{
			"a script with two mistakes", work.AgentSettings{Name: "dry", Kind: "script"}, agent.Detection{Why: "a.toml:1: one\na.toml:2: two\n"},
			[]string{`agent "dry" cannot be used: a.toml:1: one (correct its script)`, `agent "dry" cannot be used: a.toml:2: two (correct its script)`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			var got []string
			for _, p := range Lacks(tt.set, tt.found) {
				got = append(got, p.String())
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOfProject(t *testing.T) {
	for command, want := range map[string]bool{"./agent.sh": true, "tools/agent": true, "/opt/agent": false, "agent": false} {
		if got := OfProject(work.AgentSettings{Kind: "exec", Command: []string{command}}); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// A run that another process holds is refused in one sentence that is true
// where it is read.
func TestHeld(t *testing.T) {
	own := &journal.LeaseError{Run: "r", Owner: "x", PID: 7, Host: journal.Self().Host}
	other := &journal.LeaseError{Run: "r", Owner: "x", PID: 7, Host: "elsewhere"}
	plain := errors.New("plain")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("acquire run r: %w", own), "run r is being driven by process 7 (wait for it, or stop it)"},
		{other, "run r is being driven by process 7 on elsewhere (stop it there; when it has been silent for 30s, the run can be taken over)"},
		{plain, "plain"},
	} {
		if got := Held(tt.err).Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
