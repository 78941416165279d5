package review

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"forge/internal/work"
)

// maxListed is how many findings a report lists; what is over it is a note.
const maxListed = 20

// place puts findings into the change: those that name no line of it are
// dropped and counted. The others get the file's own name, and end with the
// hunk that they begin in.
func place(c Change, found []work.Finding, specialist string) (placed []work.Finding, dropped int) {
	for _, f := range found {
		file := c.find(f.File)
		if file == nil {
			dropped++
			continue
		}
		end, ok := file.place(f.Line)
		if !ok {
			dropped++
			continue
		}
		f.Replacement = exact(c, f, end)
		f.File, f.Specialist = Name(file.Path), specialist
		if f.EndLine = min(f.EndLine, end); f.EndLine <= f.Line {
			f.EndLine = 0
		}
		placed = append(placed, f)
	}
	return placed, dropped
}

// rank is 0 for the worst severity; an unknown one ranks with it.
func rank(s work.Severity) int { return max(0, slices.Index(work.Severities(), s)) }

func blocks(f work.Finding) bool { return f.Severity != work.SeverityMinor }

// sortFindings puts the worst first, then by place and words, so that the same
// findings read the same in whatever order they came.
func sortFindings(all []work.Finding) {
	slices.SortStableFunc(all, func(a, b work.Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.EndLine, b.EndLine), cmp.Compare(a.Specialist, b.Specialist), cmp.Compare(a.Issue, b.Issue),
			cmp.Compare(a.Failure, b.Failure), cmp.Compare(a.Suggestion, b.Suggestion), cmp.Compare(a.Repro, b.Repro),
			cmp.Compare(known(b), known(a)), cmp.Compare(a.Severity, b.Severity), comparePointers(a.Replacement, b.Replacement))
	})
}

// known is 1 where the severity is one of ours: of two that differ in nothing
// else it is the one that is kept.
func known(f work.Finding) int { return min(1, 1+slices.Index(work.Severities(), f.Severity)) }

// comparePointers puts who proposes nothing first.
func comparePointers(a, b *string) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

// limit keeps the worst MaxBlocking blocking findings and up to maxListed in
// all; the rest are notes.
func limit(all []work.Finding) (listed, notes []work.Finding) {
	blocking := 0
	for _, f := range all {
		switch {
		case blocks(f) && blocking == work.MaxBlocking, len(listed) == maxListed:
			notes = append(notes, f)
		default:
			if blocks(f) {
				blocking++
			}
			listed = append(listed, f)
		}
	}
	return listed, notes
}

// Merge makes one list of findings, worst first, in which the same one stands
// once. What one specialist said is the same only at the same place and in the
// same words: who names three faults on neighbouring lines means three. What
// two specialists said is the same when it is in one file, the lines are at
// most mergeLines apart, and the issues read alike: at least two words and half
// of the words of the longer one in common, or all. The closest are taken
// first. The worst one's words are kept; who else found it stands in Also, and
// how many findings went into it in Merged.
func Merge(found []work.Finding) []work.Finding {
	all := slices.Clone(found)
	sortFindings(all)
	groups := mergeRepeats(all)

	for distance := 0; distance <= mergeLines; distance++ {
		for i := range groups {
			for j := i + 1; j < len(groups); j++ {
				if a, b := &groups[i], &groups[j]; !b.gone && gap(a.head, b.head) == distance && !a.gone && a.takes(b) {
					a.head.Also = others(a.head, b.head)
					a.head.Merged += 1 + b.head.Merged
					b.gone = true
				}
			}
		}
	}

	var out []work.Finding
	for _, g := range groups {
		if !g.gone {
			out = append(out, g.head)
		}
	}
	return out
}

// merging is a finding while it is held against the others.
type merging struct {
	head  work.Finding // whose words are kept
	words map[string]bool
	gone  bool // it went into another one
}

// takes says that b may go into a. No specialist is in both: of one, two
// findings of different words or places are never the same.
func (a *merging) takes(b *merging) bool {
	return alike(a.words, b.words) && !slices.ContainsFunc(saidBy(b.head), func(name string) bool { return slices.Contains(saidBy(a.head), name) })
}

// saidBy are all who found it; who gives no name is somebody.
func saidBy(f work.Finding) []string { return append([]string{f.Specialist}, f.Also...) }

// mergeRepeats takes out what one specialist said twice in the same words of
// the same place.
func mergeRepeats(sorted []work.Finding) []merging {
	type key struct {
		specialist, file, issue string
		line, end               int
	}
	at := map[key]int{}
	var out []merging
	for _, f := range sorted {
		k := key{f.Specialist, f.File, strings.Join(strings.Fields(strings.ToLower(f.Issue)), " "), f.Line, max(f.Line, f.EndLine)}
		if i, again := at[k]; again {
			out[i].head.Also = others(out[i].head, f)
			out[i].head.Merged += 1 + max(f.Merged, 0)
			continue
		}

		f.Also, f.Merged = slices.Clone(f.Also), max(f.Merged, 0)
		at[k] = len(out)
		out = append(out, merging{head: f, words: issueWords(f.Issue)})
	}
	return out
}

const mergeLines = 3

// gap is how many lines lie from one finding to the other, 0 where they
// overlap, and more than mergeLines between files.
func gap(a, b work.Finding) int {
	if a.File != b.File {
		return mergeLines + 1
	}
	return max(0, a.Line-max(b.Line, b.EndLine), b.Line-max(a.Line, a.EndLine))
}

// issueWords are the words of at least three letters or digits, in lower case.
func issueWords(issue string) map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(issue), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len([]rune(w)) >= 3 {
			words[w] = true
		}
	}
	return words
}

func alike(a, b map[string]bool) bool {
	shared := 0
	for w := range a {
		if b[w] {
			shared++
		}
	}
	longer := max(len(a), len(b))
	return shared == longer || shared >= 2 && 2*shared >= longer
}

// others are the specialists that found a as well, sorted, without a's own.
func others(a, b work.Finding) []string {
	all := append(append(slices.Clone(a.Also), b.Specialist), b.Also...)
	all = slices.DeleteFunc(all, func(name string) bool { return name == a.Specialist || name == "" })
	slices.Sort(all)
	return slices.Compact(all)
}
