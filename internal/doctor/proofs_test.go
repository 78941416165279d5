package doctor

import (
	"encoding/json"
	"testing"
	"time"

	"forge/internal/work"
)

// TestProofTimes: of each kind the last proof of a base that really ran, runs
// being given from the last to the first.
func TestProofTimes(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }
	event := func(run string, at time.Time, d work.VerifyFinishedData) work.Event {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return work.Event{Kind: work.VerifyFinished, Run: run, Time: at, Data: data}
	}
	base := func(millis int64, cold bool) work.VerifyFinishedData {
		return work.VerifyFinishedData{On: work.OnBase, OK: true, Millis: millis, Time: &work.ProofTime{Cold: cold}}
	}
	red, before, own := base(1, false), base(1, false), base(1, false)
	red.OK, before.Before, own.On = false, &work.ProvenBefore{}, work.OnSnapshot

	var none proofTimes
	none.note([]work.Event{event("r4", day(4), red), event("r4", day(4), before), event("r4", day(4), own)})
	if got := none.say(); got != "" {
		t.Errorf("of no proof it says %q", got)
	}

	times := none
	times.note([]work.Event{event("r3", day(3), base(900, false)), event("r3", day(3), base(1200, false))})
	times.note([]work.Event{event("r2", day(2), base(5000, false)), event("r2", day(2), base(44600, true))})
	times.note([]work.Event{event("r1", day(1), base(70000, true))})
	want := "45 s cold, with empty caches (run r2, 2026-01-02); 1.2 s warm (run r3, 2026-01-03)"
	if got := times.say(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
