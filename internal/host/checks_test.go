package host

import (
	"slices"
	"testing"
	"time"

	"forge/internal/work"
)

// Of one check that ran again the last run counts; two checks of one name are two.
func TestSum(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	run := func(name string, of int64, minute int, ended work.CheckState) CheckRun {
		return CheckRun{PullCheck: work.PullCheck{Name: name}, Of: of, At: at.Add(time.Duration(minute) * time.Minute), Ended: ended}
	}
	for what, c := range map[string]struct {
		runs          []CheckRun
		state         work.CheckState
		failed, flaky []string
	}{
		"nothing":                 {nil, work.ChecksNone, nil, nil},
		"green on a second try":   {[]CheckRun{run("unit", 1, 0, work.ChecksFailed), run("unit", 1, 5, work.ChecksPassed)}, work.ChecksPassed, nil, []string{"unit"}},
		"red on a second try":     {[]CheckRun{run("unit", 1, 5, work.ChecksFailed), run("unit", 1, 0, work.ChecksPassed)}, work.ChecksFailed, []string{"unit"}, nil},
		"of two workflows":        {[]CheckRun{run("unit", 1, 0, work.ChecksFailed), run("unit", 2, 5, work.ChecksPassed)}, work.ChecksFailed, []string{"unit"}, nil},
		"one that says nothing":   {[]CheckRun{run("unit", 1, 0, work.ChecksPassed), run("lint", 1, 0, work.ChecksUnknown)}, work.ChecksUnknown, nil, nil},
		"one that waits its turn": {[]CheckRun{run("unit", 1, 0, work.ChecksPassed), {PullCheck: work.PullCheck{Name: "unit"}, Of: 1, Ended: work.ChecksPending}}, work.ChecksPending, nil, nil},
	} {
		got := Sum(c.runs)
		var failed []string
		for _, f := range got.Failed {
			failed = append(failed, f.Name)
		}
		if got.State != c.state || !slices.Equal(failed, c.failed) || !slices.Equal(got.Flaky, c.flaky) {
			t.Errorf("%s: %s, failed %q, flaky %q", what, got.State, failed, got.Flaky)
		}
	}
}
