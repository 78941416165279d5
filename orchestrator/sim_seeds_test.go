package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"forge/internal/text"
)

// foundBy is the file that remembers which schedule found each seeded bug: by
// test, then by bug.
var foundBy = filepath.Join("testdata", "foundby.json")

// hunter looks for the schedules that find seeded bugs.
type hunter struct {
	lab    *lab
	within uint64            // as many schedules are played for a bug
	known  map[string]uint64 // by bug
	all    bool              // every schedule is played, from the first on
}

// newHunter plays for each bug the schedule that found it the last time, and where
// that finds it no more, or FORGE_SCHEDULES is set (make soak), all from the first
// on. With -update the file is written anew.
func newHunter(t *testing.T, l *lab, within uint64) *hunter {
	t.Helper()
	file := map[string]map[string]uint64{}
	data, err := os.ReadFile(foundBy)
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	h := &hunter{lab: l, within: within, known: file[t.Name()], all: *update || schedules(0) > 0}
	if !*update {
		return h
	}
	h.known = map[string]uint64{}
	t.Cleanup(func() {
		file[t.Name()] = h.known
		data, err := json.MarshalIndent(file, "", "  ")
		if err == nil {
			err = os.WriteFile(foundBy, append(data, '\n'), 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return h
}

// hunt fails the test unless a schedule complains of the bug, for one of the
// reasons that it should.
func (h *hunter) hunt(t testing.TB, name string, b bug, want []string) {
	t.Helper()
	right := func(err error) bool {
		return slices.ContainsFunc(want, func(part string) bool { return strings.Contains(err.Error(), part) })
	}
	if seed := h.known[name]; !h.all && seed > 0 && seed <= h.within {
		if _, err := play(h.lab, seed, nil, b); err != nil && right(err) {
			return
		}
	}
	for seed := range h.within {
		_, err := play(h.lab, seed+1, nil, b)
		if err == nil {
			continue
		}
		if !right(err) {
			t.Errorf("%s: seed %d: found as %q, want one of %q", name, seed+1, text.ClipJSON(err.Error(), 300), want)
		}
		t.Logf("%s: found by seed %d", name, seed+1)
		if *update {
			h.known[name] = seed + 1
		}
		return
	}
	t.Errorf("%s: not found within %d schedules", name, h.within)
}

// A schedule that finds nothing is not taken for one that does, whatever the file
// says.
func TestHuntersDoNotTrustTheirFile(t *testing.T) {
	h := &hunter{lab: newLab(t), within: 3, known: map[string]uint64{"none": 1}}
	var r failures
	h.hunt(&r, "none", bug{}, []string{"anything"})
	if len(r.said) != 1 {
		t.Errorf("a core without a bug: %q", r.said)
	}
}

// failures notes what a test would fail with.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// A seed is a schedule: what is thrown for it does not hang on the order in which
// Go walks a map.
func TestASeedIsASchedule(t *testing.T) {
	labs := []*lab{newLab(t), newLab(t)}
	labs[1].pulls, labs[1].hooks = true, true
	for seed := range uint64(300) {
		for _, l := range labs {
			one, two := l.randomSpec(newDice(seed, nil)), l.randomSpec(newDice(seed, nil))
			if !reflect.DeepEqual(one, two) {
				t.Fatalf("seed %d gives two specs:\n%+v\n%+v", seed, one, two)
			}
		}
	}
}
