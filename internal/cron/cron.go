// Package cron reads times as crontab writes them, and says when they come next
// by the clock on the wall of a place.
package cron

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Times are the minutes that five fields name. The zero value names none.
type Times struct {
	minute, hour, day, month, weekday uint64 // bit n = n is one
	// Of day and weekday one is enough where both are limited, as cron has it.
	anyDay, anyWeekday bool
}

// field is one of the five.
type field struct {
	name     string
	from, to int
	words    []string // of from, from+1, …
}

var (
	monthWords   = "jan feb mar apr may jun jul aug sep oct nov dec"
	weekdayWords = "sun mon tue wed thu fri sat"
)

func fields() [5]field {
	return [5]field{
		{"minute", 0, 59, nil}, {"hour", 0, 23, nil}, {"day of the month", 1, 31, nil},
		{"month", 1, 12, strings.Fields(monthWords)}, {"day of the week", 0, 7, strings.Fields(weekdayWords)},
	}
}

// short are words for whole lines.
func short(word string) string {
	switch word {
	case "@yearly", "@annually":
		return "0 0 1 1 *"
	case "@monthly":
		return "0 0 1 * *"
	case "@weekly":
		return "0 0 * * 0"
	case "@daily", "@midnight":
		return "0 0 * * *"
	case "@hourly":
		return "0 * * * *"
	}
	return word
}

// Parse reads five fields, minute, hour, day of the month, month and day of the
// week, or one of @hourly, @daily, @weekly, @monthly, @yearly.
func Parse(line string) (Times, error) {
	var t Times
	words := strings.Fields(short(strings.ToLower(strings.TrimSpace(line))))
	if len(words) != 5 {
		return t, fmt.Errorf("it has %d fields, and cron's line has 5: minute, hour, day of the month, month, day of the week", len(words))
	}
	into := [5]*uint64{&t.minute, &t.hour, &t.day, &t.month, &t.weekday}
	for n, f := range fields() {
		set, err := f.set(words[n])
		if err != nil {
			return t, err
		}
		*into[n] = set
	}
	if t.weekday&(1<<7) != 0 { // Sunday has two numbers
		t.weekday = t.weekday&^(1<<7) | 1
	}
	t.anyDay, t.anyWeekday = strings.HasPrefix(words[2], "*"), strings.HasPrefix(words[4], "*")
	if t.Next(time.Date(2000, 3, 1, 0, 0, 0, 0, time.UTC), time.UTC).IsZero() {
		return t, fmt.Errorf("%q never comes", line)
	}
	return t, nil
}

// set is what one field names: parts between commas, each *, a number or a range,
// with a step or without.
func (f field) set(text string) (out uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, "/")
		every := 1
		if stepped {
			if every, err = strconv.Atoi(step); err != nil || every < 1 || every > 100 {
				return 0, fmt.Errorf("%s %q: %q is no step", f.name, text, step)
			}
		}
		low, high := f.from, f.to
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if low, err = f.number(first); err != nil {
				return 0, err
			}
			switch {
			case ranged:
				if high, err = f.number(last); err != nil {
					return 0, err
				}
			case !stepped:
				high = low
			}
		}
		if low > high {
			return 0, fmt.Errorf("%s %q: %d comes after %d", f.name, text, low, high)
		}
		for n := low; n <= high; n += every {
			out |= 1 << n
		}
	}
	return out, nil
}

func (f field) number(word string) (int, error) {
	for n, w := range f.words {
		if w == word {
			return f.from + n, nil
		}
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < f.from || n > f.to || len(word) > 2 || word[0] == '+' {
		return 0, fmt.Errorf("%q is no %s: use %d to %d", word, f.name, f.from, f.to)
	}
	return n, nil
}

// mostDays is how far Next looks: the 29th of February may be eight years away.
const mostDays = 9 * 366

// Next is the first time after one that is due by the clock of a place; zero = none
// is. A time that the clock shows twice is due when it shows it first. One that it
// leaves out is due when it goes on.
func (t Times) Next(after time.Time, in *time.Location) time.Time {
	day := after.In(in).AddDate(0, 0, -1) // a day may be left out, or shown twice
	year, month, date := day.Date()
	for n := range mostDays {
		at := time.Date(year, month, date+n, 0, 0, 0, 0, time.UTC)
		if !t.on(at) {
			continue
		}
		for hours := t.hour; hours != 0; hours &= hours - 1 {
			for minutes := t.minute; minutes != 0; minutes &= minutes - 1 {
				due := shown(at.Add(time.Duration(bits.TrailingZeros64(hours))*time.Hour+time.Duration(bits.TrailingZeros64(minutes))*time.Minute), in)
				if due.After(after) {
					return due
				}
			}
		}
	}
	return time.Time{}
}

// on says that some time of a day is due.
func (t Times) on(day time.Time) bool {
	byDay, byWeekday := t.day&(1<<day.Day()) != 0, t.weekday&(1<<day.Weekday()) != 0
	if t.month&(1<<day.Month()) == 0 {
		return false
	}
	if t.anyDay || t.anyWeekday {
		return byDay && byWeekday
	}
	return byDay || byWeekday
}

// shown is when the clock of a place shows a time first, or goes on after leaving
// it out. wall has the fields that the clock shows, in UTC.
func shown(wall time.Time, in *time.Location) time.Time {
	offset := func(at time.Time) time.Duration {
		_, secs := at.In(in).Zone()
		return time.Duration(secs) * time.Second
	}
	before, after := offset(wall.Add(-26*time.Hour)), offset(wall.Add(26*time.Hour))
	first := wall.Add(-max(before, after))
	for _, at := range []time.Time{first, wall.Add(-min(before, after))} {
		if at.Add(offset(at)).Equal(wall) {
			return at.In(in)
		}
	}
	// Left out: by the clock of before, it is after the change.
	start, _ := wall.Add(-before).In(in).ZoneBounds()
	return start.In(in)
}
