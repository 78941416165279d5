package eval

import (
	"encoding/csv"
	"io"
	"strconv"

	"forge/internal/work"
)

// WriteCSV writes trials as a table, a line for each case and a head before
// them. An unknown number is an empty cell, never 0.
func WriteCSV(to io.Writer, all ...*Trial) error {
	w := csv.NewWriter(to)
	rows := [][]string{{
		"trial", "case", "specialist", "model", "verdict", "found", "missed", "not_decided", "false_alarms",
		"findings", "hallucinated", "right", "rules", "ruling", "input_tokens", "output_tokens", "cost_usd", "millis",
	}}
	for _, t := range all {
		for _, o := range t.Outcomes {
			rows = append(rows, t.row(o))
		}
	}
	return w.WriteAll(rows)
}

func (t *Trial) row(o Outcome) []string {
	judged := o.Ruling == nil && o.Verdict != work.VerdictUnknown
	count := func(n int) string {
		if !judged {
			return ""
		}
		return strconv.Itoa(n)
	}
	statuses := map[Status]int{}
	for _, k := range o.Expected {
		statuses[k.Status]++
	}
	row := []string{
		t.ID, o.Case, o.Specialist, o.Model, string(o.Verdict), count(statuses[Found]), count(statuses[Missed]),
		count(statuses[Unknown]), count(statuses[Flagged]), count(len(o.Findings)), count(o.Hallucinated),
	}
	if r := o.Ruling; r != nil {
		row = append(row, string(r.Right), string(r.Rules), string(r.Both))
	} else {
		row = append(row, "", "", "")
	}
	usd := ""
	if o.Usage.CostUSD != nil {
		usd = strconv.FormatFloat(*o.Usage.CostUSD, 'f', -1, 64)
	}
	return append(row, tokens(o.Usage.InputTokens), tokens(o.Usage.OutputTokens), usd, tokens(o.Millis))
}

func tokens(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
