package proof

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	texts "forge/internal/text"
)

// Weakness is one thing that became weaker, or one line that asks for more than
// product has to know.
type Weakness struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
	Line int    `json:"line,omitempty"` // in the new file, 0 = where it was is gone
	What string `json:"what"`
}

// Kinds of what evidence can lose.
const (
	KindTestGone    = "test_gone"           // or no longer collected
	KindSkipped     = "test_skipped"        // or only others run
	KindAssertion   = "assertion_gone"      // or never reached
	KindExpectation = "expectation_changed" // what is expected differs
	KindCase        = "case_gone"           // of a test with parameters, or an input
	KindTolerance   = "tolerance_wider"
	KindThreshold   = "threshold_lower"
	KindSetting     = "setting_looser"
	KindCI          = "ci_looser"
	KindSuppression = "suppression"
	KindSwallowed   = "failure_swallowed"
	KindTestAware   = "test_aware"
)

// Weaker is WeakerAll of one file.
func Weaker(file string, was, now []byte) []Weakness {
	return WeakerAll(map[string][]byte{file: was}, map[string][]byte{file: now})
}

// WeakerAll is Map.Weaker of a tree of which nothing else is known.
func WeakerAll(was, now map[string][]byte) []Weakness {
	return (&Map{}).Weaker(was, now)
}

