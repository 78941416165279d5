package runs

import (
	"encoding/json"
	"testing"
	"time"

	"forge/internal/work"
)

// TestRecordsThatTheJournalDoesNotBearOut: a record is believed for the event of
// a run of the commands that was green, and for no other.
func TestRecordsThatTheJournalDoesNotBearOut(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	green := work.ProvenBefore{Key: "k", Tree: "t", Run: "r", Command: "c", At: at}
	event := func(kind work.EventKind, d any) work.Event {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return work.Event{Kind: kind, Time: at, Data: data}
	}
	verified := func(change func(d *work.VerifyFinishedData)) work.Event {
		d := work.VerifyFinishedData{ID: "c", OK: true, Key: "k", Tree: "t"}
		change(&d)
		return event(work.VerifyFinished, d)
	}
	same := verified(func(*work.VerifyFinishedData) {})
	late := same
	late.Time = at.Add(time.Second)
	for name, test := range map[string]struct {
		evs  []work.Event
		want bool
	}{
		"its event":                    {[]work.Event{same}, true},
		"no event":                     {nil, false},
		"at another time":              {[]work.Event{late}, false},
		"of another command":           {[]work.Event{verified(func(d *work.VerifyFinishedData) { d.ID = "x" })}, false},
		"of another tree":              {[]work.Event{verified(func(d *work.VerifyFinishedData) { d.Tree = "x" })}, false},
		"of another key":               {[]work.Event{verified(func(d *work.VerifyFinishedData) { d.Key = "x" })}, false},
		"red":                          {[]work.Event{verified(func(d *work.VerifyFinishedData) { d.OK = false })}, false},
		"red later":                    {[]work.Event{same, verified(func(d *work.VerifyFinishedData) { d.ID, d.OK = "x", false })}, false},
		"one that did not run itself":  {[]work.Event{verified(func(d *work.VerifyFinishedData) { d.Before = &green })}, false},
		"refuted by the test runners":  {[]work.Event{same, event(work.ControlFinished, work.ControlFinishedData{Refutes: "k"})}, false},
		"test runners refuted another": {[]work.Event{same, event(work.ControlFinished, work.ControlFinishedData{Refutes: "x"})}, true},
		"an event that cannot be read": {[]work.Event{same, {Kind: work.VerifyFinished, Data: []byte("{")}}, false},
	} {
		if got := bearsOut(test.evs, green); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
