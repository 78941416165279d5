package cron

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// slow looks at each minute in turn.
func slow(t Times, after time.Time, in *time.Location) time.Time {
	matches := func(wall time.Time) bool {
		return t.minute&(1<<wall.Minute()) != 0 && t.hour&(1<<wall.Hour()) != 0 && t.on(wall)
	}
	wallOf := func(at time.Time) time.Time {
		at = at.In(in)
		return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), 0, 0, time.UTC)
	}
	highest := wallOf(after.Add(-50 * time.Hour))
	for at := after.Add(-50 * time.Hour).Truncate(time.Minute); at.Before(after.Add(400 * 24 * time.Hour)); at = at.Add(time.Minute) {
		// What the clock passes in this minute: one time as a rule, more when it
		// goes forward, none when it goes back.
		for wall := highest.Add(time.Minute); !wall.After(wallOf(at)); wall = wall.Add(time.Minute) {
			highest = wall
			if matches(wall) && at.After(after) {
				return at
			}
		}
	}
	return time.Time{}
}

func TestNextIsAsTheClockShows(t *testing.T) {
	var places []*time.Location
	for _, name := range []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"} {
		in, err := time.LoadLocation(name)
		if err != nil {
			t.Skip(err)
		}
		places = append(places, in)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	lines := []string{"*/15 * * * *", "30 2 * * *", "30 1 * * *", "0 3 * * *", "15,45 0-4/2 * * sun", "5 2 */3 * mon-fri", "0 0 1 * 5", "59 23 31 * *", "@hourly", "@weekly"}
	for range 150 {
		in, line := places[rnd.IntN(len(places))], lines[rnd.IntN(len(lines))]
		times, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		// Most around a change of the clock.
		after := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rnd.IntN(600*24*60)) * time.Minute)
		if _, end := after.In(in).ZoneBounds(); !end.IsZero() && rnd.IntN(4) > 0 {
			after = end.Add(time.Duration(rnd.IntN(300)-200) * time.Minute)
		}
		if got, want := times.Next(after, in), slow(times, after, in); !got.Equal(want) {
			t.Fatalf("%s in %s after %v: %v, want %v", line, in, after.In(in), got, want)
		}
	}
}

func TestClockChanges(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ line, after, want string }{
		{"30 2 * * *", "2026-03-28T12:00:00+01:00", "2026-03-29T03:00:00+02:00"}, // left out: when it goes on
		{"30 2 * * *", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"},
		{"30 2 * * *", "2026-10-25T00:00:00+02:00", "2026-10-25T02:30:00+02:00"}, // shown twice: once
		{"30 2 * * *", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		{"0 0 29 2 *", "2026-01-01T00:00:00+01:00", "2028-02-29T00:00:00+01:00"},
		{"0 0 13 * 5", "2026-01-01T00:00:00+01:00", "2026-01-02T00:00:00+01:00"}, // the 13th, or any Friday
	} {
		times, err := Parse(c.line)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := time.Parse(time.RFC3339, c.after)
		if got := times.Next(after, berlin).Format(time.RFC3339); got != c.want {
			t.Errorf("%s after %s: %s, want %s", c.line, c.after, got, c.want)
		}
	}
}

func TestBadLines(t *testing.T) {
	for line, want := range map[string]string{
		"": "5: minute", "* * * *": "4 fields", "60 * * * *": "no minute", "* 24 * * *": "no hour", "* * 0 * *": "no day of the month", "* * * 13 *": "no month",
		"* * * * 8": "no day of the week", "5-1 * * * *": "comes after", "*/0 * * * *": "no step", "a * * * *": "no minute", "* * * foo *": "no month",
		"0 0 30 2 *": "never comes", "1,,2 * * * *": "no minute", "@often": "1 fields", "-1 * * * *": "no minute", "+1 * * * *": "no minute",
	} {
		_, err := Parse(line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

// Whatever is read is due some time after any moment, and at a minute that it names.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"*/5 1-3,7 * jan-mar mon", "@daily", "0 0 31 */2 7", "59 23 29 2 *", "1/7 * * * *"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		times, err := Parse(line)
		if err != nil {
			return
		}
		after := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
		due := times.Next(after, time.UTC)
		if !due.After(after) || due.Second() != 0 || times.minute&(1<<due.Minute()) == 0 || times.hour&(1<<due.Hour()) == 0 || !times.on(due) {
			t.Errorf("%q is due at %v", line, due)
		}
	})
}
