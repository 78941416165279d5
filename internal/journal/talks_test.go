package journal

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"forge/internal/work"
)

// Of many who add to a conversation at the same place, one does: what is decided
// on what was read there is decided once.
func TestTalkIsAddedToOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var stores []*Store
	for range 4 {
		stores = append(stores, openIn(t, dir))
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	added := 0
	for _, s := range stores {
		all.Go(func() {
			err := s.AddTalk(t.Context(), "r1", 0, testTime, json.RawMessage(`{"kind":"asked"}`))
			if err != nil && !errors.Is(err, work.ErrStale) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				added++
			}
		})
	}
	all.Wait()
	lines, err := stores[0].Talk(t.Context(), "r1")
	if err != nil || added != 1 || len(lines) != 1 || lines[0].N != 1 || !lines[0].At.Equal(testTime) {
		t.Errorf("%d added, %+v, %v", added, lines, err)
	}
	if other, err := stores[0].Talk(t.Context(), "r2"); err != nil || len(other) != 0 {
		t.Errorf("another conversation has %v, %v", other, err)
	}
	for name, bad := range map[string]json.RawMessage{"no JSON": json.RawMessage(`{`), "too long": json.RawMessage(`"` + string(make([]byte, MaxTalkLine)) + `"`)} {
		if stores[0].AddTalk(t.Context(), "r1", 1, testTime, bad) == nil {
			t.Errorf("%s was added", name)
		}
	}
}

// Lines are never changed, and none goes.
func TestTalkIsOnlyAddedTo(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	if err := s.AddTalk(t.Context(), "r1", 0, testTime, json.RawMessage(`{"kind":"asked"}`)); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{`UPDATE talks SET data = '{}'`, `DELETE FROM talks`} {
		if _, err := s.durable.exec(t.Context(), change); err == nil {
			t.Errorf("%s was let through", change)
		}
	}
}
