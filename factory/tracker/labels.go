package tracker

import (
	"slices"
	"strings"
)

// mapped are the labels that the board's owner mapped, as they are now.
func (s *Sync) mapped() ([]string, error) {
	if s.Rules.Labels == nil {
		return nil, nil
	}
	return s.Rules.Labels()
}

// given are those of the mapped labels that an issue has from somebody who may
// write, as the owner spells them. Who gave one has to be known: hosts let authors
// label their own issue while they open it, and an outsider raises nothing so.
func given(r Reading, mapped []string) []string {
	out := []string{}
	for _, label := range mapped {
		if !has(r.Labels, label) {
			continue
		}
		if at := labelledAt(r, label); at >= 0 && r.Writers[r.Events[at].By] {
			out = append(out, label)
		}
	}
	return out
}

// withLabels are the labels of a card after a reading: of the mapped ones those
// that count on the tracker, and all others as they stand.
func withLabels(card, mapped, given []string) []string {
	kept := slices.DeleteFunc(slices.Clone(card), func(l string) bool {
		return slices.ContainsFunc(mapped, func(m string) bool { return strings.EqualFold(m, l) })
	})
	out := slices.Concat([]string{}, kept, given)
	slices.Sort(out)
	return out
}
