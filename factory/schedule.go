package factory

import (
	"fmt"
	"time"

	"forge/internal/work"
)

// ScheduleStep is what is to be done about a schedule.
type ScheduleStep string

const (
	ScheduleWait  ScheduleStep = "wait"  // nothing is due
	ScheduleBegin ScheduleStep = "begin" // seen for the first time: what was due before it was written is not
	ScheduleAdd   ScheduleStep = "add"   // put its issue on the board
	ScheduleSkip  ScheduleStep = "skip"  // due, and nothing is put there
)

// ScheduleSeen is how a schedule stands.
type ScheduleSeen struct {
	Known    bool      // it was decided on before, for Due
	Due      time.Time // the last due time that was decided on
	Paused   bool
	Open     int64 // its last issue, where that is not over; 0 = it is
	SkipOpen bool
}

// recent is from how far back each due time is looked at; of a longer pause only
// the last one counts, as always.
const recent = 48 * time.Hour

// NextOfSchedule decides what is done about a schedule now, and for which due
// time. However many were missed, the last one alone counts: the issue is about
// how things are now. next is the first due time after one; zero = there is none.
func NextOfSchedule(next func(after time.Time) time.Time, s ScheduleSeen, now time.Time) (step ScheduleStep, due time.Time, why string) {
	if !s.Known {
		return ScheduleBegin, now, "seen for the first time"
	}
	for _, from := range []time.Time{now.Add(-recent), s.Due} {
		if from.Before(s.Due) {
			from = s.Due
		}
		for at := next(from); !at.IsZero() && !at.After(now); at = next(at) {
			due = at
		}
		if !due.IsZero() {
			break
		}
	}
	switch {
	case due.IsZero():
		return ScheduleWait, due, ""
	case s.Paused:
		return ScheduleSkip, due, "it is paused"
	case s.Open != 0 && s.SkipOpen:
		return ScheduleSkip, due, fmt.Sprintf("issue %d, its last one, is not done", s.Open)
	}
	return ScheduleAdd, due, "on time"
}

// Over says that nobody works on an issue any more, now or later.
func Over(i work.Issue) bool {
	return i.Column == work.ColumnDone || i.State == work.IssueCancelled
}
