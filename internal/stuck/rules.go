package stuck

import (
	"slices"
	"strings"
)

// maxPeriod is the longest cycle that is looked for, in iterations.
const maxPeriod = 4

// nothingNew finds the end of a stretch in which the files show nothing new, at
// least Idle iterations, of which the last two also learnt nothing.
func (r Rules) nothingNew(all []reading) (Verdict, bool) {
	run := suffix(all, reading.idle)
	if len(run) < r.Idle || !all[len(all)-1].old() || len(all) > 1 && r.Idle > 1 && !all[len(all)-2].old() {
		return Verdict{}, false
	}
	return nothingVerdict(all, run), true
}

// noChange finds Long iterations that left the files as they were, whatever was
// read meanwhile.
func (r Rules) noChange(all []reading) (Verdict, bool) {
	run := suffix(all, func(x reading) bool { return !x.it.Changed })
	if len(run) < r.Long {
		return Verdict{}, false
	}
	return Verdict{Since: run[0].it.N, Pattern: NoChange, Evidence: longEvidence(run)}, true
}

// turns finds a cycle of two to four states that was gone through Turns times:
// of the files, of the changes made to them, or of the tests that fail.
func (r Rules) turns(all []reading) (Verdict, bool) {
	for period := 2; period <= maxPeriod; period++ {
		n := period * r.Turns
		if len(all) < n {
			break
		}
		run := all[len(all)-n:]
		if !slices.ContainsFunc(run, func(x reading) bool { return !x.it.Changed }) && !run[n-1].news && !run[n-2].news {
			if repeats(run, period, func(x reading) string { return x.it.Tree }) {
				return Verdict{Since: run[0].it.N, Pattern: EditRevert, Evidence: treesEvidence(run, period)}, true
			}
			if repeats(run, period, func(x reading) string { return x.it.Shape }) && !run[n-1].ground {
				return Verdict{Since: run[0].it.N, Pattern: churnPattern(all, run), Evidence: shapesEvidence(run, period)}, true
			}
		}
		if repeats(run, period, failingKey) {
			return Verdict{Since: run[0].it.N, Pattern: Cycle, Evidence: testsEvidence(run, period)}, true
		}
	}
	return Verdict{}, false
}

// repeats says that the keys of run go round in this period, and not all the same.
func repeats(run []reading, period int, key func(reading) string) bool {
	distinct := map[string]bool{}
	for i, x := range run {
		k := key(x)
		if k == "" || i >= period && k != key(run[i-period]) {
			return false
		}
		distinct[k] = true
	}
	return len(distinct) > 1
}

// failingKey names the tests that failed; "" = none did, or nobody ran them.
func failingKey(x reading) string {
	if !x.it.Tested {
		return ""
	}
	return key(x.it.Failing)
}

func key(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "\n")
}

// sameTests finds changes after which the same tests fail, Same of them. A
// change that breaks new ground counts half, and so does one after which nobody
// ran the tests and nothing was learnt; one that is both does not count. That
// leaves time to work on what takes long, and none to turn on one spot.
func (r Rules) sameTests(all []reading) (Verdict, bool) {
	now, since, halves := "", 0, 0
	for i, x := range all {
		k := failingKey(x)
		switch {
		case x.it.Tested && (k == "" || k != now):
			now, since, halves = k, i, 0
		case now == "" || !x.it.Changed:
		case x.it.Tested && !x.ground:
			halves += 2
		case x.it.Tested || !x.ground && !x.news:
			halves++
		}
	}
	if now == "" || halves < 2*r.Same || !all[len(all)-1].it.Changed {
		return Verdict{}, false
	}
	run := all[since:]
	pattern := SameTests
	if !run[len(run)-1].it.Tested {
		pattern = Busywork
	}
	return Verdict{Since: run[0].it.N, Pattern: pattern, Evidence: sameEvidence(run)}, true
}

// sameRed finds changes after which the verify is red in the same way, Same of them.
func (r Rules) sameRed(all []reading) (Verdict, bool) {
	red, since, count := "", 0, 0
	for i, x := range all {
		switch {
		case x.it.Red == "":
		case x.it.Red != red:
			red, since, count = x.it.Red, i, 0
		case x.it.Changed:
			count++
		}
	}
	if count < r.Same || all[len(all)-1].it.Red == "" {
		return Verdict{}, false
	}
	return Verdict{Since: all[since].it.N, Pattern: SameTests, Evidence: redEvidence(all[since:], count)}, true
}

// suffix is the longest end of all for which holds is true.
func suffix(all []reading, holds func(reading) bool) []reading {
	i := len(all)
	for i > 0 && holds(all[i-1]) {
		i--
	}
	return all[i:]
}

// nothingVerdict names what a stretch without anything new was.
func nothingVerdict(all, run []reading) Verdict {
	v := Verdict{Since: run[0].it.N}
	last := run[len(run)-1].it
	switch {
	case last.Wait != nil && !last.Changed:
		v.Pattern = DeadWait
	case !slices.ContainsFunc(run, func(x reading) bool { return x.it.Changed }):
		v.Pattern = NoChange
	default:
		v.Pattern = churnPattern(all, run)
	}
	v.Evidence = nothingEvidence(run, v.Pattern)
	return v
}

// churnPattern names a stretch in which changes were made, none of them new.
func churnPattern(all, run []reading) Pattern {
	bare, back := true, true
	for _, x := range run {
		if x.it.Changed {
			bare, back = bare && x.it.Bare, back && x.back
		}
	}
	switch {
	case bare:
		return Comments
	case back:
		return EditRevert
	case green(all):
		return Polishing
	}
	return Busywork
}

// green says that all tests passed when they last ran.
func green(all []reading) bool {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].it.Tested {
			return len(all[i].it.Failing) == 0
		}
	}
	return false
}
