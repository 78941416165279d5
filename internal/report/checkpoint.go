package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/factory"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// Checkpoint is what a checkpoint asks and what is judged, without the patch.
// Words of others in it may still act on a terminal.
func Checkpoint(p *project.Checkout, s approval.Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n\n", s.ID, s.Question)
	phase := s.Phase
	if phase == "" {
		phase = "the run as a whole"
	} else {
		phase += " " + s.Name
	}
	rows := [][]string{
		{"  status", statusLine(s.Checkpoint)}, {"  run", s.Run}, {"  phase", phase},
		{"  gate", strings.Join(s.Points, ", ")},
		{"  revision", fmt.Sprintf("%d, content %s", s.Revision, text.Short(s.Hash))},
		{"  policy", cmp.Or(s.Level, "of its own") + ", version " + text.Short(s.Policy)},
		{"  who", s.Who},
		{"  opened", s.OpenedAt.Local().Format(time.DateTime) + " (" + p.Ago(s.OpenedAt) + ")"},
	}
	if s.ExpiresAt != nil {
		end := s.ExpiresAt.Local().Format(time.DateTime)
		if _, over := gates.Expire(s.Checkpoint, p.Now()); over {
			end += "; its time is over: it still waits, and forge resume " + s.Run + " asks again"
		}
		rows = append(rows, []string{"  expires", end})
	}
	if line := pullLine(s.Pull); line != "" {
		rows = append(rows, []string{"  pull request", line})
		if s.Pull.News != "" {
			rows = append(rows, []string{"  news", s.Pull.News})
		}
	}
	b.WriteString(text.Table(rows[0], rows[1:]))
	if s.Comment != "" {
		b.WriteString("\nComment:\n" + text.Indent(strings.TrimSpace(s.Comment)) + "\n")
	}
	if s.Facts != "" {
		b.WriteString("\nFacts:\n" + text.Indent(strings.TrimSpace(factory.PlainFacts(s.Facts))) + "\n")
	}
	if s.Papers != nil {
		b.WriteString(folderText(*s.Papers))
	}
	b.WriteString(wordsText(s.Words, gates.Point(s.Kind) == gates.PointFindings))
	b.WriteString(evidenceText(s.Evidence))
	b.WriteString(changesText(s))
	b.WriteString(Verdicts(s.Verdicts))
	b.WriteString(triageText(s.Triage))
	b.WriteString(waysText(s))
	return b.String()
}

func statusLine(cp work.Checkpoint) string {
	text := strings.ReplaceAll(string(cp.Status), "_", " ")
	if cp.AnsweredAt != nil {
		text += fmt.Sprintf(" by %s (%s) at %s", cp.AnsweredBy, cp.Door, cp.AnsweredAt.Local().Format(time.DateTime))
	}
	if cp.Choice != "" {
		text += ", choice " + cp.Choice
	}
	return text
}

// untilWhen says how long a question may be answered, where it has an end.
func untilWhen(cp work.Checkpoint, now time.Time) string {
	if cp.ExpiresAt == nil {
		return ""
	}
	if _, over := gates.Expire(cp, now); over || cp.Status == work.CheckpointExpired {
		return "  (its time is over; forge resume " + cp.Run + " asks again)"
	}
	return "  (until " + cp.ExpiresAt.Local().Format("2006-01-02 15:04") + ")"
}

func evidenceText(e approval.Evidence) string {
	var b strings.Builder
	if v := e.Verify; v != nil {
		word := "passed"
		if !v.OK {
			word = "FAILED: " + v.Problem
		}
		fmt.Fprintf(&b, "  verify on %s: %s (%s)\n", v.On.Tree(), word, v.Command)
	}
	for _, n := range slices.Sorted(maps.Keys(e.Proofs)) {
		if _, known := e.Records[n]; !known {
			fmt.Fprintf(&b, "  phase %s: %s\n", n, e.Proofs[n])
		}
	}
	for _, n := range slices.Sorted(maps.Keys(e.Records)) {
		b.WriteString(narrate.RecordText(n, e.Records[n]))
	}
	if len(e.Protected) > 0 {
		fmt.Fprintf(&b, "  protected files it touched: %s\n", strings.Join(e.Protected, ", "))
	}
	if len(e.Gone) > 0 {
		fmt.Fprintf(&b, "  tests of the base that are gone: %s\n", strings.Join(e.Gone, ", "))
	}
	if b.Len() == 0 {
		return narrate.DoubtsText(e.Doubts)
	}
	return narrate.DoubtsText(e.Doubts) + "\nEvidence:\n" + b.String()
}

