package journal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// The encoding under the hash is a format: a journal of today must verify
// with every later Forge.
func TestLinkIsAFormat(t *testing.T) {
	e := work.Event{
		V: 1, Seq: 7, Time: testTime, Run: "run", Kind: work.IterationFinished, Phase: "05.1", Iteration: 300, Attempt: 2,
		Data: []byte(`{"a": "é"}`),
	}
	if got, want := Root("run").String(), "acba25512100f80b56fc3ccd14c65be55d94800cda77585c5f41a887e398f9be"; got != want {
		t.Errorf("root is %s, want %s", got, want)
	}
	if got, want := Link(Root("run"), e).String(), "e608f1aa7c246de7d93ddc7b2234ba708bf5c8ccb963a788beb291d7e80b7194"; got != want {
		t.Errorf("link is %s, want %s", got, want)
	}
	e.Time = e.Time.In(time.FixedZone("", 3600))
	if got, want := Link(Root("run"), e).String(), "e608f1aa7c246de7d93ddc7b2234ba708bf5c8ccb963a788beb291d7e80b7194"; got != want {
		t.Errorf("in another zone it is %s, want %s", got, want)
	}
}

func TestLinkCoversEverything(t *testing.T) {
	base := work.Event{V: 1, Seq: 1, Time: testTime, Run: "run", Kind: "kind", Phase: "p", Iteration: 1, Attempt: 1, Data: []byte("1")}
	seen := map[Hash]string{Link(Root("run"), base): "base", Link(Root("nur"), base): "prev"}
	for name, change := range map[string]func(*work.Event){
		"v":         func(e *work.Event) { e.V = 2 },
		"seq":       func(e *work.Event) { e.Seq = 2 },
		"time":      func(e *work.Event) { e.Time = e.Time.Add(1) },
		"run":       func(e *work.Event) { e.Run = "ru" },
		"kind":      func(e *work.Event) { e.Kind = "kin" },
		"phase":     func(e *work.Event) { e.Phase = "" },
		"iteration": func(e *work.Event) { e.Iteration = -1 },
		"attempt":   func(e *work.Event) { e.Attempt = 2 },
		"data":      func(e *work.Event) { e.Data = []byte("2") },
		// Moving a letter over a border between two fields.
		"run|kind":   func(e *work.Event) { e.Run, e.Kind = "runk", "ind" },
		"kind|phase": func(e *work.Event) { e.Kind, e.Phase = "kindp", "" },
		"phase|data": func(e *work.Event) { e.Phase, e.Data = "p1", nil },
	} {
		e := base
		change(&e)
		h := Link(Root("run"), e)
		if other, ok := seen[h]; ok {
			t.Errorf("%s hashes like %s", name, other)
		}
		seen[h] = name
	}
}

func FuzzLink(f *testing.F) {
	f.Add("run", "kind", "05", []byte("{}"), "run", "kin", "d05", []byte("{}"))
	f.Fuzz(func(t *testing.T, runA, kindA, phaseA string, dataA []byte, runB, kindB, phaseB string, dataB []byte) {
		a := work.Event{V: 1, Seq: 1, Time: testTime, Run: runA, Kind: work.EventKind(kindA), Phase: phaseA, Data: dataA}
		b := work.Event{V: 1, Seq: 1, Time: testTime, Run: runB, Kind: work.EventKind(kindB), Phase: phaseB, Data: dataB}
		same := runA == runB && kindA == kindB && phaseA == phaseB && string(dataA) == string(dataB)
		if (Link(Hash{}, a) == Link(Hash{}, b)) != same {
			t.Errorf("%+v and %+v: the same: %v", a, b, same)
		}
	})
}

func TestEventsAreAppendOnly(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	appendTo(t, s, create(t, s, "run"), Append{Events: eventsOf("run", 1, 2)})
	for _, statement := range []string{
		`UPDATE events SET data = '{}'`,
		`DELETE FROM events`,
		`INSERT OR REPLACE INTO events SELECT id, time, kind, v, phase, iteration, attempt, '{}', hash FROM events`,
	} {
		_, err := s.durable.conn.ExecContext(t.Context(), statement)
		if err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: got error %v", statement, err)
		}
	}
	if events, err := s.Events(t.Context(), "run", 0); err != nil || len(events) != 2 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// Whatever is changed behind Forge's back is found, at the event where it is.
