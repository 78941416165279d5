package issueform

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/refusal"
	"forge/internal/work"
)

// With is list with some added and some taken away. What is there already is
// not added again; what is to go must be there.
func With[T comparable](list, add, drop []T, what string) ([]T, error) {
	list = slices.Clone(list)
	for _, d := range drop {
		at := slices.Index(list, d)
		if at < 0 {
			return nil, refusal.New("forge issue show shows what it has", "the issue has no "+what, d)
		}
		list = slices.Delete(list, at, at+1)
	}
	for _, v := range add {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list, nil
}

// EditCriteria adds criteria to an issue, and takes away those of the ids in drop,
// which must be there.
func EditCriteria(i *work.Issue, add, drop []string) error {
	next := i.CriteriaGiven + 1
	var list []work.Criterion
	for _, c := range i.Criteria {
		if at := slices.Index(drop, c.ID); at >= 0 {
			drop = slices.Delete(slices.Clone(drop), at, at+1)
			continue
		}
		list = append(list, c)
	}
	if len(drop) > 0 {
		return refusal.New("forge issue show shows them", "the issue has no criterion %q", drop[0])
	}
	for _, text := range add {
		list = append(list, work.Criterion{ID: fmt.Sprintf("c%d", next), Text: strings.TrimSpace(text)})
		next++
	}
	i.Criteria = list
	return nil
}
