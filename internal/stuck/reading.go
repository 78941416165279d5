package stuck

import (
	"maps"
	"slices"
	"strings"
)

// reading is an iteration beside all that came before it.
type reading struct {
	it    Iteration
	waits bool
	wait  WaitKind
	known bool // that it waits is not read from words alone

	news     bool // a call brought something that was not known
	fresh    bool // the files are as they never were, by a change that was not made before
	back     bool // the files are as they were before, once
	ground   bool // it touched a file that no iteration before it touched
	reported bool // a percentage above all before it
}

// idle says that nothing new stands in the files.
func (x reading) idle() bool { return !x.fresh && !x.reported }

// old says that the iteration brought nothing at all.
func (x reading) old() bool { return x.idle() && !x.news }

// seen is what the iterations so far have shown.
type seen struct {
	trees, shapes, files              map[string]bool
	subjects, asked, results, answers map[string]bool
	progress                          float64
}

func readings(history []Iteration) []reading {
	s := seen{
		trees: map[string]bool{}, shapes: map[string]bool{}, files: map[string]bool{},
		subjects: map[string]bool{}, asked: map[string]bool{}, results: map[string]bool{}, answers: map[string]bool{},
	}
	out := make([]reading, 0, len(history))
	for _, it := range history {
		out = append(out, s.read(it))
	}
	return out
}

func (s *seen) read(it Iteration) reading {
	x := reading{it: it}
	switch {
	case it.Wait != nil && it.Wait.Alive:
		x.waits, x.wait, x.known = true, it.Wait.Kind, true
	case it.Wait == nil && !it.Changed && !it.Failed && it.Word != "":
		x.waits, x.wait = true, it.Word
	case it.Wait == nil && !it.Changed && !it.Failed:
		x.wait, x.waits = saysItWaits(it.Said, len(it.Calls) > 0)
	}

	x.news = s.learn(it.Calls)
	for _, f := range it.Files {
		x.ground = x.ground || !s.files[f]
		s.files[f] = true
	}
	if it.Changed {
		newTree := it.Tree == "" || !s.trees[it.Tree]
		newShape := it.Shape == "" || !s.shapes[it.Shape]
		x.back = !newTree
		x.fresh = newTree && !it.Bare && (newShape || x.ground)
	}
	if it.Changed || !x.waits {
		s.trees[it.Tree] = true
	}
	if it.Changed {
		s.shapes[it.Shape] = true
	}

	if it.Progress > s.progress && it.Progress <= 100 {
		s.progress, x.reported = it.Progress, true
	}
	return x
}

// learn takes the calls of one iteration in, and says whether most of them
// brought something new. One new call among old ones does not. A result that
// was seen before is never new, whatever was asked; a new one is, when the same
// was asked before (a measurement) or nobody asked about its subject. Another
// part of what was looked at already is not.
func (s *seen) learn(calls []Call) bool {
	distinct := make(map[string]bool, len(calls))
	subjects, asked, results := map[string]bool{}, map[string]bool{}, map[string]bool{}
	all, fresh := 0, 0
	for _, c := range calls {
		subject, question := c.Name+"\x00"+c.Subject, c.Name+"\x00"+c.Args
		if c.Edit || distinct[subject+"\x00"+c.Result] {
			continue
		}
		distinct[subject+"\x00"+c.Result] = true
		all++
		if c.Result != "" && !s.results[c.Result] && (s.asked[question] || !s.subjects[subject]) {
			fresh++
		}
		subjects[subject], asked[question], results[c.Result] = true, true, true
	}
	maps.Copy(s.subjects, subjects)
	maps.Copy(s.asked, asked)
	maps.Copy(s.results, results)
	return fresh > 0 && 2*fresh >= all
}

// saysItWaits reads a wait from words, for agents that do not say it by a
// signal. Words are weak: they count only where nothing changed, and a question
// only where nothing else was done. English alone is understood.
func saysItWaits(said string, acted bool) (WaitKind, bool) {
	said = strings.ToLower(said)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
	}
	switch {
	case !acted && (strings.Contains(said, "?") || has("please ", "waiting for your", "waiting for an answer")):
		return WaitPerson, true
	case has("still running", "waiting for", "still waiting", "in progress", "not finished yet", "has not finished", "still building", "still pending", "is pending", "are pending"):
		if has("check", "pipeline", " ci", "ci ") {
			return WaitCI, true
		}
		return WaitProcess, true
	}
	return "", false
}