func TestTampering(t *testing.T) {
	at5 := fmt.Sprintf(" WHERE id = %d", eventID(1, 5))
	tests := []struct {
		name, statement string
		seq             int64
		what            string
	}{
		{"time", `UPDATE events SET time = time + 1` + at5, 5, "hash"},
		{"kind", `UPDATE events SET kind = 'gate.decided'` + at5, 5, "hash"},
		{"version", `UPDATE events SET v = 0` + at5, 5, "hash"},
		{"phase", `UPDATE events SET phase = '06'` + at5, 5, "hash"},
		{"iteration", `UPDATE events SET iteration = 2` + at5, 5, "hash"},
		{"attempt", `UPDATE events SET attempt = 2` + at5, 5, "hash"},
		{"data", `UPDATE events SET data = '{"n":2}'` + at5, 5, "hash"},
		{"spelling of data", `UPDATE events SET data = '{"n": 1}'` + at5, 5, "hash"},
		{"hash", `UPDATE events SET hash = zeroblob(32)` + at5, 5, "hash"},
		{"short hash", `UPDATE events SET hash = x'00'` + at5, 5, "hash"},
		{"gap", `DELETE FROM events` + at5, 5, "missing"},
		{"head cut", fmt.Sprintf(`DELETE FROM events WHERE id <= %d`, eventID(1, 5)), 1, "missing"},
		{"swapped", fmt.Sprintf(`UPDATE events SET id = 0 WHERE id = %[1]d; UPDATE events SET id = %[1]d WHERE id = %[2]d; UPDATE events SET id = %[2]d WHERE id = 0`,
			eventID(1, 5), eventID(1, 6)), 5, "hash"},
		{"run renamed", `UPDATE runs SET id = 'run2' WHERE n = 1`, 1, "hash"},
		{"of another run", fmt.Sprintf(`INSERT INTO events SELECT %d, time, kind, v, phase, iteration, attempt, data, hash FROM events WHERE id = %d`,
			eventID(1, 11), eventID(2, 1)), 11, "hash"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			s := openIn(t, dir)
			appendTo(t, s, create(t, s, "run"), Append{Events: eventsOf("run", 1, 10)})
			appendTo(t, s, create(t, s, "other"), Append{Events: eventsOf("other", 1, 1)})
			shell(t, dir, dropTriggers, test.statement)
			run := "run"
			if test.name == "run renamed" {
				run = "run2"
			}
			events, err := s.Events(t.Context(), run, 0)
			var broken *BrokenError
			if !errors.As(err, &broken) || !errors.Is(err, ErrBroken) || events != nil {
				t.Fatalf("%d events, error %v", len(events), err)
			}
			if broken.Run != run || broken.Seq != test.seq || !strings.Contains(broken.What, test.what) {
				t.Errorf("got %+v, want event %d: %s", broken, test.seq, test.what)
			}
			for _, says := range []string{s.path, "run " + run, fmt.Sprint("event ", test.seq), "restore"} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
			// Replay gives what is whole before it.
			good := int64(0)
			for _, err := range s.Replay(t.Context(), run, 0) {
				if err == nil {
					good++
				}
			}
			if good != test.seq-1 {
				t.Errorf("%d events before the broken one, want %d", good, test.seq-1)
			}
		})
	}
}

func TestCutTail(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	l := create(t, s, "run")
	_, root, err := s.Head(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, l, Append{Events: eventsOf("run", 1, 7)})
	_, head7, err := s.Head(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, l, Append{Events: eventsOf("run", 8, 9)})
	anchor := func(count int64, head string) error { return s.CheckAnchor(t.Context(), "run", count, head) }
	if err := errors.Join(anchor(7, head7), anchor(0, root)); err != nil {
		t.Errorf("a true anchor: %v", err)
	}
	wantError(t, anchor(8, head7), ErrBroken)
	wantError(t, anchor(0, head7), ErrBroken)
	wantError(t, s.CheckAnchor(t.Context(), "none", 0, root), ErrNoRun)
	if err := anchor(-1, head7); err == nil {
		t.Error("anchored before the beginning")
	}

	shell(t, dir, dropTriggers, fmt.Sprintf(`DELETE FROM events WHERE id > %d`, eventID(1, 6)))
	// The chain is whole: this is why anchors exist.
	if events, err := s.Events(t.Context(), "run", 0); err != nil || len(events) != 6 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	wantError(t, anchor(7, head7), ErrBroken)
	_, err = s.Events(t.Context(), "run", 7)
	wantError(t, err, ErrBroken)
}

