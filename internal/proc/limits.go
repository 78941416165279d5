package proc

import "time"

// reading is the state of a clock at one moment.
type reading struct {
	started bool
	touched time.Duration // last activity
	busy    bool
	result  time.Duration // 0 = none yet
}

func (c *clock) read() reading {
	return reading{
		started: c.started.Load(),
		touched: time.Duration(c.touched.Load()),
		busy:    c.busy.Load() > 0,
		result:  time.Duration(c.result.Load()),
	}
}

// due says which limit is over at now, the earliest first, or how long to wait
// before looking again. All times count from the start.
func (l Limits) due(r reading, now time.Duration) (End, time.Duration) {
	var first End
	at := now + time.Hour
	consider := func(end End, limit, from time.Duration) {
		if limit > 0 && from+limit < at {
			first, at = end, from+limit
		}
	}
	consider(EndTotal, l.Total, 0)
	if !r.started {
		consider(EndStart, l.Start, 0)
	}
	if r.result > 0 {
		consider(EndPostResult, l.PostResult, r.result)
	}
	// Before the start the start limit measures, after the result the
	// post-result limit; where those are off, silence does.
	measured := !r.started && l.Start > 0 || r.result > 0 && l.PostResult > 0
	if !measured && !r.busy {
		consider(EndIdle, l.Idle, r.touched)
	}
	if first != "" && at <= now {
		return first, 0
	}
	return "", at - now
}
