package runs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Drafts that nobody touched for long go: by themselves what came to nothing, what
// waits for a person on request alone; what may be under way never.
func TestCollectDrafts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	lay := func() string {
		state := filepath.Join(t.TempDir(), "a [state]* folder")
		for name, age := range map[string]time.Duration{
			"drafts/old/sub/file":       40 * day,
			"drafts/old.1.log":          40 * day,
			"drafts/busy/sub/file":      time.Minute,
			"drafts/busy.1.log":         40 * day,
			"drafts/lately/file":        10 * day,
			"drafts/refused.json":       40 * day,
			"draft-0123456789ab.json":   40 * day,
			"drafts/d-old.json":         40 * day,
			"drafts/d-young.json":       2 * time.Hour,
			"drafts/phases.json":        40 * day,
			"interviews/spec.json":      40 * day,
			"interviews/design.json":    time.Hour,
			"runs/draft-not/phases.txt": 40 * day,
		} {
			path := filepath.Join(state, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
				t.Fatal(err)
			}
			for at := path; at != state; at = filepath.Dir(at) {
				if err := os.Chtimes(at, now.Add(-age), now.Add(-age)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return state
	}
	unasked := []string{"draft-0123456789ab.json", "drafts/old", "drafts/old.1.log", "drafts/refused.json"}
	asked := append(slices.Clone(unasked), "drafts/d-old.json", "drafts/phases.json", "interviews/spec.json")
	for name, c := range map[string]struct {
		keep     time.Duration
		all, dry bool
		want     []string
	}{
		"by itself":          {KeepRuns, false, false, unasked},
		"asked":              {KeepRuns, true, false, asked},
		"only looked at":     {KeepRuns, true, true, asked},
		"a week, asked":      {7 * day, true, false, append(slices.Clone(asked), "drafts/lately")},
		"nothing kept":       {0, true, false, append(slices.Clone(asked), "drafts/lately")},
		"everything is kept": {100 * day, true, false, nil},
	} {
		p := with(t)
		p.State = lay()
		p.Now = func() time.Time { return now }
		var got []string
		freed, err := CollectDrafts(p, c.keep, c.all, c.dry, func(path string, _ int64) {
			rel, err := filepath.Rel(p.State, path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
			if _, err := os.Lstat(path); (err == nil) != c.dry {
				t.Errorf("%s: %s is there: %v", name, rel, err == nil)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) || freed != int64(10*len(got)) {
			t.Errorf("%s: %d bytes of\n %s\nwant\n %s", name, freed, strings.Join(got, "\n "), strings.Join(c.want, "\n "))
		}
	}
}