// More events than are read at a time.
func TestPages(t *testing.T) {
	s, l := openWithRun(t, "run")
	const n = 2*eventPage + 1
	appendTo(t, s, l, Append{Events: eventsOf("run", 1, eventPage)})
	appendTo(t, s, l, Append{Events: eventsOf("run", eventPage+1, n)})
	want := int64(0)
	for e, err := range s.Replay(t.Context(), "run", 0) {
		want++
		if err != nil || e.Seq != want {
			t.Fatalf("got event %d, %v, want %d", e.Seq, err, want)
		}
		// The database is free while the caller works.
		if want == 1 {
			appendTo(t, s, l, Append{Status: &Status{Branch: "b"}})
		}
	}
	if want != n {
		t.Errorf("%d events, want %d", want, n)
	}
	for _, err := range s.Replay(t.Context(), "run", 0) {
		if err != nil {
			t.Error(err)
		}
		break // a caller may stop early
	}
}

func TestVersions(t *testing.T) {
	dir := t.TempDir()
	old := event("run", 2)
	old.V, old.Kind, old.Data = 0, "warned.old", []byte(`"text"`)
	newer := event("run", 3)
	newer.V = work.EventVersion + 1
	hash1 := Link(Root("run"), event("run", 1))
	hash2 := Link(hash1, old)
	hash3 := Link(hash2, newer)
	s := openIn(t, dir)
	appendTo(t, s, create(t, s, "run"), Append{Events: eventsOf("run", 1, 1)})
	insert := func(e work.Event, hash Hash) {
		shell(t, dir, fmt.Sprintf(`INSERT INTO events VALUES (%d, %d, '%s', %d, '', 0, 0, '%s', x'%s')`,
			eventID(1, e.Seq), e.Time.UnixNano(), e.Kind, e.V, e.Data, hash))
	}
	insert(old, hash2)

	_, err := s.Events(t.Context(), "run", 0)
	wantError(t, err, ErrBroken)
	if !strings.Contains(err.Error(), "nothing reads warned.old of version 0") {
		t.Errorf("unhelpful: %v", err)
	}
	lifting := openIn(t, dir, WithUpcasters(Upcasters{{"warned.old", 0}: func(e work.Event) (work.Event, error) {
		return work.Event{Kind: work.Warned, Phase: e.Phase, Data: fmt.Appendf(nil, `{"text":%s}`, e.Data)}, nil
	}}))
	events, err := lifting.Events(t.Context(), "run", 0)
	if err != nil {
		t.Fatal(err)
	}
	if e := events[1]; e.Kind != work.Warned || e.V != work.EventVersion || string(e.Data) != `{"text":"text"}` || e.Seq != 2 || e.Run != "run" || e.Time != old.Time {
		t.Errorf("lifted to %+v", e)
	}
	if _, head, err := lifting.Head(t.Context(), "run"); err != nil || head != hash2.String() {
		t.Errorf("the hash is of what is stored: got %s, %v", head, err)
	}
	failing := openIn(t, dir, WithUpcasters(Upcasters{{"warned.old", 0}: func(e work.Event) (work.Event, error) {
		return e, errors.New("odd text")
	}}))
	_, err = failing.Events(t.Context(), "run", 0)
	wantError(t, err, ErrBroken)

	insert(newer, hash3)
	_, err = lifting.Events(t.Context(), "run", 0)
	wantError(t, err, ErrBroken)
	if !strings.Contains(err.Error(), "newer Forge") {
		t.Errorf("unhelpful: %v", err)
	}
}
