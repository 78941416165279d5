package factory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/internal/work"
)

// An agent that failed or hung in BreakerFailures runs in a row is left alone
// for BreakerCool, twice as long each time that it fails again right after, up
// to BreakerMost.
const (
	BreakerFailures = 3
	BreakerCool     = 10 * time.Minute
	BreakerMost     = 12 * time.Hour
)

// Judge counts what agents did in one run, and says which of them are left
// alone from now on. f is not changed.
func Judge(f work.Floor, broken, worked []string, why string, now time.Time) (work.Floor, []string) {
	breakers := maps.Clone(f.Breakers)
	if breakers == nil {
		breakers = map[string]work.Breaker{}
	}
	var tripped []string
	for _, name := range worked {
		if !slices.Contains(broken, name) {
			delete(breakers, name)
		}
	}
	for _, name := range broken {
		b := breakers[name]
		b.Failures, b.Why = b.Failures+1, why
		// After a cool-down one more failure is enough.
		if b.Failures >= BreakerFailures && !now.Before(b.Until) {
			b.Until = now.Add(min(BreakerCool<<min(b.Trips, 10), BreakerMost)).UTC()
			b.Trips++
			tripped = append(tripped, name)
		}
		breakers[name] = b
	}
	f.Breakers = breakers
	return f, tripped
}

// Tripped are those of agents with which nothing is begun now, "" = all.
func Tripped(f work.Floor, agents []string, now time.Time) []string {
	var out []string
	for _, name := range agents {
		if now.Before(f.Breakers[name].Until) {
			out = append(out, name)
		}
	}
	return out
}

// sayBreakers tells which agents are left alone, in words; "" = none.
func sayBreakers(f work.Floor, now time.Time) string {
	var parts []string
	for _, name := range Tripped(f, slices.SortedFunc(maps.Keys(f.Breakers), cmp.Compare[string]), now) {
		b := f.Breakers[name]
		parts = append(parts, fmt.Sprintf("agent %s failed in %d runs in a row, and is left alone until %s", name, b.Failures, b.Until.Format(time.RFC3339)))
	}
	return strings.Join(parts, "; ")
}
