package eval

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Text is a trial for a person; whole says case by case. Words of others in it
// may still act on a terminal.
func Text(t *Trial, whole bool) string {
	summary, arbiter := Summarize(t.Outcomes), Confuse(t.Outcomes)
	var b strings.Builder
	b.WriteString(trialHead(t) + "\n")
	if whole {
		b.WriteString("\n" + caseTable(t))
	}
	if len(summary) > 0 {
		b.WriteString("\n" + summaryText(summary))
	}
	for _, m := range arbiter {
		b.WriteString("\n" + confusionText(m))
	}
	for _, l := range []struct {
		head   string
		status Status
	}{{"Missed", Missed}, {"False alarms", Flagged}, {"Not decided", Unknown}} {
		if text := listed(t, l.status); text != "" {
			b.WriteString("\n" + l.head + ":\n" + text)
		}
	}
	if !whole {
		fmt.Fprintf(&b, "\nforge eval show %s shows it case by case, forge eval compare A B two trials.\n", t.ID)
	}
	return b.String()
}

// ListText is a table of trials.
func ListText(all []*Trial) string {
	var rows [][]string
	for _, t := range all {
		state := "whole"
		if t.Ended == nil {
			state = "unfinished"
		}
		of := Reviewers(t)
		rows = append(rows, []string{
			t.ID, t.Started.Format("2006-01-02 15:04"), askedText(t), fmt.Sprint(len(t.Outcomes)), state,
			fmt.Sprint(of.Unknown), rateText(of.Recall), rateText(of.WorstRecall), usdText(t.Spent()),
		})
	}
	return text.Table([]string{"TRIAL", "STARTED", "ASKED", "CASES", "STATE", "UNKNOWN", "RECALL", "AT WORST", "USD"}, rows)
}

func trialHead(t *Trial) string {
	judge := map[string]string{
		JudgePlace: "not compared: place and severity alone", JudgeRecord: "compared as recorded",
		JudgeHand: "compared by hand", JudgeModel: "compared by " + t.JudgeModel,
	}[t.Judge]
	return fmt.Sprintf("Trial %s: %s, %s, descriptions %s, %s", t.ID, askedText(t), text.Number(len(t.Outcomes), "case"), judge, usdText(t.Spent())+" USD")
}

func askedText(t *Trial) string {
	if t.Asked == AskedRecord {
		return "recorded answers"
	}
	if t.Asked == AskedAgent {
		return t.Model + ", the arbiter by its rules alone"
	}
	if t.Arbiter != t.Model {
		return t.Model + " and " + t.Arbiter
	}
	return t.Model
}

func usdText(u work.Usage) string { return dollars(u.CostUSD) }

// rateText is "5/6 83%".
func rateText(r Rate) string {
	if r.Rate == nil {
		return "-"
	}
	return fmt.Sprintf("%d/%d %.0f%%", r.Hits, r.Of, 100**r.Rate)
}

// rateWhole has the interval too.
func rateWhole(r Rate) string {
	if r.Rate == nil {
		return "nothing to judge"
	}
	return fmt.Sprintf("%d of %d = %.0f%% (95%% by Wilson: %.0f%% to %.0f%%)", r.Hits, r.Of, 100**r.Rate, 100**r.Low, 100**r.High)
}

func summaryText(all []Summary) string {
	var rows [][]string
	for _, s := range all {
		name, per := s.Specialist, "-"
		if name == "" {
			name = "all"
		}
		if s.PerChange != nil {
			per = fmt.Sprintf("%.1f", *s.PerChange)
		}
		rows = append(rows, []string{
			name, s.Model, fmt.Sprint(s.Cases), fmt.Sprint(s.Unknown), rateText(s.Recall), rateText(s.Precision), per,
			rateText(s.Hallucinated), rateText(s.Violations), rateText(s.Clean), usdText(s.Usage),
		})
	}
	said := text.Table([]string{"REVIEWER", "MODEL", "CASES", "UNKNOWN", "RECALL", "PRECISION", "PER CHANGE", "HALLUCINATED", "FALSE ALARMS", "CLEAN FLAGGED", "USD"}, rows)
	last := all[len(all)-1]
	said += fmt.Sprintf("Recall:    %s\nPrecision: %s\n", rateWhole(last.Recall), rateWhole(last.Precision))
	if last.WorstRecall.Of > last.Recall.Of {
		said += fmt.Sprintf("At worst:  recall is %s: what is unknown or not decided is taken for missed.\n", rateWhole(last.WorstRecall))
	}
	if last.PerTrue != nil || last.Latency != nil {
		said += fmt.Sprintf("Each:      %s USD for a fault found", dollars(last.PerTrue))
		if l := last.Latency; l != nil {
			said += fmt.Sprintf("; an answer in %.1f s (median), %.1f s (nine of ten)", l.Median, l.P90)
		}
		said += ".\n"
	}
	if last.Unknown > 0 {
		said += fmt.Sprintf("%s had no usable answer: unknown, which is not the same as nothing found.\n", text.Number(last.Unknown, "case"))
	}
	if last.Duplicates > 0 {
		said += fmt.Sprintf("%s saying again what another one of the same reviewer says: against precision.\n", text.Number(last.Duplicates, "finding"))
	}
	if last.Undecided > 0 {
		said += fmt.Sprintf("%s not decided: nobody has said whether a finding means the same. --judge MODEL or --by-hand FILE does.\n", text.Number(last.Undecided, "expectation"))
	}
	return said
}