// Weaker names what evidence lost between two states of the changed files.
// A path that one of them lacks was made or removed. What only moved to another
// file, or was renamed with the same assertions, is not lost.
func (m *Map) Weaker(was, now map[string][]byte) []Weakness {
	var out []Weakness
	was, now = m.alike(was, now)
	before, after := readEvidence(was), readEvidence(now)
	out = append(out, lostTests(before, after, statements(now))...)
	for _, p := range slices.Sorted(maps.Keys(was)) {
		a, b := was[p], now[p]
		if same(a, b) {
			continue
		}
		if language(p) != "" {
			out = append(out, softerCode(p, a, b)...)
			if b != nil {
				out = append(out, lostRows(p, a, b, after)...)
				out = append(out, otherConstants(p, a, b)...)
				out = append(out, ownMeanings(p, b, before, was)...)
			}
		}
		if language(p) == "" || sortOf(p) == toolSort || strings.HasPrefix(path.Base(p), ".") {
			out = append(out, looserSettings(p, a, b, now)...)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(now)) {
		if _, known := was[p]; !known && now[p] != nil {
			out = append(out, disarming(p, now[p])...)
		}
	}
	slices.SortStableFunc(out, func(a, b Weakness) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(out)
}

// test is one that a file declares.
type test struct {
	path, name string
	line       int
	skip       string // the mark that skips it
	skipLine   int
	from       int      // token that it begins at, -1 = the file as a whole
	claims     []claim  // its assertions
	cases      []string // of its parameters, and of tables in it
	inputs     []input
	exits      []exit
	narrow     map[string]int // what it goes over a part of, with the lines
	standIns   map[string]int // what it asks about, and gives another meaning
	loops      []input        // with numbers in their heads
	assigned   map[string][]assigned
	parts      map[string]bool // of what its assertions are about
	calls      map[string]bool
}

// claim is one assertion: form without, and full with its literals.
type claim struct {
	form, full string
	line       int
	guarded    bool // it is reached, or its failure counts, only under a condition
}

func readEvidence(files map[string][]byte) []test {
	var out []test
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if lang := language(p); lang != "" && files[p] != nil && len(files[p]) < maxSettings {
			out = append(out, readTests(p, lang, files[p])...)
		}
	}
	return out
}

// pair finds for each old test the new one: of its name in its file, of its
// name elsewhere, else one that claims the same.
func pair(before, after []test) map[int]int {
	pairs, taken := map[int]int{}, map[int]bool{}
	match := func(fits func(a, b test) bool) {
		for i, a := range before {
			if _, done := pairs[i]; done {
				continue
			}
			for j, b := range after {
				if !taken[j] && fits(a, b) {
					pairs[i], taken[j] = j, true
					break
				}
			}
		}
	}
	match(func(a, b test) bool { return a.path == b.path && a.name == b.name })
	match(func(a, b test) bool { return a.name == b.name })
	match(func(a, b test) bool { return len(a.claims) > 0 && len(missing(a.claims, b.claims)) == 0 })
	return pairs
}

// missing are the claims of a that b does not make, by what they say in full.
func missing(a, b []claim) []claim {
	left := map[string]int{}
	for _, c := range b {
		left[c.full]++
	}
	var out []claim
	for _, c := range a {
		if left[c.full] > 0 {
			left[c.full]--
		} else {
			out = append(out, c)
		}
	}
	return out
}

func lostTests(before, after []test, elsewhere []input) []Weakness {
	var out []Weakness
	pairs := pair(before, after)
	// What no test of the same name claims may stand in another one now.
	var spare []claim
	for _, t := range after {
		spare = append(spare, t.claims...)
	}
	for i, a := range before {
		j, found := pairs[i]
		if !found {
			if len(a.claims) > 0 && len(missing(a.claims, spare)) == 0 {
				continue
			}
			out = append(out, Weakness{KindTestGone, a.path, 0, fmt.Sprintf("test %s of line %d is gone", a.name, a.line)})
			continue
		}
		out = append(out, softerTest(a, after[j], spare)...)
		out = append(out, easier(a, after[j], elsewhere)...)
	}
	return out
}

// softerTest compares a test with what became of it.
func softerTest(a, b test, spare []claim) []Weakness {
	var out []Weakness
	if b.skip != "" && a.skip != b.skip {
		what := "skipped"
		if b.skip == "should_panic" {
			what = "to fail now"
		}
		out = append(out, Weakness{KindSkipped, b.path, b.skipLine, fmt.Sprintf("test %s is %s: %s", b.name, what, b.skip)})
	}
	gone := missing(a.claims, b.claims)
	fresh := missing(b.claims, a.claims)
	for _, c := range gone {
		// The same words with other literals: another expectation.
		if at := slices.IndexFunc(fresh, func(f claim) bool { return f.form == c.form }); at >= 0 {
			out = append(out, Weakness{KindExpectation, b.path, fresh[at].line, fmt.Sprintf("test %s expected %q and now expects %q", b.name, texts.OneLine(c.full, mostQuoted), texts.OneLine(fresh[at].full, mostQuoted))})
			fresh = slices.Delete(fresh, at, at+1)
			continue
		}
		if a.path != b.path || len(missing([]claim{c}, spare)) > 0 {
			if at := slices.IndexFunc(fresh, func(f claim) bool { return sharesSubject(f.full, c.full) }); at >= 0 {
				out = append(out, Weakness{KindAssertion, b.path, fresh[at].line, fmt.Sprintf("test %s said %q and now says %q", b.name, texts.OneLine(c.full, mostQuoted), texts.OneLine(fresh[at].full, mostQuoted))})
				fresh = slices.Delete(fresh, at, at+1)
				continue
			}
			out = append(out, Weakness{KindAssertion, b.path, b.line, fmt.Sprintf("test %s no longer says %q", b.name, texts.OneLine(c.full, mostQuoted))})
		}
	}
	out = append(out, guardedNow(a, b)...)
	out = append(out, newStandIns(a, b)...)
	out = append(out, shorterLoops(a, b)...)
	out = append(out, otherNames(a, b)...)
	return append(out, lostCases(a, b)...)
}

// lostCases compares the cases of a test. One that stands in the place of
// another is another expectation.
func lostCases(a, b test) []Weakness {
	counts := map[string]int{}
	for _, one := range a.cases {
		counts[one]++
	}
	var fresh []string
	for _, one := range b.cases {
		if counts[one]--; counts[one] < 0 {
			fresh = append(fresh, one)
		}
	}
	var out []Weakness
	for _, one := range a.cases {
		if counts[one] <= 0 {
			continue
		}
		counts[one]--
		if len(fresh) > 0 {
			out = append(out, Weakness{KindExpectation, b.path, b.line, fmt.Sprintf("test %s had the case %q and now has %q", b.name, texts.OneLine(one, mostQuoted), texts.OneLine(fresh[0], mostQuoted))})
			fresh = fresh[1:]
			continue
		}
		out = append(out, Weakness{KindCase, b.path, b.line, fmt.Sprintf("test %s lost the case %q", b.name, texts.OneLine(one, mostQuoted))})
	}
	return out
}

// sharesSubject is true for two assertions about the same call.
func sharesSubject(a, b string) bool {
	for w := range strings.FieldsSeq(a) {
		if len(w) > 2 && isWordByte(w[0]) && !assertWord(w) && slices.Contains(strings.Fields(b), w) {
			return true
		}
	}
	return false
}

// mostQuoted is how many characters of a line a weakness quotes.
const mostQuoted = 101
