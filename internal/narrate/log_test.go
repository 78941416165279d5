package narrate

import (
	"encoding/json"
	"strings"
	"testing"

	"charm.land/log/v2"

	"forge/internal/work"
)

// The proof of a base is said as it begins, with why it takes long; what goes on
// in a phase only to those who want to be told everything.
func TestActivityOfTheBase(t *testing.T) {
	var out strings.Builder
	w := &LogWatcher{Log: log.New(&out)}
	said := func(all ...work.Activity) string {
		out.Reset()
		for _, a := range all {
			w.Activity(a)
		}
		return out.String()
	}
	cold, base := work.Activity{Phase: work.BasePhase, Kind: work.ActivityCold, Text: "with empty caches"}, work.Activity{Phase: work.BasePhase, Kind: "verify", Text: "go test ./..."}

	if got, want := said(cold, base), `INFO  proving the base command="go test ./..." caches="empty: later proofs are lent what this one leaves"`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := said(base), `INFO  proving the base command="go test ./..."`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	raw, _ := json.Marshal(work.VerifyStartedData{On: work.OnWarm})
	w.Events([]work.Event{{Kind: work.VerifyStarted, Data: raw}}, nil)
	if got, want := said(base), `INFO  filling the caches of the project's tools command="go test ./..."`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w.warms = false
	if got, want := said(work.Activity{Phase: work.BasePhase, Kind: "setup", Text: "npm ci"}), `INFO  setting the base up command="npm ci"`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := said(work.Activity{Kind: "verify", Phase: "01", Text: "go test ./..."}); got != "" {
		t.Errorf("of a phase it says %q", got)
	}
}
