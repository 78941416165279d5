package patterns

import (
	"math"
	"time"
)

// Expect is how long a phase that is to come will take: as long as half of those took
// at most that were done and are like it. What is like no others takes by its budget
// as long as all did. 0 = the past does not tell.
func Expect(p Planned, past []Phase) time.Duration {
	chosen, from := choose(p, keep(past, func(q Phase) bool { return q.Done && q.Time > 0 && q.Budget > 0 }))
	if len(chosen) < Few {
		return 0
	}
	seconds := make([]float64, len(chosen))
	for i, q := range chosen {
		if seconds[i] = q.Time.Seconds(); from == fromAll {
			seconds[i] *= float64(max(p.Budget, 1)) / float64(q.Budget)
		}
	}
	return time.Duration(max(math.Round(spread(seconds).Median), 1)) * time.Second
}
