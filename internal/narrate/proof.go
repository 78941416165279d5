package narrate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"charm.land/log/v2"

	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// How the command line and pull requests tell what a proof is worth. The words
// themselves are those of internal/work, which the pages say, too.

// sayVerify tells one run of the verify commands.
func sayVerify(d work.VerifyFinishedData) (string, facts) {
	f := facts{}
	for _, one := range d.Ran {
		f = append(f, [2]string{"ran", ranWords(one)})
	}
	if len(d.Ran) == 0 && d.Rides == "" { // as earlier releases wrote it
		f = append(f, [2]string{"command", d.Command})
	}
	f = append(f, facts{{"touched", strings.Join(d.Touched, ", ")}, {"gone", strings.Join(d.Gone, ", ")}, {"allowed", strings.Join(d.Allowed, ", ")}}...)
	f = append(f, [2]string{"differs", strings.Join(d.Differs, ", ")})
	for _, on := range d.Floors {
		f = append(f, [2]string{"then", "verify of " + on.Tree()})
	}
	if d.Time != nil {
		f = append(f, [2]string{"slow", d.Time.Slow()})
	}
	for _, note := range d.Notes {
		f = append(f, [2]string{"note", note})
	}
	if d.Hidden > 0 {
		f = append(f, [2]string{"hidden", fmt.Sprintf("%s of the owner's that no agent sees", text.Number(d.Hidden, "check"))})
	}
	for _, page := range d.Pages {
		f = append(f, [2]string{"page", text.OneLine(page.Line(), 400)})
		if names := page.Pictures(); len(names) > 0 {
			f = append(f, [2]string{"pictures", strings.Join(names, ", ")})
		}
	}
	f = append(f, doubtFacts(d.Doubts)...)
	if d.Disturbed != "" {
		f = append(f, [2]string{"because", d.Disturbed})
	}
	if d.Before != nil {
		return fmt.Sprintf("verify on %s: %s", d.On.Tree(), d.Before.Said()), f
	}
	if d.Rides != "" && d.OK {
		return fmt.Sprintf("verify on %s: passed %s", d.On.Tree(), work.RidesSaid), append(f, [2]string{"verify", string(d.Rides)})
	}
	took := ""
	if d.Millis > 0 {
		took = ", " + text.Took(time.Duration(d.Millis)*time.Millisecond)
	}
	switch {
	case d.On == work.OnWarm && !d.OK:
		return fmt.Sprintf("verify on %s: failed%s, which says nothing of work that is yet to be done", d.On.Tree(), took), append(f, [2]string{"problem", d.Problem})
	case d.OK:
		return fmt.Sprintf("verify on %s: passed%s", d.On.Tree(), took), f
	}
	return fmt.Sprintf("verify on %s: FAILED%s", d.On.Tree(), took), append(f, [2]string{"problem", d.Problem}, [2]string{"output", tailOf(d.Output)})
}

// ranWords is one verify command with its end and time.
func ranWords(one work.CommandTime) string {
	said := one.Command + " · ok"
	if !one.OK {
		said = one.Command + " · FAILED"
	}
	if one.Millis > 0 {
		said += ", " + text.Took(time.Duration(one.Millis)*time.Millisecond)
	}
	return said
}

// sayControl tells what test runners said of a proof.
func sayControl(d work.ControlFinishedData) (string, facts) {
	head := "the test runners were asked what the proof is worth"
	if d.Problem != "" {
		head = "the test runners were asked, and the proof counts for nothing"
	}
	f := facts{{"problem", d.Problem}}
	for _, line := range d.Tell() {
		f = append(f, [2]string{line.Name, line.Text})
	}
	return head, f
}

func sayRest(d work.RestFinishedData) (string, facts) {
	if d.Failed != "" {
		return "what there was no time for at the claim could not be asked", facts{{"problem", d.Failed}}
	}
	_, f := sayControl(d.ControlFinishedData)
	if d.Problem != "" {
		return "what there was no time for at the claim was asked, and the proof counts for nothing", f
	}
	return "what there was no time for at the claim was asked", f
}

// doubtFacts are doubts, and below them what to do about each kind.
func doubtFacts(doubts []work.Doubt) facts {
	var f facts
	for _, one := range doubts {
		f = append(f, [2]string{"doubt", one.String()})
	}
	for _, way := range work.WaysOut(doubts) {
		f = append(f, [2]string{"way out", way.Name + ": " + way.Text})
	}
	return f
}

// explained is what a word of the proof means, and what to do about it; nil
// for every other word.
func explained(word string) facts {
	e, ok := work.ExplainProof(word)
	if !ok {
		return nil
	}
	return facts{{"means", e.What}, {"way out", e.Way}}
}

