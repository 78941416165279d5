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
			cmp.Compare(a.Failure, b.Failure), cmp.Compare(a.Suggestion, b.Suggestion))
	})
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
// once. Two are the same when they are in one file, their lines are at most
// mergeLines apart, and their issues read alike: at least two words and half of
// the words of the longer one in common, or all. The worst one's words are
// kept; who else found it stands in Also.
func Merge(found []work.Finding) []work.Finding {
	all := slices.Clone(found)
	sortFindings(all)
	var out []work.Finding
	var words []map[string]bool
next:
	for _, f := range all {
		w := issueWords(f.Issue)
		for i := range out {
			if near(out[i], f) && alike(words[i], w) {
				out[i].Also = others(out[i], f)
				continue next
			}
		}
		f.Also = slices.Clone(f.Also)
		out, words = append(out, f), append(words, w)
	}
	return out
}

const mergeLines = 3

func near(a, b work.Finding) bool {
	return a.File == b.File && a.Line <= max(b.Line, b.EndLine)+mergeLines && b.Line <= max(a.Line, a.EndLine)+mergeLines
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
