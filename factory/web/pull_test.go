package web

import (
	"testing"

	"forge/orchestrator"
)

// A pull request is linked where its address leads to the configured host.
func TestPullRequestsAreLinkedToTheirHostAlone(t *testing.T) {
	const host = "https://git.example.com/forge"
	for address, linked := range map[string]bool{
		"https://git.example.com/forge/o/r/pulls/7": true, "https://GIT.example.com/forge/o/r/pulls/7": true,
		"http://git.example.com/forge/o/r/pulls/7": false, "https://git.example.com/other/pulls/7": false, "https://git.example.com/forge/../x": false,
		"https://git.example.com.evil.example/forge/7": false, "https://evil.example/forge/7": false, "https://git.example.com@evil.example/forge/7": false,
		"https://user@git.example.com/forge/7": false, "javascript:alert(1)": false, "data:text/html,x": false, "//git.example.com/forge/7": false,
		"/forge/7": false, "https://git.example.com:8443/forge/7": false, "ftp://git.example.com/forge/7": false,
	} {
		if got := viewPull(7, address, host); got == nil || got.Number != 7 || (got.URL == address) != linked {
			t.Errorf("%s: %+v, want it linked: %v", address, got, linked)
		}
	}
	if got := viewPull(7, "https://git.example.com/forge/7", ""); got.URL != "" {
		t.Error("linked without a host")
	}
	p := &orchestrator.View{Number: "01", Publishing: orchestrator.Publishing{Pull: &orchestrator.Pull{Number: 7, URL: "http://localhost:3000/o/r/pulls/7"}}}
	if v := viewPhase(p, "http://localhost:3000", true); v.Pull == nil || v.Pull.URL == "" {
		t.Errorf("the phase shows %+v", v.Pull)
	}
	if p.Pull.Number = 0; viewPhase(p, "http://localhost:3000", true).Pull != nil {
		t.Error("one that there is not is shown")
	}
}