// describeVerify says a run of the verify commands in one line.
func describeVerify(d work.VerifyFinishedData) (log.Level, string, []any) {
	pairs := []any{}
	switch {
	case d.On == work.OnWarm:
		return log.DebugLevel, "verify ran on the base", append(pairs, "ok", d.OK)
	case d.Disturbed != "":
		return log.WarnLevel, "a command changed the files that it had to prove, on " + d.On.Short(), append(pairs, "why", d.Disturbed)
	case !d.OK:
		return log.WarnLevel, "verify failed on " + d.On.Short(), append(pairs, "problem", d.Problem)
	case len(d.Doubts) > 0:
		if d.Before != nil {
			pairs = append(pairs, "how", d.Before.Said())
		}
		return log.WarnLevel, "verify passed on " + d.On.Short() + ", and its proof is in doubt", append(pairs, "doubts", len(d.Doubts), "first", text.OneLine(d.Doubts[0].String(), 160))
	case d.Rides != "":
		return log.InfoLevel, "verify passed on " + d.On.Short() + ", " + work.RidesSaid, pairs
	case d.Before != nil:
		return log.InfoLevel, d.On.Short() + " was " + d.Before.Said(), pairs
	}
	return log.InfoLevel, "verify passed on " + d.On.Short(), pairs
}

// describeControl says what test runners said in one line.
func describeControl(d work.ControlFinishedData) (log.Level, string, []any) {
	return describeAsked(d, "nothing: no test runner was recognised")
}

// describeAsked is describeControl; nothing is said where there is nothing to tell.
func describeAsked(d work.ControlFinishedData, nothing string) (log.Level, string, []any) {
	said := work.ProofRecord{Ran: []work.ProofRun{{OK: true}}, Control: &d.ControlReport}.Line()
	_, said, _ = strings.Cut(said, "; ")
	pairs := []any{"said", cmp.Or(said, nothing)}
	switch {
	case len(d.Deaf) > 0:
		return log.WarnLevel, "the tests cannot fail any more", append(pairs, "problem", d.Problem)
	case len(d.Lost) > 0:
		return log.WarnLevel, "tests that passed before are lost", append(pairs, "problem", d.Problem)
	case d.Bad():
		return log.WarnLevel, "asked the test runners: not everything is proven", pairs
	}
	return log.InfoLevel, "asked the test runners", pairs
}

func describeRest(d work.RestFinishedData) (log.Level, string, []any) {
	if d.Failed != "" {
		return log.WarnLevel, "what there was no time for could not be asked", []any{"problem", d.Failed}
	}
	return describeAsked(d.ControlFinishedData, "nothing was found")
}

// MostProofs is how many phases a report tells the proof of.
const MostProofs = 20

// ProofsText is the proof of each phase in a line, for a report or a status.
func ProofsText(s *orchestrator.State) string {
	var rows [][]string
	for _, n := range s.Order {
		if line := s.View(n).Record.Line(); line != "" {
			rows = append(rows, []string{"  " + n, line})
		}
	}
	switch {
	case len(rows) == 0:
		return ""
	case len(rows) == 1:
		return "\nProof: " + rows[0][1] + "\n"
	case len(rows) > MostProofs:
		left := len(rows) - MostProofs
		rows = append([][]string{{fmt.Sprintf("  … %d before", left), ""}}, rows[left:]...)
	}
	return "\nProof:\n" + text.Table(rows[0], rows[1:])
}

// DoubtsText is what is in doubt, with the ways out.
func DoubtsText(doubts []work.Doubt) string {
	if len(doubts) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nThe proof is in doubt:\n")
	for _, one := range doubts {
		b.WriteString(text.Indent(one.String()) + "\n")
	}
	for _, way := range work.WaysOut(doubts) {
		fmt.Fprintf(&b, "  %s: %s\n", way.Name, way.Text)
	}
	return b.String()
}

// RecordText is one proof: a line, and below it its parts.
func RecordText(phase string, r work.ProofRecord) string {
	var rows [][]string
	for _, line := range r.Tell() {
		rows = append(rows, []string{"    " + line.Name, text.OneLine(line.Text, 400)})
	}
	return fmt.Sprintf("  phase %s: %s\n", phase, r.Line()) + text.Table(rows[0], rows[1:])
}

// TellRecord is a proof on a page of a code host: what ran on what, what was
// put back, and how strong it is. Its doubts stand before it, by tellDoubted.
func TellRecord(r work.ProofRecord) text.Markdown {
	if !r.Known() {
		return text.Markdown{}
	}
	all := []text.Markdown{text.Format("%s.\n\n", text.UpperFirst(r.Line()))}
	for _, line := range r.Tell() {
		if line.Name == "commands" {
			continue // they stand above, as a block
		}
		all = append(all, text.Item(text.Format("%s: %s", line.Name, line.Text)))
	}
	return text.Join("", all...)
}

// TellDoubted is what is in doubt on a page of a code host.
func TellDoubted(doubts []work.Doubt) text.Markdown {
	if len(doubts) == 0 {
		return text.Markdown{}
	}
	all := []text.Markdown{text.Own("The proof is in doubt:\n\n")}
	for _, one := range doubts {
		all = append(all, text.Item(text.Format("%s", one.String())))
	}
	for _, way := range work.WaysOut(doubts) {
		all = append(all, text.Item(text.Format("%s: %s", text.Code(way.Name), way.Text)))
	}
	return text.Join("", append(all, text.Own("\n"))...)
}
