package narrate

import (
	"fmt"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// ResultText says where the result of a run is, what changed, and how it gets
// into a branch or out of it again. landed is what a board knows of an issue's
// result; "" = nothing.
func ResultText(s *orchestrator.State, landed string) string {
	d := s.Delivery
	switch {
	case d == nil:
		return ""
	case len(d.Repositories) > 0:
		return repositoriesText(d)
	case d.Reason == work.NothingChanged || d.Commit != "" && d.Commit == s.Spec.Base.Commit:
		return "Result: nothing was changed: there is nothing to merge\n"
	}

	where := d.Branch
	if d.Commit != "" {
		where += ", commit " + text.Short(d.Commit)
	}
	switch {
	case d.FastForwarded:
		return fmt.Sprintf("Result: %s, your branch %s was moved to it.\n%sUndo:   %s\n", d.Branch, s.Spec.Base.Branch, diffLine(s), d.Undo)
	case landed != "":
		return fmt.Sprintf("Result: %s; issue %d: %s\n%s", where, s.Spec.Issue.ID, landed, diffLine(s))
	case s.Spec.Issue != nil && s.Outcome == work.RunCompleted:
		return fmt.Sprintf("Result: %s, for the factory to land (forge issue show %d)\n%s", where, s.Spec.Issue.ID, diffLine(s))
	}
	return fmt.Sprintf("Result: %s (not merged: %s)\n%sMerge:  %s\n", d.Branch, d.Reason, diffLine(s), d.Next)
}

// AssumedText lists what the result rests on that nobody knows; "" = nothing.
func AssumedText(s *orchestrator.State) string {
	var b strings.Builder
	for _, a := range s.Assumed {
		b.WriteString("  " + text.OneLine(a.String(), 300) + "\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return "Assumed: look at this, nobody was asked\n" + b.String()
}

// FollowUpsText lists what people who approved left for later; "" = nothing.
func FollowUpsText(s *orchestrator.State) string {
	var b strings.Builder
	for _, f := range s.FollowUps {
		b.WriteString("  " + text.OneLine(f.String(), 400) + "\n")
	}
	if b.Len() == 0 {
		return ""
	}
	return "Left for later by who approved it:\n" + b.String()
}

// LessonsText lists what the agents of a run propose to tell those that work here
// next, and how it is kept; "" = nothing. Of one phase where it is named.
func LessonsText(s *orchestrator.State, phase string) string {
	var b strings.Builder
	for i, l := range s.Proposed {
		if phase == "" || phase == l.Phase {
			fmt.Fprintf(&b, "  %d  %s\n", i+1, LessonText(l))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "Lessons: its agents propose them, nobody is told before you keep them\n" + b.String() + "Keep:   forge learn " + s.Run + " --keep N\n"
}

// LessonText is a lesson in a line.
func LessonText(l work.Lesson) string {
	line := text.OneLine(l.Text, work.MaxLessonBytes)
	if l.File != "" {
		line += " (about " + text.OneLine(l.File, 100) + ")"
	}
	return line
}

// lessons are those that an iteration proposed.
func lessons(sig work.Signals) string {
	var all []string
	for _, l := range sig.Lessons {
		all = append(all, LessonText(l))
	}
	return strings.Join(all, " | ")
}

func diffLine(s *orchestrator.State) string {
	if diff := DiffCommand(s); diff != "" {
		return "Diff:   " + diff + "\n"
	}
	return ""
}

// DiffCommand shows what a run changed; "" where it delivered nothing.
func DiffCommand(s *orchestrator.State) string {
	if s.Delivery == nil || s.Delivery.Commit == "" || s.Spec.Base.Commit == "" || s.Delivery.Commit == s.Spec.Base.Commit {
		return ""
	}
	return "git diff " + text.Short(s.Spec.Base.Commit) + " " + text.Short(s.Delivery.Commit)
}

// KeptText says of each phase that failed how its work can be had; "" where none
// left any. Of one phase where it is named.
func KeptText(s *orchestrator.State, phase string) string {
	var b strings.Builder
	for _, n := range s.Order {
		if p := s.View(n); p.Outcome == work.PhaseFailed && p.Kept() && (phase == "" || phase == n) {
			fmt.Fprintf(&b, "Kept:   the work of phase %s: %s\n", n, takeCommand(s, n))
		}
	}
	return b.String()
}

// WithKept is why a phase of a run failed, with how its work can be had where it
// left any: together not longer than a card shows.
func WithKept(why string, s *orchestrator.State, p *orchestrator.View) string {
	if !p.Kept() {
		return why
	}
	more := "; its work is kept: " + takeCommand(s, p.Number)
	return text.Clip(work.OneLine(why), work.MaxIssueReason-len(more)) + more
}

func takeCommand(s *orchestrator.State, phase string) string {
	return "forge take " + s.Run + " " + phase
}

// maxTimedPhases are named with their times; of more, the sum alone is said.
const maxTimedPhases = 12

// TookText says how long the run was worked on, and each phase with its money;
// "" when nobody knows.
func TookText(s *orchestrator.State, now time.Time) string {
	whole := s.Time.At(now)
	if whole == 0 {
		return ""
	}
	line := text.Took(whole)
	var parts []string
	for _, n := range s.Order {
		p := s.View(n)
		if took := p.Time.At(now); took > 0 {
			part := "phase " + n + " " + text.Took(took)
			if usd := p.Usage.Cost(); usd != nil && *usd > 0 {
				part += " " + text.USD(*usd)
			}
			parts = append(parts, part)
		}
	}
	if len(parts) > 0 && len(parts) <= maxTimedPhases {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	return line
}

// SpentText is what the run took so far, in few words; "" when nobody knows.
func SpentText(s *orchestrator.State, now time.Time) string {
	whole := s.Time.At(now)
	if whole == 0 {
		return ""
	}
	return text.Took(whole) + ", cost " + costText(s.Ledger)
}

// costText is what was spent as far as it is known.
func costText(l orchestrator.Ledger) string {
	switch {
	case l.UnknownUSD == 0:
		return text.USD(l.USD)
	case l.USD >= 0.01: // of less, USD says "less than"
		return "at least " + text.USD(l.USD)
	}
	return "unknown"
}

// MoneyText is what was spent so far. What nobody knows is not shown as nothing:
// where a part is unknown, the rest is said to be the least.
func MoneyText(l orchestrator.Ledger) string {
	tokens := text.Count(l.Tokens) + " tokens"
	switch {
	case l.UnknownTokens > 0 && l.Tokens > 0:
		tokens = "at least " + tokens
	case l.UnknownTokens > 0:
		tokens = "tokens unknown"
	}

	cost := costText(l)
	if l.UnknownUSD > 0 {
		cost += " (" + text.Number(l.UnknownUSD, "call") + " named no price)"
	}
	return cost + ", " + tokens
}

// ChoicesText names the choices of a question beside the three answers; "" when
// there are none.
func ChoicesText(cp work.Checkpoint) string {
	if len(cp.Choices) < 2 { // aborting is always one
		return ""
	}
	var names []string
	for _, c := range cp.Choices {
		names = append(names, c.Name)
	}
	return "      choices: " + strings.Join(names, ", ") + "  (forge show " + cp.ID + ")\n"
}