// changesText lists the changed files, up to fifty.
func changesText(s approval.Record) string {
	if len(s.Files) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nChanges: %s..%s, %s\n", text.Short(s.From), text.Short(s.Judged), text.Number(len(s.Files), "file"))
	const most = 50
	for i, f := range s.Files {
		if i == most {
			fmt.Fprintf(&b, "  … and %d more\n", len(s.Files)-most)
			break
		}
		fmt.Fprintf(&b, "  %s %s\n", f.Status, f.Path)
	}
	return b.String()
}

// waysText is the commands that answer it, while it can be answered.
func waysText(s approval.Record) string {
	if s.Status != work.CheckpointPending || s.Over {
		return ""
	}
	var rows [][]string
	if len(s.Choices) < 2 { // aborting is always one
		reason := ""
		switch {
		case s.ReasonDue:
			reason = " -m REASON"
		case s.AnswerDue:
			reason = " -m ANSWER"
		}
		rows = [][]string{{"  forge approve " + s.ID + reason, ""}, {"  forge request-changes " + s.ID + " -m TEXT", ""}, {"  forge reject " + s.ID, ""}}
	}
	for _, c := range s.Choices {
		verb, comment := "approve", ""
		switch c.Answer {
		case work.CheckpointRejected:
			verb = "reject"
		case work.CheckpointChangesRequested:
			verb, comment = "request-changes", " -m TEXT"
		}
		rows = append(rows, []string{fmt.Sprintf("  forge %s %s --choice %s%s", verb, s.ID, c.Name, comment), c.Label})
	}
	return "\nAnswer:\n" + text.Table(rows[0], rows[1:])
}

// wordsText leaves out findings that the facts of a question name already.
func wordsText(w approval.Words, named bool) string {
	var b strings.Builder
	if w.Summary != "" {
		b.WriteString("\nThe agent's last words:\n" + text.Indent(strings.TrimSpace(w.Summary)) + "\n")
	}
	if len(w.Findings) > 0 && !named {
		b.WriteString("\nFindings:\n")
		for _, f := range w.Findings {
			where := ""
			if f.File != "" {
				where = fmt.Sprintf(" %s:%d", f.File, f.Line)
			}
			b.WriteString(text.Indent(fmt.Sprintf("%s (%s)%s: %s", f.Severity, f.By(), where, f.Issue)) + "\n")
			if f.Suggestion != "" {
				b.WriteString(text.Indent(text.Indent(f.Suggestion)) + "\n")
			}
		}
	}
	if len(w.Doubts) > 0 {
		b.WriteString("\nDoubts:\n" + text.Indent(strings.Join(w.Doubts, "\n")) + "\n")
	}
	for i, l := range w.Lessons {
		if i == 0 {
			b.WriteString("\nLessons that it proposes (forge learn " + l.Run + " keeps them):\n")
		}
		b.WriteString(text.Indent(narrate.LessonText(l)) + "\n")
	}
	return b.String()
}

// Verdicts lists what was said of single files.
func Verdicts(all []work.FileVerdict) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nFiles judged one by one:\n")
	for _, v := range all {
		fmt.Fprintf(&b, "  %s: %s by %s\n", v.Path, strings.ReplaceAll(string(v.Status), "_", " "), v.By)
		if v.Comment != "" {
			b.WriteString(text.Indent(strings.TrimSpace(v.Comment)) + "\n")
		}
	}
	return b.String()
}

// triageText is what stands below the facts.
func triageText(t *approval.Triage) string {
	switch {
	case t == nil || t.Proposal == nil && len(t.Least) == 0:
		return ""
	case t.Proposal == nil:
		return "\nInferred, if the policy had: " + leastText(t.Least) + "\n"
	}
	return "\nUnasked, if the policy had: " + leastText(t.Least) + "\n"
}

// leastText says which change of a policy would have let something through.
func leastText(changes []gates.Change) string {
	if len(changes) == 0 {
		return "no policy decides this"
	}
	words := make([]string, len(changes))
	for i, c := range changes {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}
