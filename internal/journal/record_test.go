package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// travelling is a run with everything that travels: events with odd data, a
// blob, an answered checkpoint whose answer is no event yet, a pending one,
// usage.
func travelling(t testing.TB, run string) (*Store, *Record) {
	t.Helper()
	s, l := openWithRun(t, run)
	blob, err := s.PutBlob(t.Context(), []byte("too long for an event"))
	if err != nil {
		t.Fatal(err)
	}
	usd, tokens := 0.25, int64(7)
	events := eventsOf(run, 1, 5)
	events[1].Data = json.RawMessage("{ \"html\": \"<b>&\u2028</b>\",\n\t\"raw\": \"\xff\" }")
	events[2].Data = json.RawMessage(`{"blob":"` + blob + `","none":"` + strings.Repeat("0", 64) + `"}`)
	events[3].Phase, events[3].Iteration, events[3].Attempt = "05.1", 2, 3
	appendTo(t, s, l, Append{
		Events: events, Open: []work.Checkpoint{checkpoint(run, run+".1", testTime), checkpoint(run, run+".2", testTime)},
		Status: &Status{Outcome: work.RunFrozen, Branch: "forge/run-" + run, CostUSD: &usd},
		Usage:  []UsageRow{{Run: run, Command: "c/1", Time: testTime, USD: &usd, Tokens: &tokens}, {Run: run, Command: "c/2", Time: testTime}},
		Begin:  []AttemptRow{{Run: run, Command: "c/1", Mark: "secret-mark", Started: testTime}},
	})
	if _, err := s.Answer(t.Context(), work.Answer{Checkpoint: run + ".1", Status: work.CheckpointApproved, By: "me", At: testTime}); err != nil {
		t.Fatal(err)
	}
	for n, line := range []string{`{"kind":"asked","by":"me","text":"why?"}`, `{"kind":"answered","of":1,"text":"because <b>"}`} {
		if err := s.AddTalk(t.Context(), run, int64(n), testTime, json.RawMessage(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := s.Export(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	r.Refs = map[string]string{"refs/forge/runs/" + run + "/head": strings.Repeat("a", 40)}
	return s, r
}

func filesOf(t testing.TB, r *Record) map[string][]byte {
	t.Helper()
	files, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRecordThereAndBack(t *testing.T) {
	t.Parallel()
	from, r := travelling(t, "260101-abcd")
	if len(r.Blobs) != 1 {
		t.Errorf("%d blobs are named, want 1", len(r.Blobs))
	}
	r.Holder = Holder{Claim: "c", Host: "ci", Since: testTime}
	files := filesOf(t, r)
	for name, data := range files {
		if bytes.Contains(data, []byte("secret-mark")) {
			t.Errorf("%s names a process of this machine", name)
		}
	}
	back, err := ParseRecord(r.Run, files)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(filesOf(t, back), files) || back.Holder != r.Holder || !reflect.DeepEqual(back.Refs, r.Refs) {
		t.Error("the record that was read is not the one that was written")
	}

	to := openIn(t, t.TempDir())
	note := Travel{Remote: "origin", Tip: "tip"}
	for range 2 { // twice is once
		if err := to.Import(t.Context(), back, &note); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok, err := to.TravelOf(t.Context(), r.Run); err != nil || !ok || got != note {
		t.Errorf("noted %+v, %v, %v; want %+v", got, ok, err, note)
	}
	if err := to.DropTravel(t.Context(), r.Run); err != nil {
		t.Fatal(err)
	}
	for store, want := range map[*Store]bool{from: false, to: true} {
		if came, err := store.Came(t.Context(), r.Run); err != nil || came != want {
			t.Errorf("it came from elsewhere: %v, %v; want %v", came, err, want)
		}
	}
	again, err := to.Export(t.Context(), r.Run)
	if err != nil {
		t.Fatal(err)
	}
	again.Refs, again.Holder = r.Refs, r.Holder
	if !reflect.DeepEqual(filesOf(t, again), files) {
		t.Error("the run that was taken over is not the one that was sent")
	}
	if talk, err := to.Talk(t.Context(), r.Run); err != nil || len(talk) != 2 || string(talk[1].Data) != `{"kind":"answered","of":1,"text":"because \u003cb\u003e"}` {
		t.Errorf("what was said there: %v, %v", talk, err)
	}
	count, head, err := from.Head(t.Context(), r.Run)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.CheckAnchor(t.Context(), r.Run, count, head); err != nil {
		t.Error(err)
	}
	row, err := to.RunOf(t.Context(), r.Run)
	if err != nil || row.Outcome != work.RunFrozen || row.Alive || *row.CostUSD != 0.25 {
		t.Errorf("listed as %+v, %v", row, err)
	}
	usd, _, unknown, err := to.DayUsage(t.Context(), "2026-03-04")
	if err != nil || usd != 0.25 || unknown != 1 {
		t.Errorf("the day's cost is %v with %d unknown, %v", usd, unknown, err)
	}
}

// Each is refused with what is wrong, and nothing of it can be used.
func TestRecordTampered(t *testing.T) {
	t.Parallel()
	_, good := travelling(t, "260101-abcd")
	_, other := travelling(t, "260102-wxyz")
	swap := func(file, was, is string) func(map[string][]byte) {
		return func(f map[string][]byte) {
			if !bytes.Contains(f[file], []byte(was)) {
				panic(fmt.Sprintf("%s has no %q", file, was))
			}
			f[file] = bytes.Replace(f[file], []byte(was), []byte(is), 1)
		}
	}
	blob := ""
	for sha := range good.Blobs {
		blob = "blobs/" + sha
	}
	lastEvent := func(f map[string][]byte) int { return bytes.LastIndex(f["events"], []byte(`{"v":`)) }
	for _, c := range []struct {
		name   string
		tamper func(f map[string][]byte)
		want   string
	}{
		{"a byte of an event's data", swap("events", `"html"`, `"htmk"`), "event 2: it or one before it was changed"},
		{"a byte of an event's time", swap("events", "T05:06:07", "T05:06:08"), "event 1: it or one before it was changed"},
		{"a hash too", swap("events", `"hash":"`, `"hash":"0`), "event 1: it or one before it was changed"},
		{"the last event cut", func(f map[string][]byte) { f["events"] = f["events"][:lastEvent(f)] }, "its end was cut off"},
		{"the last event torn", func(f map[string][]byte) { f["events"] = f["events"][:len(f["events"])-3] }, "event 5: its data is cut"},
		{"an event taken out", func(f map[string][]byte) {
			rest := f["events"]
			first := bytes.Index(rest[1:], []byte(`{"v":`)) + 1
			f["events"] = rest[first:]
		}, "event 1: it is missing; the next one is 2"},
		{"no events", func(f map[string][]byte) { f["events"] = nil }, "its end was cut off"},
		{"events of another run", func(f map[string][]byte) { f["events"] = filesOf(t, other)["events"] }, "event 1: it or one before it was changed"},
		{"another run as a whole", func(f map[string][]byte) { clear(f); maps.Copy(f, filesOf(t, other)) }, "it is of another run"},
		{"a blob replaced", func(f map[string][]byte) { f[blob] = []byte("something else") }, "is not what its name says"},
		{"a blob gone", func(f map[string][]byte) { delete(f, blob) }, "is missing"},
		{"a file more", func(f map[string][]byte) { f["../../etc/passwd"] = nil }, "belongs to no record"},
		{"a file less", func(f map[string][]byte) { delete(f, "inbox.json") }, "inbox.json is missing"},
		{"no JSON", func(f map[string][]byte) { f["checkpoints.json"] = []byte("[") }, "checkpoints.json cannot be read"},
		{"a foreign checkpoint", swap("checkpoints.json", "260101-abcd.1", "260102-wxyz.1"), "is of another run"},
		{"a checkpoint's id", swap("checkpoints.json", "260101-abcd.1", "260101-abcd.\\u001b[1m"), "is of another run"},
		{"a checkpoint twice", swap("checkpoints.json", "260101-abcd.2", "260101-abcd.1"), "in it twice"},
		{"a status", swap("checkpoints.json", `"pending"`, `"nobody"`), "which is no status"},
		{"an answer turned round", swap("inbox.json", `"approved"`, `"rejected"`), "is not the one that the checkpoint has"},
		{"a cost", swap("usage.json", "0.25", "-1"), "is not an amount"},
		{"a claim without a name", swap("record.json", `"holder": {`, `"holder": {"host": "x"}, "x": {`), "who works on the run"},
		{"a version before all", swap("record.json", `"v": 1`, `"v": 0`), "it has version 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := *good
			r.Holder = Holder{Claim: "c", Host: "h", Since: testTime}
			files := filesOf(t, &r)
			c.tamper(files)
			got, err := ParseRecord("260101-abcd", files)
			wantError(t, err, ErrBroken)
			if got != nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	files := filesOf(t, good)
	swap("record.json", `"v": 1`, `"v": 2`)(files)
	_, err := ParseRecord(good.Run, files)
	wantError(t, err, ErrNewer)
}

func FuzzParseRecord(f *testing.F) {
	_, r := travelling(f, "260101-abcd")
	files, err := r.Files()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(files["events"], files["record.json"])
	f.Add([]byte("{\"v\":1,\"bytes\":-1}\n"), []byte("{}"))
	f.Fuzz(func(t *testing.T, events, manifest []byte) {
		changed := maps.Clone(files)
		changed["events"], changed["record.json"] = events, manifest
		got, err := ParseRecord("260101-abcd", changed)
		if err == nil && !bytes.Equal(filesOf(t, got)["events"], files["events"]) && got.Head() == r.Head() {
			t.Error("another history under the same head")
		}
	})
}

// A copy is brought up to what came, and never loses what it alone has.
func TestImportGrows(t *testing.T) {
	t.Parallel()
	s, old := travelling(t, "260101-abcd")
	l, err := s.AcquireRun(t.Context(), old.Run, Self())
	if err != nil {
		t.Fatal(err)
	}
	wantErr := func(err error, want any) {
		t.Helper()
		if !errors.As(err, want) {
			t.Errorf("got %v, want %T", err, want)
		}
	}
	var held *LeaseError
	wantErr(s.Import(t.Context(), old, nil), &held)
	inbox, err := s.Inbox(t.Context(), old.Run)
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, l, Append{Events: eventsOf(old.Run, 6, 8), Consume: []int64{inbox[0].ID}})
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	grown, err := s.Export(t.Context(), old.Run)
	if err != nil {
		t.Fatal(err)
	}

	other := openIn(t, t.TempDir())
	for _, r := range []*Record{old, grown} {
		if err := other.Import(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := other.Inbox(t.Context(), old.Run)
	if err != nil || len(rows) != 0 {
		t.Errorf("an answer that became an event is in the inbox again: %v, %v", rows, err)
	}
	var ahead *AheadError
	err = other.Import(t.Context(), old, &Travel{Remote: "origin"})
	wantErr(err, &ahead)
	if ahead.Seq != 5 || ahead.Here != 8 || ahead.Came != 5 {
		t.Errorf("got %+v", ahead)
	}
	if _, ok, err := other.TravelOf(t.Context(), old.Run); ok || err != nil {
		t.Errorf("a refused record left a note: %v, %v", ok, err)
	}
	fork := *old
	fork.Events = append(eventsOf(old.Run, 1, 2), old.Events[2:]...)
	wantErr(openIn(t, s.dir).Import(t.Context(), &fork, nil), &ahead)
	if ahead.Seq != 1 {
		t.Errorf("they part after %d, want 1", ahead.Seq)
	}
	// An event that this program cannot read is not taken over.
	strange := *grown
	strange.Events = append(grown.Events[:7:7], work.Event{V: work.EventVersion + 1, Seq: 8, Time: testTime, Run: old.Run, Kind: work.Warned, Data: []byte("1")})
	var damaged *DamagedError
	fresh := openIn(t, t.TempDir())
	wantErr(fresh.Import(t.Context(), &strange, nil), &damaged)
	if runs, err := fresh.Runs(t.Context()); err != nil || len(runs) != 0 {
		t.Errorf("a refused run is listed: %v, %v", runs, err)
	}
}

// A run that is at a remote and not claimed takes nothing from this machine.
func TestAwayTakesNothing(t *testing.T) {
	t.Parallel()
	s, r := travelling(t, "260101-abcd")
	note := Travel{Remote: "origin", Tip: "tip"}
	if err := s.SetTravel(t.Context(), r.Run, note); err != nil {
		t.Fatal(err)
	}
	id, now := r.Run+".2", time.Now()
	doors := map[string]func() error{
		"lease": func() error { _, err := s.AcquireRun(t.Context(), r.Run, Self()); return err },
		"answer": func() error {
			_, err := s.Answer(t.Context(), work.Answer{Checkpoint: id, Status: work.CheckpointApproved, At: now})
			return err
		},
		"file": func() error {
			_, err := s.JudgeFiles(t.Context(), id, 1, []work.FileVerdict{{Path: "a", Status: work.CheckpointApproved, At: now}}, now)
			return err
		},
		"comment": func() error {
			_, err := s.CommentLine(t.Context(), id, 1, work.LineComment{Path: "a", Line: 1, Body: "x", By: "me", At: now}, now)
			return err
		},
		"level": func() error { return s.Tell(t.Context(), r.Run, work.Answer{At: now, Policy: []byte("{}")}) },
	}
	for name, knock := range doors {
		var away *AwayError
		if err := knock(); !errors.As(err, &away) || away.Remote != "origin" || away.Run != r.Run {
			t.Errorf("%s: got %v, want an AwayError", name, err)
		}
	}
	note.Here = true
	if err := s.SetTravel(t.Context(), r.Run, note); err != nil {
		t.Fatal(err)
	}
	for name, knock := range doors {
		if err := knock(); errors.Is(err, ErrAway) {
			t.Errorf("%s: claimed, and refused: %v", name, err)
		}
	}
	if err := s.DropTravel(t.Context(), r.Run); err != nil {
		t.Fatal(err)
	}
	_, ok, err := s.TravelOf(t.Context(), r.Run)
	if ok || err != nil {
		t.Errorf("forgotten, and at a remote: %v, %v", ok, err)
	}
}

// A record takes an answer as a journal does.
func TestRecordAnswer(t *testing.T) {
	t.Parallel()
	_, r := travelling(t, "260101-abcd")
	for _, c := range []struct {
		answer work.Answer
		want   error
	}{
		{work.Answer{Checkpoint: "nobody", Status: work.CheckpointApproved, At: testTime}, work.ErrUnknown},
		{work.Answer{Checkpoint: r.Run + ".1", Status: work.CheckpointRejected, At: testTime}, work.ErrAlreadyResolved},
		{work.Answer{Checkpoint: r.Run + ".2", Revision: 7, Status: work.CheckpointApproved, At: testTime}, work.ErrConflict},
		{work.Answer{Checkpoint: r.Run + ".2", Status: work.CheckpointChangesRequested, At: testTime}, work.ErrEmptyFeedback},
		{work.Answer{Checkpoint: r.Run + ".2", Status: work.CheckpointApproved, By: "me", At: testTime}, nil},
		{work.Answer{Checkpoint: r.Run + ".2", Status: work.CheckpointApproved, By: "me", At: testTime}, work.ErrAlreadyResolved},
	} {
		if _, err := r.Answer(c.answer); !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.answer, err, c.want)
		}
	}
	if len(r.Inbox) != 2 || r.Inbox[1].Revision != 1 {
		t.Errorf("the inbox is %+v", r.Inbox)
	}
	if _, err := ParseRecord(r.Run, filesOf(t, r)); err != nil {
		t.Error(err)
	}
}
