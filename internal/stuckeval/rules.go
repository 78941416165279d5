package stuckeval

import (
	"forge/gates"
	"forge/internal/stuck"
)

// Rules are the rules that the table shows: Forge's under this threshold, what
// it had before, and what others have, written from their descriptions.
func Rules(threshold int) []Rule {
	return []Rule{
		Forge(threshold),
		{Name: "no tree change", Stuck: noTreeChange},
		{Name: "ten iterations", Stuck: func(h []stuck.Iteration) bool { return len(h) >= 10 }},
		{Name: "three calls alike", Stuck: alike(3, func(c stuck.Call) string { return c.Name + "\x00" + c.Args })},
		{Name: "five calls alike", Stuck: alike(5, func(c stuck.Call) string { return c.Name + "\x00" + c.Args })},
		{Name: "four calls, results alike", Stuck: alike(4, func(c stuck.Call) string { return c.Name + "\x00" + c.Args + "\x00" + c.Result })},
		{Name: "three errors alike", Stuck: errorsAlike},
		{Name: "three messages alike", Stuck: messagesAlike},
	}
}

// Forge is the rule of internal/stuck.
func Forge(threshold int) Rule {
	rules := stuck.RulesFor(threshold)
	return Rule{Name: "forge", Stuck: func(h []stuck.Iteration) bool { return stuck.Judge(h, rules).State == stuck.Stuck }}
}

// noTreeChange is what Forge did without the facts of an iteration: three in a
// row that ended well, without a change of the files or a higher percentage.
func noTreeChange(h []stuck.Iteration) bool {
	var progress gates.ProgressTracker
	stale := gates.StaleHandler{Threshold: stuck.DefaultThreshold}
	for _, it := range h {
		if it.Failed {
			continue
		}
		var moved bool
		progress, moved = progress.Observe(it.Changed, []float64{it.Progress})
		after, verdict := stale.Observe(moved)
		if verdict != gates.StaleContinue {
			return true
		}
		stale = after
	}
	return false
}

// alike finds n calls in a row with the same key, over all iterations as one stream.
func alike(n int, key func(stuck.Call) string) func([]stuck.Iteration) bool {
	return func(h []stuck.Iteration) bool {
		row, last := 0, ""
		for _, it := range h {
			for _, c := range it.Calls {
				if k := key(c); k == last {
					row++
				} else {
					row, last = 1, k
				}
				if row >= n {
					return true
				}
			}
		}
		return false
	}
}

// errorsAlike finds three errors of the same call in a row.
func errorsAlike(h []stuck.Iteration) bool {
	row, last := 0, ""
	for _, it := range h {
		for _, c := range it.Calls {
			k := c.Name + "\x00" + c.Args
			switch {
			case !c.Error:
				row, last = 0, ""
			case k == last:
				row++
			default:
				row, last = 1, k
			}
			if row >= 3 {
				return true
			}
		}
	}
	return false
}

// messagesAlike finds three iterations in a row that end with the same words.
func messagesAlike(h []stuck.Iteration) bool {
	row := 1
	for i := 1; i < len(h); i++ {
		if h[i].Said == h[i-1].Said {
			row++
		} else {
			row = 1
		}
		if row >= 3 {
			return true
		}
	}
	return false
}
