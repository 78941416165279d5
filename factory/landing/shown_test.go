package landing

import (
	"encoding/json"
	"testing"

	"forge/internal/work"
)

// The newest pages count, wherever a landing was proven; what shows none takes
// nothing away, and events of others are not read.
func TestShown(t *testing.T) {
	page := func(url string) []work.PageShown { return []work.PageShown{{URL: url}} }
	var events []work.Event
	say := func(kind work.EventKind, d any) {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, work.Event{Seq: int64(len(events) + 1), Kind: kind, Data: data})
	}
	holds := func(want string) {
		t.Helper()
		got, err := Shown(events)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && got != nil || want != "" && (len(got) != 1 || got[0].URL != want) {
			t.Errorf("after %d events: %+v, want %q", len(events), got, want)
		}
	}
	holds("")
	say(work.PhaseStarted, []string{"another shape"})
	say(work.LandingBegan, BeganData{Try: 1})
	say(work.LandingFinished, FinishedData{Step: StepLook, Look: &Look{}})
	holds("")
	say(work.LandingFinished, FinishedData{Step: StepProve, Proof: &Proof{Pages: page("proof")}})
	holds("proof")
	say(work.LandingFinished, FinishedData{Step: StepProbe, Probe: &Probe{Pages: page("probe")}})
	holds("probe")
	say(work.LandingBegan, BeganData{Try: 2})
	say(work.LandingFinished, FinishedData{Step: StepProve, Proof: &Proof{Commit: "c"}})
	holds("probe")
	say(work.LandingFinished, FinishedData{Step: StepCheck, Check: &Check{Pages: page("check")}})
	holds("check")
	events = append(events, work.Event{Seq: 99, Kind: work.LandingFinished, Data: []byte("{")})
	if _, err := Shown(events); err == nil {
		t.Error("what cannot be read was no error")
	}
}
