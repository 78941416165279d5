package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

const (
	maxCriteria      = 2 * work.MaxIssueCriteria // answers that are looked at in one answer
	maxCriterionText = 500                       // bytes of the evidence of each
	maxUnread        = 10
)

// criteriaSchema stands in the schema of a question about an issue's change
// alone.
const criteriaSchema = `,"criteria":{"type":"array","description":"only criteria that this change lets you judge; usually few","items":{` +
	`"type":"object","additionalProperties":false,"required":["id","met","evidence"],"properties":{` +
	`"id":{"type":"string","description":"of the criterion, such as c1"},` +
	`"met":{"type":"boolean"},` +
	`"evidence":{"type":"string","description":"where the change shows it: file and line, and what stands there"}}}}`

// askCriteria shows the criteria of the issue and says what to answer about
// them.
func askCriteria(b *strings.Builder, all []work.Criterion) {
	if len(all) == 0 {
		return
	}
	var lines strings.Builder
	for _, c := range all {
		fmt.Fprintf(&lines, "%s: %s\n", c.ID, text.Visible(c.Text))
	}
	fence(b, "The acceptance criteria of the issue that the work is for", []byte(lines.String()))
	b.WriteString("\nBeside your review, say in `criteria` which of them this change meets and which it does not, each with the place that shows it. Leave out every criterion that you cannot judge from what you see: this change may be one part of the work. Whether a criterion is met is no finding by itself.\n")
}

// readCriteria reads what an answer says of the known criteria. What cannot be
// used is named in notes and says nothing: it makes no answer unusable, and is
// no evidence.
func readCriteria(raw json.RawMessage, known []work.Criterion) (out []work.CriterionAnswer, notes []string) {
	note := func(format string, args ...any) {
		if len(notes) < maxUnread {
			notes = append(notes, text.Clip(text.Visible(fmt.Sprintf(format, args...)), 200))
		}
	}
	if len(raw) == 0 || string(raw) == "null" || len(known) == 0 {
		return nil, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, []string{"criteria: is no list"}
	}
	for i, item := range list[:min(len(list), maxCriteria)] {
		a, err := readCriterion(item, fmt.Sprintf("criteria[%d]", i))
		switch {
		case err != nil:
			note("%v", err)
		case !slices.ContainsFunc(known, func(c work.Criterion) bool { return c.ID == a.ID }):
			note("criteria[%d]: there is no criterion %q", i, text.Clip(a.ID, 60))
		default:
			if was := slices.IndexFunc(out, func(b work.CriterionAnswer) bool { return b.ID == a.ID }); was < 0 {
				out = append(out, a)
			} else {
				out[was] = worse(out[was], a)
				note("criteria[%d]: %s is answered twice", i, a.ID)
			}
		}
	}
	return out, notes
}

func readCriterion(raw json.RawMessage, path string) (a work.CriterionAnswer, err error) {
	o, err := parseObject(raw, path)
	if err != nil {
		return a, err
	}
	if a.ID, err = o.text("id"); err != nil {
		return a, err
	}
	if a.Met, err = o.boolean("met"); err != nil {
		return a, err
	}
	if a.Evidence, err = o.text("evidence"); err != nil {
		return a, err
	}
	if a.Evidence = text.Clip(text.Visible(strings.TrimSpace(a.Evidence)), maxCriterionText); a.Evidence == "" {
		return a, o.bad("evidence", "where the change shows it")
	}
	return a, nil
}

// worse is the answer that counts of two about one criterion: a no.
func worse(a, b work.CriterionAnswer) work.CriterionAnswer {
	if a.Met && !b.Met {
		return b
	}
	return a
}

// join adds what a later part of the same review says.
func join(all, more []work.CriterionAnswer) []work.CriterionAnswer {
	for _, a := range more {
		if was := slices.IndexFunc(all, func(b work.CriterionAnswer) bool { return b.ID == a.ID }); was >= 0 {
			all[was] = worse(all[was], a)
		} else {
			all = append(all, a)
		}
	}
	return all
}
