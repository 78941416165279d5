package proven

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// green is the record of a key.
func green(key string) work.ProvenBefore {
	return work.ProvenBefore{Key: key, Tree: "t1", Run: "260101-abcd", Command: "260101-abcd/01/1/1/verify-snapshot", At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Millis: 7}
}

func keep(t *testing.T, s *Store, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if err := s.Keep(green(key)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := New(filepath.Join(t.TempDir(), "proven"), time.Now)
	if _, ok := s.Find("aa"); ok {
		t.Error("there is a record, and nobody kept one")
	}
	keep(t, s, "aa", "bb")
	if got, ok := s.Find("aa"); !ok || !reflect.DeepEqual(got, green("aa")) {
		t.Errorf("got %+v, %v", got, ok)
	}
	info, err := os.Stat(filepath.Join(s.dir, "aa"+greenName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	for _, key := range []string{"", "../aa", "AA", "aa/bb"} {
		if err := s.Keep(work.ProvenBefore{Key: key}); err == nil {
			t.Errorf("%q was taken for a key", key)
		}
		if err := s.Refute(key); err == nil {
			t.Errorf("%q was taken for a key", key)
		}
	}
}

// TestDamagedRecordsAreNone: any byte that is another one, one that is missing,
// and the record of another key under this name.
func TestDamagedRecordsAreNone(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir(), time.Now)
	keep(t, s, "aa", "bb")
	path := filepath.Join(s.dir, "aa"+greenName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for _, data := range [][]byte{whole[:i], []byte(string(whole[:i]) + string(whole[i]^1) + string(whole[i+1:]))} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, ok := s.Find("aa"); ok && !reflect.DeepEqual(got, green("aa")) {
				t.Fatalf("byte %d was changed, and %+v is believed", i, got)
			}
		}
	}
	other, err := os.ReadFile(filepath.Join(s.dir, "bb"+greenName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Find("aa"); ok {
		t.Errorf("the record of another key is believed: %+v", got)
	}
	next := strings.Replace(string(whole), `"version":1`, `"version":2`, 1)
	if err := os.WriteFile(path, []byte(next), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Find("aa"); ok {
		t.Error("a record of another release is believed")
	}
}

func TestWhatWasRedStaysOut(t *testing.T) {
	t.Parallel()
	s := New(t.TempDir(), time.Now)
	keep(t, s, "aa", "bb")
	if err := s.Refute("aa"); err != nil {
		t.Fatal(err)
	}
	keep(t, s, "aa")
	if _, ok := s.Find("aa"); ok {
		t.Error("it was red, and is believed")
	}
	if _, ok := s.Find("bb"); !ok {
		t.Error("another key was red")
	}
}

func TestPruneKeepsTheNewest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	s := New(t.TempDir(), func() time.Time { return now })
	if err := s.Prune(time.Hour, false, nil); err != nil {
		t.Fatal(err)
	}
	write := func(key string, age time.Duration) {
		path := filepath.Join(s.dir, key+greenName)
		at := now.Add(-age)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("00dd", 31*24*time.Hour)
	for i := range MostRecords + 2 {
		write(fmt.Sprintf("%04x", i+0x1000), time.Duration(i)*time.Second)
	}
	var said []string
	for _, dry := range []bool{true, false} {
		said = nil
		if err := s.Prune(MostAge, dry, func(path string) { said = append(said, strings.TrimSuffix(filepath.Base(path), greenName)) }); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{fmt.Sprintf("%04x", 0x1000+MostRecords), fmt.Sprintf("%04x", 0x1000+MostRecords+1), "00dd"}
	if !reflect.DeepEqual(said, want) {
		t.Errorf("removed %v, want %v", said, want)
	}
	left, err := os.ReadDir(s.dir)
	if err != nil || len(left) != MostRecords {
		t.Errorf("%d are left, %v", len(left), err)
	}
}
