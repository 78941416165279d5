package journal

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"forge/internal/work"
)

func TestBlobs(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	for _, data := range [][]byte{nil, []byte("a"), make([]byte, 1<<20)} {
		sha, err := s.PutBlob(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.PutBlob(t.Context(), data); err != nil || again != sha {
			t.Errorf("second time: %s, %v", again, err)
		}
		if got, err := s.Blob(t.Context(), sha); err != nil || string(got) != string(data) {
			t.Errorf("%d bytes, %v, want %d", len(got), err, len(data))
		}
	}
	sha, err := s.PutBlob(t.Context(), []byte("to be damaged"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "blobs", sha[:2], sha)
	for _, damaged := range []string{"to be damageD", "to be", ""} {
		write(t, path, []byte(damaged))
		_, err = s.Blob(t.Context(), sha)
		wantError(t, err, ErrBroken)
	}
	// Whoever has the data mends it.
	if _, err := s.PutBlob(t.Context(), []byte("to be damaged")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blob(t.Context(), sha); err != nil {
		t.Error(err)
	}
	remove(t, path)
	_, err = s.Blob(t.Context(), sha)
	wantError(t, err, ErrBroken)
	wantError(t, err, fs.ErrNotExist)
	for _, name := range []string{"", "a", "../../" + sha, sha[:63] + "G", sha[:62], sha + "00", "A" + sha[1:]} {
		if _, err := s.Blob(t.Context(), name); err == nil {
			t.Errorf("%q names a blob", name)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "blobs", "tmp")); err != nil || len(left) != 0 {
		t.Errorf("%d unfinished blobs, %v", len(left), err)
	}
}

func TestSameBlobAtOnce(t *testing.T) {
	s := openIn(t, t.TempDir())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			sha, err := s.PutBlob(t.Context(), []byte("the same"))
			if err == nil {
				_, err = s.Blob(t.Context(), sha)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestAbandonedBlobsAreSwept(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	if _, err := s.PutBlob(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	old, young := filepath.Join(s.tempDir(), "blob-old"), filepath.Join(s.tempDir(), "blob-young")
	write(t, old, nil)
	write(t, young, nil)
	if err := os.Chtimes(old, time.Now(), time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	openIn(t, dir)
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the abandoned one: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the one that may be in the making: %v", err)
	}
}

func TestAttempts(t *testing.T) {
	s, l := openWithRun(t, "run")
	one := AttemptRow{"run", "run/05/1/1/iterate", "mark1", testTime}
	two := AttemptRow{"run", "run/06/1/1/iterate", "mark2", testTime.Add(1)}
	appendTo(t, s, l, Append{Begin: []AttemptRow{one, two}})
	again := AttemptRow{"run", one.Command, "mark3", testTime.Add(2)}
	if err := s.PutAttempt(t.Context(), l, again); err != nil {
		t.Fatal(err)
	}
	want := func(want ...AttemptRow) {
		t.Helper()
		got, err := s.Attempts(t.Context(), "run")
		if err != nil || len(got) != len(want) {
			t.Fatalf("attempts %+v, %v, want %+v", got, err, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("attempt %+v, want %+v", got[i], want[i])
			}
		}
	}
	want(two, again)
	appendTo(t, s, l, Append{End: []work.CommandID{two.Command}})
	want(again)
	for range 2 {
		if err := s.DropAttempt(t.Context(), l, again.Command); err != nil {
			t.Fatal(err)
		}
	}
	want()
	for _, bad := range []AttemptRow{{"other", "c", "m", testTime}, {"run", "", "m", testTime}, {"run", "c", "", testTime}, {"run", "c", "m", time.Time{}}} {
		if err := s.PutAttempt(t.Context(), l, bad); err == nil {
			t.Errorf("accepted %+v", bad)
		}
		if err := s.Append(t.Context(), l, Append{Begin: []AttemptRow{bad}}); err == nil {
			t.Errorf("appended %+v", bad)
		}
	}
	_, err := s.Attempts(t.Context(), "none")
	wantError(t, err, ErrNoRun)
}

func TestRunsSpent(t *testing.T) {
	s, l := openWithRun(t, "run")
	other := create(t, s, "other")
	create(t, s, "nothing")
	dollars := 0.5
	appendTo(t, s, l, Append{Events: eventsOf("run", 1, 1)})
	row, err := s.RunOf(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	last := event("run", 2)
	last.Time = row.Created.Add(42 * time.Second)
	appendTo(t, s, l, Append{Events: []work.Event{last}, Usage: []UsageRow{{"run", "a", testTime, &dollars, nil}, {"run", "b", testTime, nil, nil}}})
	appendTo(t, s, other, Append{Usage: []UsageRow{{"other", "a", testTime, &dollars, nil}, {"other", "b", testTime, &dollars, nil}}})
	spent, err := s.RunsSpent(t.Context(), []string{"run", "other", "nothing", "no run"})
	if err != nil || len(spent) != 2 {
		t.Fatalf("%v, %v", spent, err)
	}
	if got := spent["run"]; got.USD != nil || got.Lasting != 42*time.Second {
		t.Errorf("run: %+v", got)
	}
	if got := spent["other"]; got.USD == nil || *got.USD != 1 || got.Lasting != 0 {
		t.Errorf("other: %+v", got)
	}
}

func TestUsage(t *testing.T) {
	s, l := openWithRun(t, "run")
	other := create(t, s, "other")
	usd := func(v float64) *float64 { return &v }
	tokens := func(v int64) *int64 { return &v }
	day := time.Date(2026, 3, 4, 23, 30, 0, 0, time.UTC)
	appendTo(t, s, l, Append{Usage: []UsageRow{
		{"run", "a", day, usd(2), nil},                                             // reserved
		{"run", "b", day.In(time.FixedZone("", -3600)), usd(1), tokens(10)},        // the same day in UTC
		{"run", "c", day.Add(time.Hour), usd(100), tokens(1000)},                   // the next day
		{"run", "d", day, nil, nil},                                                // nothing known
		{"run", "e", day.In(time.FixedZone("", 7200)), usd(0.25), tokens(1 << 40)}, // the same day in UTC
	}})
	appendTo(t, s, other, Append{Usage: []UsageRow{{"other", "a", day, usd(0.5), tokens(5)}}})
	want := func(wantUSD float64, wantTokens int64, wantUnknown, wantNoUSD, wantNoTokens int) {
		t.Helper()
		gotUSD, gotTokens, unknown, err := s.DayUsage(t.Context(), "2026-03-04")
		if err != nil || gotUSD != wantUSD || gotTokens != wantTokens || unknown != wantUnknown {
			t.Errorf("day: %v, %d, %d, %v", gotUSD, gotTokens, unknown, err)
		}
		noUSD, noTokens, err := s.DayUnknown(t.Context(), "2026-03-04")
		if err != nil || noUSD != wantNoUSD || noTokens != wantNoTokens {
			t.Errorf("unknown: %d, %d, %v", noUSD, noTokens, err)
		}
	}
	want(3.75, 1<<40+15, 2, 1, 2)
	// The report replaces the reservation, silence leaves it.
	appendTo(t, s, l, Append{Usage: []UsageRow{{"run", "a", day, usd(0.75), tokens(7)}, {"run", "b", day, nil, nil}}})
	want(2.5, 1<<40+22, 1, 1, 1)
	if gotUSD, gotTokens, unknown, err := s.DayUsage(t.Context(), "2001-01-01"); err != nil || gotUSD != 0 || gotTokens != 0 || unknown != 0 {
		t.Errorf("a day without usage: %v, %d, %d, %v", gotUSD, gotTokens, unknown, err)
	}
	for _, bad := range []UsageRow{
		{"other", "a", day, nil, nil}, {"run", "", day, nil, nil}, {"run", "a", time.Time{}, nil, nil},
		{"run", "a", day, usd(-1), nil}, {"run", "a", day, usd(math.NaN()), nil}, {"run", "a", day, usd(math.Inf(1)), nil}, {"run", "a", day, nil, tokens(-1)},
	} {
		if err := s.Append(t.Context(), l, Append{Usage: []UsageRow{bad}}); err == nil {
			t.Errorf("appended %+v", bad)
		}
	}
}

func TestStates(t *testing.T) {
	dir := t.TempDir()
	s := openIn(t, dir)
	l := create(t, s, "run")
	want := func(wantSeq int64, wantState string) {
		t.Helper()
		seq, state, err := s.LoadState(t.Context(), "run")
		if err != nil || seq != wantSeq || string(state) != wantState {
			t.Errorf("state %d %q, %v, want %d %q", seq, state, err, wantSeq, wantState)
		}
	}
	want(0, "")
	appendTo(t, s, l, Append{Events: eventsOf("run", 1, 3)})
	for seq, state := range map[int64]string{2: `{"a":1}`} {
		if err := s.SaveState(t.Context(), "run", seq, []byte(state)); err != nil {
			t.Fatal(err)
		}
	}
	want(2, `{"a":1}`)
	if err := s.SaveState(t.Context(), "run", 3, []byte(`{"a":2}`)); err != nil {
		t.Fatal(err)
	}
	want(3, `{"a":2}`)
	wantError(t, s.SaveState(t.Context(), "run", 4, nil), ErrNoRun)
	wantError(t, s.SaveState(t.Context(), "none", 1, nil), ErrNoRun)
	// A state of events that are not there any more is not used.
	shell(t, dir, dropTriggers, `UPDATE events SET hash = zeroblob(32) WHERE id & 0xffffffff = 3`)
	want(0, "")
}
