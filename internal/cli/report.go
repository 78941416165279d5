package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"forge/internal/narrate"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// report says at the end what was done, what it cost, where the result is, how
// to undo it, and where to read on. It goes to stderr when stdout is a stream.
func (p *checkout) report(s *orchestrator.State, end work.RunFinishedData, o runOptions) {
	if o.output == "json" && p.app.quiet {
		return
	}
	out := p.app.Stdout
	if o.output == "json" {
		out = p.app.Stderr
	}
	fmt.Fprint(out, reportText(s, end, p.Now()))
}

func reportText(s *orchestrator.State, end work.RunFinishedData, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s: %s", narrate.NounOf(s), s.Run, end.Outcome)
	if end.Reason != "" && end.Reason != string(end.Outcome) {
		fmt.Fprintf(&b, " (%s)", end.Reason)
	}
	b.WriteString("\n\n")
	b.WriteString(phaseTable(s) + narrate.ProofsText(s))
	fmt.Fprintf(&b, "\nCost: %s\n", narrate.MoneyText(s.Ledger))
	if end.Reason == orchestrator.ReasonRedBaseline {
		fmt.Fprintf(&b, "\nThe project's setup or verify commands fail before any work:\n%s\n", text.Indent(strings.TrimSpace(s.Baseline.Output)))
		b.WriteString("Mend them, or set verify.allow_red_baseline = true.\n")
	}
	if took := narrate.TookText(s, now); took != "" {
		fmt.Fprintf(&b, "Time:   %s\n", took)
	}
	b.WriteString(narrate.ResultText(s, "") + narrate.KeptText(s, "") + narrate.AssumedText(s))
	switch end.Outcome {
	case work.RunFrozen:
		b.WriteString(pullsText(s) + "\nIt waits for you:\n")
		for _, id := range slices.Sorted(maps.Keys(s.Open)) {
			fmt.Fprintf(&b, "  %s  %s\n%s", id, s.Open[id].Question, narrate.ChoicesText(*s.Open[id]))
		}
		b.WriteString("Answer: forge approve ID | forge request-changes ID -m TEXT | forge reject ID\nThen:   forge resume\n")
	case work.RunInterrupted, work.RunLimit:
		if short, ok := strings.CutPrefix(end.Reason, orchestrator.StopShort); ok {
			fmt.Fprintf(&b, "Why:    %s; nothing is lost\n", short)
		}
		fmt.Fprintf(&b, "Go on:  forge resume %s\n", s.Run)
	case work.RunFailed:
		if finishedWhole(s) {
			break // rejected: there is no next attempt of anything
		}
		fmt.Fprintf(&b, "Again:  forge resume %s   (opens the next attempt of what failed)\n", s.Run)
	case work.RunCompleted, work.RunCancelled:
	}
	fmt.Fprintf(&b, "Why:    forge why --run %s\n", s.Run)
	return b.String()
}

// finishedWhole says that every phase of the run is done.
func finishedWhole(s *orchestrator.State) bool {
	return !slices.ContainsFunc(s.Order, func(n string) bool { return s.Phases[n].Outcome != work.PhaseDone })
}

func phaseTable(s *orchestrator.State) string { return tableOf(s, s.Order) }

func tableOf(s *orchestrator.State, phases []string) string {
	var rows [][]string
	for _, n := range phases {
		ph := s.Phases[n]
		rows = append(rows, []string{n, ph.Plan.Name, standing(ph), fmt.Sprintf("%d/%d", ph.Spent, ph.Budget), reasonOf(ph)})
	}
	return text.Table([]string{"PHASE", "NAME", "STATE", "ITERATIONS", "WHY"}, rows)
}

// standing is a phase's outcome, or where it is.
func standing(p *orchestrator.Phase) string {
	if p.Outcome != "" {
		return string(p.Outcome)
	}
	return string(p.Stage)
}

func reasonOf(p *orchestrator.Phase) string {
	body := string(p.Reason)
	if p.Cause != "" {
		body += " of " + p.Cause
	}
	if p.Detail != "" {
		if body != "" {
			body += ": "
		}
		body += text.FirstLine(p.Detail, 100)
	}
	if p.Proof == work.ProofClaim {
		body += "by its word alone"
	}
	return body
}

// since is a duration as a person reads it.
func since(d time.Duration) string { return d.Round(time.Second).String() }
