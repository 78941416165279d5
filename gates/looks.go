package gates

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Looks have a person look before the work of some phases is merged, whatever the
// gates there say. They only add questions; the zero value adds none.
type Looks struct {
	// Every is after how many phases at the latest a person looks at one; 0 = any
	// number may follow each other unseen.
	Every int `json:"every,omitempty" toml:"every"`
	// Milestones are globs: a person looks at each phase whose name one matches.
	Milestones []string `json:"milestones,omitempty" toml:"milestones"`
	// ConfidenceBelow is from 0 to 1: a person looks at each phase that is less
	// sure, and at each of which nobody knows how sure it is; 0 = at none.
	ConfidenceBelow float64 `json:"confidence_below,omitempty" toml:"confidence_below"`
}

const (
	mostEvery = 10_000 // more phases than a run has
	// A policy stands in events, which are small.
	mostMilestones     = 20
	mostMilestoneBytes = 100
)

// PhaseEnd is what Looks go by.
type PhaseEnd struct {
	Name string
	// Unseen is how many other phases ended since a person looked at one.
	Unseen int
	// Confidence is how sure those who judged the phase are of it; nil = unknown.
	Confidence *float64
}

// Due says why a person looks before the work of a phase is merged; "" = none of
// the rules asks for it.
func (l Looks) Due(e PhaseEnd) string {
	l = meetLooks(l, l)
	var why []string
	if l.Every > 0 && e.Unseen+1 >= l.Every {
		why = append(why, eachOf(l.Every, "each phase is looked at", "one of every %d phases is looked at"))
	}
	if pattern, ok, err := work.MatchName(l.Milestones, e.Name); err != nil {
		why = append(why, "a milestone cannot be read: "+err.Error())
	} else if ok {
		why = append(why, "it is a milestone ("+text.Clip(pattern, mostQuoted)+")")
	}
	switch c := e.Confidence; {
	case l.ConfidenceBelow == 0:
	case c == nil || !(*c >= 0 && *c <= 1):
		why = append(why, "nobody said how sure its review is")
	case *c < l.ConfidenceBelow:
		why = append(why, fmt.Sprintf("its review is %.0f %% sure, and below %.0f %% you are asked", *c*100, l.ConfidenceBelow*100))
	}
	return strings.Join(why, "; ")
}

// ways are the changes without which a person looks at e.
func (l Looks) ways(e *PhaseEnd) []Change {
	var out []Change
	for _, one := range []struct {
		rule Looks
		off  Change
	}{
		{Looks{Every: l.Every}, Change{Axis{Name: "every"}, 0.0, 1}},
		{Looks{Milestones: l.Milestones}, Change{Axis{Name: "milestones"}, []string{}, 1}},
		{Looks{ConfidenceBelow: l.ConfidenceBelow}, Change{Axis{Name: "confidence_below"}, 0.0, 1}},
	} {
		if e != nil && one.rule.Due(*e) != "" {
			out = append(out, one.off)
		}
	}
	return out
}

// meetLooks is, per rule, the one that asks more often.
func meetLooks(a, b Looks) Looks {
	out := Looks{Every: usableEvery(a.Every), ConfidenceBelow: max(usableBelow(a.ConfidenceBelow), usableBelow(b.ConfidenceBelow))}
	if every := usableEvery(b.Every); out.Every == 0 || every > 0 && every < out.Every {
		out.Every = every
	}
	out.Milestones = slices.Concat(a.Milestones, b.Milestones)
	slices.Sort(out.Milestones)
	out.Milestones = slices.Compact(out.Milestones)
	return out
}

func usableEvery(n int) int {
	if n < 0 || n > mostEvery {
		return 1
	}
	return n
}

// usableBelow takes what is no number from 0 to 1 for one that nothing reaches.
func usableBelow(f float64) float64 {
	if f >= 0 && f <= 1 {
		return f
	}
	return unreachableFloor
}

func eachOf(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(more, n)
}

// looksNames are the axes of Looks, in the order in which they are shown.
func looksNames() []string { return []string{"every", "milestones", "confidence_below"} }

// None says that no rule asks for anything.
func (l Looks) None() bool { return l.Every == 0 && len(l.Milestones) == 0 && l.ConfidenceBelow == 0 }

func (l Looks) problems() []work.Problem {
	var out []work.Problem
	add := func(path, what, fix string) {
		out = append(out, work.Problem{Path: path, What: what, Fix: fix})
	}
	if usableEvery(l.Every) != l.Every {
		add("every", fmt.Sprintf("every %d phases", l.Every), fmt.Sprintf("use a whole number from 1 to %d, or 0 for never", mostEvery))
	}
	if n := len(l.Milestones); n > mostMilestones {
		add("milestones", fmt.Sprintf("%d patterns", n), fmt.Sprintf("write at most %d; {a,b} takes several names into one", mostMilestones))
	}
	for i, pattern := range l.Milestones {
		if len(pattern) > mostMilestoneBytes || text.Hides(pattern) {
			add(fmt.Sprintf("milestones[%d]", i), "a pattern of unusable form", fmt.Sprintf("use printable text of at most %d bytes", mostMilestoneBytes))
			continue
		}
		if _, _, err := work.MatchName([]string{pattern}, ""); err != nil {
			add(fmt.Sprintf("milestones[%d]", i), err.Error(), `write such as "design-*"; \ before [ { * ? takes them literally`)
		}
	}
	if usableBelow(l.ConfidenceBelow) == unreachableFloor {
		add("confidence_below", fmt.Sprintf("a confidence of %v", l.ConfidenceBelow), "use a number from 0 to 1")
	}
	return out
}

// when ends the sentence "it stops …", "" where no rule asks for anything.
func (l Looks) when() string {
	var of []string
	if l.Every > 0 {
		of = append(of, eachOf(l.Every, "of each phase", "at the latest after every %d phases"))
	}
	if len(l.Milestones) > 0 {
		of = append(of, "of each phase that is named "+text.Clip(strings.Join(l.Milestones, " or "), 300))
	}
	switch {
	case l.ConfidenceBelow > 1:
		of = append(of, "however sure its review is")
	case l.ConfidenceBelow > 0:
		of = append(of, fmt.Sprintf("where its review is less than %.0f %% sure, or was not asked", l.ConfidenceBelow*100))
	}
	if len(of) == 0 {
		return ""
	}
	return "before the work of a phase is merged: " + strings.Join(of, "; ")
}
