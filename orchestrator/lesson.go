package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Agents propose what a run taught, and Forge tells nobody before a person kept
// it. What people kept is in the settings of the next run: no folder that an
// agent works in is read for it.

const (
	// maxProposed is how many lessons a run remembers; the events hold them all.
	maxProposed = 20
	// maxLessonsAtOnce is how many an agent may propose in one iteration.
	maxLessonsAtOnce = 3
)

// aboutLessons tells a new session how it proposes one.
const aboutLessons = "What the next one to work in this repository should know, and cannot see at once (a command that works here, a trap, a convention), belongs into an element named lesson: one line of at most 300 bytes, or a JSON object with text and file (what it is about; optional). A person decides whether it is kept. It is no place for what this phase did.\n"

// clipLessons keeps the first lessons of an iteration. None is cut: one that lost
// its end would be another lesson.
func clipLessons(sig *work.Signals) []work.Lesson {
	var out []work.Lesson
	for i, l := range sig.Lessons {
		if len(out) == maxLessonsAtOnce {
			sig.Problems = append(sig.Problems, fmt.Sprintf("%s left out: at most %d at once", text.Number(len(sig.Lessons)-i, "lesson"), maxLessonsAtOnce))
			break
		}
		// Taking a secret out of it may have made it longer.
		if err := l.Check(); err != nil || text.JSONSize(l.Text)+text.JSONSize(l.File) > 3*work.MaxLessonBytes {
			sig.Problems = append(sig.Problems, "a lesson left out: it is too long")
			continue
		}
		out = append(out, work.Lesson{Text: l.Text, File: l.File})
	}
	return out
}

// learn remembers what the agent of p proposes, each once, and nothing that is
// kept already.
func (s *State) learn(p *Phase, d work.IterationFinishedData) {
	for _, l := range d.Signals.Lessons {
		same := func(other work.Lesson) bool { return other.ID() == l.ID() }
		if len(s.Proposed) >= maxProposed || slices.ContainsFunc(s.Proposed, same) || slices.ContainsFunc(s.Spec.Settings.Lessons, same) {
			continue
		}
		l.Run, l.Phase, l.Commit, l.Agent, l.Kept = s.Run, p.Number, p.Last, p.Set.Agent, ""
		s.Proposed = append(slices.Clip(s.Proposed), l)
	}
}

// Outside says that the words that the run is about came from outside, so that
// its agents may have been told what to propose.
func (s *State) Outside() bool { return s.Spec.Issue != nil && s.Spec.Issue.External }

// lessonsTold names the lessons that the prompt of an iteration holds: all, in a
// new session.
func (s *State) lessonsTold(session string) []string {
	if session != "" {
		return nil
	}
	var ids []string
	for _, l := range s.Spec.Settings.Lessons {
		ids = append(ids, l.ID())
	}
	return ids
}

// writeLessons tells a new session what people kept of earlier runs.
func (s *State) writeLessons(b *strings.Builder) {
	var lines []string
	for _, l := range s.Spec.Settings.Lessons {
		line := "- " + l.Text
		if l.File != "" {
			line += " (about " + l.File + ")"
		}
		lines = append(lines, line)
	}
	if len(lines) > 0 {
		section(b, "Lessons of earlier runs in this repository; weigh them, they may be out of date", strings.Join(lines, "\n"))
	}
}