func confusionText(c Confusion) string {
	head := map[string]string{ByRules: "ARBITER, RULES ALONE", ByModel: "ARBITER, MODEL ALONE", ByBoth: "ARBITER, AS IN A RUN"}[c.Way]
	names := []string{"Proceed", "Fix", "FailPhase"}
	var rows [][]string
	for i, name := range names {
		row := []string{"right is " + name}
		for j := range names {
			row = append(row, fmt.Sprint(c.Count[i][j]))
		}
		rows = append(rows, row)
	}
	said := text.Table([]string{head, "PROCEED", "FIX", "FAILPHASE"}, rows)
	said += fmt.Sprintf("False proceeds: %s\nRight:          %s\n", rateWhole(c.FalseProceed), rateWhole(c.Right))
	if c.Way == ByBoth {
		said += fmt.Sprintf("Cost:           %s USD\n", usdText(c.Usage))
	}
	if c.WorstFalseProceed.Of > c.FalseProceed.Of {
		said += fmt.Sprintf("At worst:       %s false proceeds: what is unknown is taken for one.\n", rateWhole(c.WorstFalseProceed))
	}
	if c.Unknown > 0 {
		said += fmt.Sprintf("%s had no usable answer: in no cell.\n", text.Number(c.Unknown, "case"))
	}
	return said
}

func caseTable(t *Trial) string {
	var rows [][]string
	for _, o := range t.Outcomes {
		said, what := string(o.Verdict), []string{}
		if o.Ruling != nil {
			said = fmt.Sprintf("rules %s, model %s, run %s", o.Ruling.Rules, orDash(string(o.Ruling.Said)), orDash(string(o.Ruling.Both)))
			what = append(what, "right is "+string(o.Ruling.Right))
		}
		for _, k := range o.Expected {
			what = append(what, k.ID+" "+string(k.Status))
		}
		if n := len(slices.DeleteFunc(slices.Clone(o.Kinds), func(k Kind) bool { return k != Other })); n > 0 {
			what = append(what, fmt.Sprintf("%d other", n))
		}
		if n := o.Repeated(); n > 0 {
			what = append(what, fmt.Sprintf("%d said again", n))
		}
		if o.Hallucinated > 0 {
			what = append(what, fmt.Sprintf("%d hallucinated", o.Hallucinated))
		}
		why := o.Why
		if o.Ruling != nil {
			why = o.Ruling.Why
		}
		if why != "" {
			what = append(what, "why: "+text.FirstLine(why, 100))
		}
		rows = append(rows, []string{o.Case, said, strings.Join(what, ", ")})
	}
	return text.Table([]string{"CASE", "SAID", "CAME OF IT"}, rows)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// listed are the expectations with a status, a line each.
func listed(t *Trial, status Status) string {
	var b strings.Builder
	for _, o := range t.Outcomes {
		for _, k := range o.Expected {
			if k.Status == status && o.Verdict != work.VerdictUnknown {
				fmt.Fprintf(&b, "  %s: %s (%s)\n", o.Case, k.ID, cmp.Or(string(k.Severity), "any severity"))
			}
		}
	}
	return b.String()
}

// Reviewers is the summary over all reviewers.
func Reviewers(t *Trial) Summary {
	if all := Summarize(t.Outcomes); len(all) > 0 {
		return all[len(all)-1]
	}
	return Summary{}
}
