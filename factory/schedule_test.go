package factory

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"forge/internal/cron"
	"forge/internal/pace"
)

func TestNextOfSchedule(t *testing.T) {
	times, err := cron.Parse("0 6 * * *")
	if err != nil {
		t.Fatal(err)
	}
	next := func(after time.Time) time.Time { return times.Next(after, time.UTC) }
	at := func(day, hour int) time.Time { return time.Date(2026, 5, day, hour, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		seen ScheduleSeen
		now  time.Time
		step ScheduleStep
		due  time.Time
		why  string
	}{
		"never seen":             {ScheduleSeen{}, at(2, 7), ScheduleBegin, at(2, 7), "first time"},
		"not yet":                {ScheduleSeen{Known: true, Due: at(1, 6)}, at(2, 5), ScheduleWait, time.Time{}, ""},
		"now":                    {ScheduleSeen{Known: true, Due: at(1, 6)}, at(2, 6), ScheduleAdd, at(2, 6), "on time"},
		"done already":           {ScheduleSeen{Known: true, Due: at(2, 6)}, at(2, 6), ScheduleWait, time.Time{}, ""},
		"a clock that goes back": {ScheduleSeen{Known: true, Due: at(2, 6)}, at(1, 6), ScheduleWait, time.Time{}, ""},
		"late":                   {ScheduleSeen{Known: true, Due: at(1, 6)}, at(2, 20), ScheduleAdd, at(2, 6), "on time"},
		"many missed":            {ScheduleSeen{Known: true, Due: at(1, 6)}, at(9, 5), ScheduleAdd, at(8, 6), "on time"},
		"the last is open":       {ScheduleSeen{Known: true, Due: at(1, 6), Open: 7, SkipOpen: true}, at(2, 6), ScheduleSkip, at(2, 6), "issue 7"},
		"open, and no matter":    {ScheduleSeen{Known: true, Due: at(1, 6), Open: 7}, at(2, 6), ScheduleAdd, at(2, 6), "on time"},
		"paused":                 {ScheduleSeen{Known: true, Due: at(1, 6), Paused: true}, at(2, 6), ScheduleSkip, at(2, 6), "paused"},
	} {
		step, due, why := NextOfSchedule(next, c.seen, c.now)
		if step != c.step || !due.Equal(c.due) || !strings.Contains(why, c.why) {
			t.Errorf("%s: %s, %v, %q", name, step, due, why)
		}
	}
}

// Servers look whenever they like, die before they note what they decided, and
// are away for days: of each due time there is one issue at most, of the last one
// that passed there is one, and none is for a time that is not due.
func TestSchedulesOfManyServers(t *testing.T) {
	pace.Sequential(t, "a pure rule, in one goroutine")
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		times, err := cron.Parse([]string{"*/20 * * * *", "30 2 * * *", "0 6 * * mon"}[rnd.IntN(3)])
		if err != nil {
			t.Fatal(err)
		}
		next := func(after time.Time) time.Time { return times.Next(after, time.UTC) }
		now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		stored, known, made := time.Time{}, false, map[time.Time]int{}
		begun := time.Time{}
		for range 60 {
			now = now.Add(time.Duration(rnd.IntN(100*60)) * time.Second)
			if rnd.IntN(10) == 0 {
				now = now.Add(time.Duration(rnd.IntN(10*24)) * time.Hour)
			}
			// Two servers read the same, and one is first; either may die instead.
			was, wasKnown := stored, known
			for range 2 {
				step, due, _ := NextOfSchedule(next, ScheduleSeen{Known: wasKnown, Due: was}, now)
				if step == ScheduleWait || rnd.IntN(5) == 0 || !stored.Equal(was) || known != wasKnown {
					continue
				}
				if stored, known = due, true; step == ScheduleAdd {
					made[due]++
				} else {
					begun = due
				}
			}
		}
		step, due, _ := NextOfSchedule(next, ScheduleSeen{Known: known, Due: stored}, now)
		if step == ScheduleAdd {
			made[due]++
		}
		for at, n := range made {
			if n != 1 || !next(at.Add(-time.Second)).Equal(at) || !at.After(begun) {
				t.Fatalf("seed %d: %d issues for %v", seed, n, at)
			}
		}
		last := time.Time{}
		for at := next(begun); known && !at.After(now); at = next(at) {
			last = at
		}
		if !last.IsZero() && made[last] != 1 {
			t.Fatalf("seed %d: none for %v, the last that was due", seed, last)
		}
	}
}
