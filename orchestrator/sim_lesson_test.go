package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/work"
)

// simLessons are what agents of the simulation propose; people kept some before.
func simLessons() []work.Lesson {
	var out []work.Lesson
	for _, words := range []string{"run make gen first", "tests want TZ=UTC", "names are in kebab case", "the port is 8080"} {
		out = append(out, work.Lesson{Text: words})
	}
	return out
}

func randomLessons(d dice, sp *Spec) {
	for _, l := range simLessons() {
		if d.learns.IntN(100) < 15 {
			sp.Settings.Lessons = append(sp.Settings.Lessons, l)
		}
	}
}

// teaches lets an agent propose lessons, mostly the same again.
func (w *world) teaches(s *work.Signals) {
	if w.learns.IntN(100) >= 6 {
		return
	}
	w.fault("a lesson")
	for range 1 + w.learns.IntN(4) {
		s.Lessons = append(s.Lessons, simLessons()[w.learns.IntN(len(simLessons()))])
	}
}

// lessons: what an agent proposes is remembered once and told to nobody; what
// people kept is told to every new session.
func (c *invariants) lessons(s *State, p *Phase, e work.Event) error {
	kept := s.Spec.Settings.Lessons
	named := func(list []work.Lesson, words string) int {
		return len(slices.DeleteFunc(slices.Clone(list), func(l work.Lesson) bool { return l.Text != words }))
	}
	for words := range c.taught {
		if named(s.Proposed, words)+named(c.w.spec.Settings.Lessons, words) != 1 {
			return fmt.Errorf("a lesson is lost or there twice: %q", words)
		}
	}
	for _, l := range s.Proposed {
		if !c.taught[l.Text] || l.Run != s.Run || l.Phase == "" || l.Agent == "" {
			return fmt.Errorf("nobody proposed the lesson %+v", l)
		}
	}
	switch e.Kind {
	case work.IterationStarted:
		var d work.IterationStartedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		prompt := Prompt(s, p, d.Session)
		for _, l := range simLessons() {
			due := d.Session == "" && named(c.w.spec.Settings.Lessons, l.Text) > 0
			switch {
			case due != strings.Contains(prompt, "- "+l.Text):
				return fmt.Errorf("phase %s is told a lesson, %t, and it was kept, %t: %q", p.Number, !due, due, l.Text)
			case due != slices.Contains(d.Lessons, l.ID()):
				return fmt.Errorf("phase %s is said to be told %q", p.Number, d.Lessons)
			}
		}
	case work.IterationFinished:
		var d work.IterationFinishedData
		if err := read(c, e, &d); err != nil || d.Outcome == work.OutcomeInterrupted || d.Outcome == work.OutcomeRateLimited {
			return err
		}
		for _, l := range d.Signals.Lessons {
			if named(kept, l.Text) == 0 {
				note(c, c.taught, l.Text, true)
			}
		}
	}
	return nil
}
