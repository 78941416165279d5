package agent

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"forge/internal/agent/agenttest"
	"forge/internal/proc"
	"forge/internal/work"
)

// An agent whose network is bounded to hosts reaches those, and what it asked for
// is in the report.
func TestInASandboxWithHosts(t *testing.T) {
	agents := newAgents(t)
	if !agents.config.Caps.Bubblewrap {
		if os.Getenv("FORGE_TEST_REQUIRE_SANDBOX") != "" {
			t.Fatal("bubblewrap is required")
		}
		t.Skip("not on this machine")
	}
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("bash speaks to the proxy here")
	}
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("reached")) }))
	defer server.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(host string) string {
		return "bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128; printf \"GET http://" + host + "/ HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3' >>said 2>&1; true"
	}
	dir := t.TempDir()
	settings := execHarness(agents).Prepare(t, dir, agenttest.Step{Tool: ask("127.0.0.1:" + port)}, agenttest.Step{Tool: ask("evil.example")},
		agenttest.Step{Tool: "bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + port + "' && echo straight >>said; true"})
	r, err := agents.Iterate(t.Context(), work.IterationRequest{
		Run: "r", Phase: "01", Iteration: 1, Attempt: 1, Agent: settings, Permission: work.PermissionStandard, Dir: dir, Mark: "hosts",
		Sandbox: work.SandboxSettings{Mode: "auto", OnlyHosts: true, Hosts: []string{"127.0.0.1:" + port}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	said, _ := os.ReadFile(dir + "/said")
	if got := string(said); !strings.Contains(got, "reached") || !strings.Contains(got, "403 Forbidden") || strings.Contains(got, "straight") {
		t.Errorf("the agent heard %q", got)
	}
	if len(r.Network) != 2 || r.Network[0].Host != "evil.example:80" || r.Network[0].Refused != 1 || r.Network[1].Opened != 1 || r.Network[1].Got == 0 {
		t.Errorf("network %+v", r.Network)
	}

	// Without bubblewrap nothing is started.
	landlock := New(Config{Environ: agents.config.Environ, Caps: proc.Capabilities{Landlock: true}})
	if _, err := landlock.Iterate(t.Context(), work.IterationRequest{
		Run: "r", Phase: "01", Iteration: 1, Attempt: 1, Agent: settings, Permission: work.PermissionStandard, Dir: dir, Mark: "hosts-not",
		Sandbox: work.SandboxSettings{Mode: "auto", OnlyHosts: true},
	}, nil); err == nil || !strings.Contains(err.Error(), "only bubblewrap can hold to") {
		t.Errorf("error %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	got := endpointsOf("claude", []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:8080/v1", "OTHER_BASE_URL=https://llm.example.com", "X_ENDPOINT=not an address", "URL=https://evil.example"})
	for _, want := range []string{"api.anthropic.com:443", "127.0.0.1:8080", "llm.example.com:443"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "evil") || strings.Contains(s, "not an") }) {
		t.Errorf("%q", got)
	}
}
