package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"forge/internal/work"
)

// reachedBy is the file that remembers which schedules reached what the first
// ones do not: by test.
var reachedBy = filepath.Join("testdata", "reachedby.json")

// sampled is the share of its schedules that a test plays in every test run.
const sampled = 5

// reach plays schedules that have to reach everything that missing names, nil: nothing. It is
// a sample of most schedules, the first of them and those that are remembered for
// what these do not reach; where something is missing still, all are played.
// FORGE_SCHEDULES=all (make soak) plays all at once, a number that many. With
// -update the file is written anew.
func reach(t *testing.T, l *lab, most int, missing func(*coverage) []string) *coverage {
	t.Helper()
	if n := schedules(0); n > 0 {
		c := simulate(t, l, n)
		if n >= most {
			c.want(t, missing)
		}
		return c
	}
	file, wants := readReached(t), missing != nil
	if !wants {
		missing = func(*coverage) []string { return nil }
	}
	// Worlds are short-lived; collecting them often costs a fifth of the time.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	c, few, all := newCoverage(), most/sampled, *update || os.Getenv("FORGE_SCHEDULES") == "all"
	for seed := range uint64(few) {
		c.plays(t, l, seed+1)
	}
	if !all {
		for _, seed := range file[t.Name()] {
			if seed > uint64(few) && seed <= uint64(most) {
				c.plays(t, l, seed)
			}
		}
		if all = len(missing(c)) > 0; all {
			t.Logf("%s knows no schedules that reach %q: all %d are played", reachedBy, missing(c), most)
		}
	}
	var by []uint64
	for seed := uint64(few) + 1; all && seed <= uint64(most); seed++ {
		left := len(missing(c))
		c.plays(t, l, seed)
		if len(missing(c)) < left {
			by = append(by, seed)
		}
	}
	c.want(t, missing)
	if *update && wants {
		if delete(file, t.Name()); len(by) > 0 {
			file[t.Name()] = by
		}
		data, err := json.Marshal(file)
		if err == nil {
			err = os.WriteFile(reachedBy, append(data, '\n'), 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
	return c
}

func readReached(t *testing.T) map[string][]uint64 {
	t.Helper()
	file := map[string][]uint64{}
	data, err := os.ReadFile(reachedBy)
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return file
}

// want fails where something is missing.
func (c *coverage) want(t testing.TB, missing func(*coverage) []string) {
	t.Helper()
	for _, m := range missing(c) {
		t.Errorf("%s", m)
	}
}

// plays plays the schedule of one seed, and ends the test where it breaks an
// invariant.
func (c *coverage) plays(t testing.TB, l *lab, seed uint64) {
	t.Helper()
	w, err := play(l, seed, nil, bug{})
	if err != nil {
		events := ""
		if w != nil {
			events = tail(append(w.journal, w.batch...), 25)
		}
		t.Fatalf("seed %d: %v\n%s", seed, err, events)
	}
	c.add(w)
}

// unmet says which of names counts has nothing of; how is the sentence for one.
func unmet[K ~string](counts map[K]int, how string, names ...K) (missing []string) {
	for _, name := range names {
		if counts[name] == 0 {
			missing = append(missing, fmt.Sprintf(how, name))
		}
	}
	return missing
}

// What the sample does not reach is looked for in every schedule.
func TestASampleIsNotEnoughWhereSomethingIsMissing(t *testing.T) {
	if schedules(0) > 0 || *update || os.Getenv("FORGE_SCHEDULES") != "" {
		t.Skip("the number of schedules is given")
	}
	started := string(work.RunStarted) // once in each schedule
	for most, want := range map[int]int{10: 10, 10 * sampled: 10} {
		c := reach(t, newLab(t), most, func(c *coverage) []string {
			if c.kinds[started] < 10 {
				return []string{"ten runs"}
			}
			return nil
		})
		if c.kinds[started] != want {
			t.Errorf("of %d schedules %d were played, want %d", most, c.kinds[started], want)
		}
	}
	var r failures
	newCoverage().want(&r, func(*coverage) []string { return []string{"all"} })
	if len(r.said) != 1 {
		t.Errorf("what is missing at the end fails no test: %q", r.said)
	}
}
