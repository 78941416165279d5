package changereview

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/host"
	"forge/internal/ignored"
	"forge/internal/work"
	"forge/review"
)

// found is a finding of a specialist at a line of a change, with its trace.
func found(c review.Change, by, file string, line int, issue string) (work.Finding, review.Trace) {
	f := work.Finding{Specialist: by, Severity: work.SeverityMajor, File: file, Line: line, Issue: issue}
	return f, review.TraceOf(f, true, c)
}

// An earlier finding is gone only where somebody who had found it looked again, or its
// file is no part of the change.
func TestWhatIsGone(t *testing.T) {
	t.Parallel()
	base := map[string]string{"a.go": "package a\n", "b.go": "package b\n"}
	r := changeOf(t, base, map[string]string{"a.go": "package a\n\nvar query = 1\n"})
	_, changes := r.owns(t)
	all, err := readAll(t, r, changes)
	if err != nil {
		t.Fatal(err)
	}
	_, stays := found(all, "security", "a.go", 3, "the query is open to whoever asks")
	changedLine := stays
	changedLine.Anchor, changedLine.ID = review.LineTrace("var query = 0"), "0123456789"
	both := changedLine
	both.By = []string{review.ByTrace("security"), review.ByTrace("performance")}
	answered := func(v work.Verdict, asks int) []reviewed {
		return []reviewed{{Specialist: work.Specialist{Name: "security"}, ReviewReport: work.ReviewReport{Verdict: v}, asks: asks}}
	}
	for name, tc := range map[string]struct {
		trace review.Trace
		asked []reviewed
		shown review.Change
		gone  bool
	}{
		"the line stands, nobody looked":      {stays, nil, review.Change{}, false},
		"the line stands, and was not shown":  {stays, answered("pass", 1), review.Change{}, false},
		"the line stands, and was seen again": {stays, answered("pass", 1), all, true},
		"the line is another one":             {changedLine, answered("warn", 1), all, true},
		"another one, and no usable answer":   {changedLine, answered("unknown", 3), all, false},
		"another one, and it was not asked":   {changedLine, answered("pass", 0), all, false},
		"another one, and nobody looked":      {changedLine, nil, all, false},
		"another one, half of who found it":   {both, answered("pass", 1), all, false},
	} {
		r.shown, r.pull = tc.shown, &pull{earlier: []earlier{{Trace: tc.trace}}}
		standing, gone, err := r.sorted(t.Context(), nil, tc.asked)
		if err != nil || len(gone)+len(standing) != 1 || (len(gone) == 1) != tc.gone {
			t.Errorf("%s: standing %v, gone %v, %v", name, standing, gone, err)
		}
		if standing, gone, _ = r.sorted(t.Context(), []review.Trace{tc.trace}, tc.asked); len(standing)+len(gone) != 0 {
			t.Errorf("%s: it is said again, and sorted as well", name)
		}
	}
}

// TestWhatIsOfNoFile: that a file is no part of the change says that a finding is gone
// only where it was one before. A finding about the whole, or about a file that the
// change leaves alone, is not settled by a push that its author makes.
func TestWhatIsOfNoFile(t *testing.T) {
	t.Parallel()
	r := changeOf(t, map[string]string{"a.go": "package a\n", "b.go": "package b\n"}, map[string]string{"a.go": "package a\n\nvar query = 1\n"})
	_, changes := r.owns(t)
	all, err := readAll(t, r, changes)
	if err != nil {
		t.Fatal(err)
	}
	_, left := found(all, "security", "b.go", 1, "the name is wrong in all cases")
	_, whole := found(all, "security", "", 0, "nothing of it is tested")
	before := review.Change{Files: append(all.Files[:len(all.Files):len(all.Files)], review.File{Path: "b.go"})}
	passes := []reviewed{{Specialist: work.Specialist{Name: "security"}, ReviewReport: work.ReviewReport{Verdict: work.VerdictPass}, asks: 1}}
	for name, tc := range map[string]struct {
		trace review.Trace
		pull  pull
		asked []reviewed
		gone  bool
	}{
		"taken out of the change":                   {left, pull{again: true, before: before}, nil, true},
		"never part of it, the new part passes":     {left, pull{again: true, before: all}, passes, false},
		"never part of it, all of it passes":        {left, pull{}, passes, true},
		"never part of it, nobody looked":           {left, pull{}, nil, false},
		"about the whole, the new part passes":      {whole, pull{again: true, before: all}, passes, false},
		"about the whole, all of it passes":         {whole, pull{}, passes, true},
		"about the whole, nobody looked":            {whole, pull{}, nil, false},
		"about the whole, part of it was taken out": {whole, pull{again: true, before: before}, passes, false},
	} {
		r.shown, r.pull = all, &tc.pull
		r.pull.earlier = []earlier{{Trace: tc.trace}}
		standing, gone, err := r.sorted(t.Context(), nil, tc.asked)
		if err != nil || len(gone)+len(standing) != 1 || (len(gone) == 1) != tc.gone {
			t.Errorf("%s: standing %v, gone %v, %v", name, standing, gone, err)
		}
	}
}

func readAll(t *testing.T, r *ongoing, changes []work.FileChange) (review.Change, error) {
	t.Helper()
	err := r.readChange(t.Context(), reviewersOf(r), changes)
	return r.whole, err
}

// Traces, marks and calls count from Forge's own accounts, and from who may write.
func TestOnlyOwnWordsCount(t *testing.T) {
	t.Parallel()
	_, trace := found(review.Change{}, "security", "a.go", 1, "some words of it")
	mark := host.FindingMark(trace.String()).String()
	at := time.Now()
	said := func(by, body string, own bool) work.PullComment {
		return work.PullComment{ID: by, By: by, Body: body, Own: own, At: at}
	}
	settledHere := work.PullThread{ID: "3", Comments: []work.PullComment{said("forge", mark, true), said("forge", host.Said(goneKey(trace), "3", host.Reviewed("", "")), true)}}
	copied := work.PullThread{ID: "3", Comments: []work.PullComment{said("forge", mark, true), said("eve", host.Said(goneKey(trace), "3", host.Reviewed("", "")), false)}}
	for name, tc := range map[string]struct {
		look work.PullLook
		want int
	}{
		"in a thread of its own":         {work.PullLook{Threads: []work.PullThread{{ID: "1", Comments: []work.PullComment{said("forge", mark, true)}}}}, 1},
		"resolved by somebody":           {work.PullLook{Threads: []work.PullThread{{ID: "1", Resolved: true, Comments: []work.PullComment{said("forge", mark, true)}}}}, 1},
		"on the whole":                   {work.PullLook{Reviews: []work.PullReview{{Own: true, Body: mark}}}, 1},
		"in somebody's thread":           {work.PullLook{Threads: []work.PullThread{{ID: "1", Comments: []work.PullComment{said("eve", mark, false)}}}}, 0},
		"in somebody's review":           {work.PullLook{Reviews: []work.PullReview{{Body: mark}}, Comments: []work.PullComment{said("eve", mark, false)}}, 0},
		"settled":                        {work.PullLook{Threads: []work.PullThread{settledHere}}, 0},
		"somebody says that it is so":    {work.PullLook{Threads: []work.PullThread{copied}}, 1},
		"somebody's answer holds a mark": {work.PullLook{Threads: []work.PullThread{{ID: "1", Comments: []work.PullComment{said("forge", "words", true), said("eve", mark, false)}}}}, 0},
	} {
		if got := earlierOf(tc.look); len(got) != tc.want {
			t.Errorf("%s: %d, want %d", name, len(got), tc.want)
		}
	}

	thread := work.PullThread{ID: "1", Comments: []work.PullComment{said("forge", mark, true), said("ben", "/forge ignore it is meant so", false)}}
	look := work.PullLook{Writers: []string{"ann", "ben"}, Threads: []work.PullThread{thread}, Comments: []work.PullComment{
		said("ann", "/forge ignore `"+trace.ID+"` rare until:2027-01-02", false), said("eve", "/forge ignore "+trace.ID+" please", false),
		said("forge", "/forge ignore "+trace.ID+" mine", true), said("ann", "> /forge ignore "+trace.ID+" quoted", false), said("ann", "/forge fix it", false),
	}}
	var got []string
	for _, c := range ignoreCalls(look, "forge") {
		got = append(got, strings.Join([]string{c.comment.By, c.id, c.until, c.reason}, " | "))
	}
	if want := []string{"ann | " + trace.ID + " | 2027-01-02 | rare", "ben | " + trace.ID + " |  | it is meant so"}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if len(ignoreCalls(look, "")) != 0 {
		t.Error("nobody is called, and it hears")
	}
}

// A verdict that rests on what people let stand is a warning; what is unknown, or rests
// on more, stays.
func TestIgnoredFindings(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	c := review.Change{Files: []review.File{{Path: "a.go", Status: review.Modified, Hunks: []review.Hunk{{OldStart: 1, NewStart: 1, NewLines: 2, Body: []byte("+one\n+two\n")}}}}}
	one, first := found(c, "security", "a.go", 1, "the first fault of them all")
	two, _ := found(c, "security", "a.go", 2, "something else goes wrong here")
	small := two
	small.Severity = work.SeverityMinor
	for name, tc := range map[string]struct {
		verdict  work.Verdict
		findings []work.Finding
		until    string
		want     work.Verdict
		left     int
	}{
		"alone":              {"fail", []work.Finding{one}, "2026-11-27", "warn", 0},
		"with a minor one":   {"fail", []work.Finding{one, small}, "2026-11-27", "warn", 1},
		"with another major": {"fail", []work.Finding{one, two}, "2026-11-27", "fail", 1},
		"of an unknown":      {"unknown", []work.Finding{one}, "2026-11-27", "unknown", 0},
		"expired":            {"fail", []work.Finding{one}, "2026-11-26", "fail", 1},
	} {
		r := changeOf(t, map[string]string{"a.go": "x\n"}, map[string]string{"a.go": "y\n"})
		r.Checkout.Env.Now = func() time.Time { return now }
		r.whole, r.entries = c, []ignored.Entry{ignored.New(first, "a.go", "why", "ann", tc.until, now)}
		all := []reviewed{{Specialist: work.Specialist{Name: "security", Gating: true}, ReviewReport: work.ReviewReport{Verdict: tc.verdict, Findings: tc.findings}}}
		r.ignore(all)
		expired := tc.until < "2026-11-27"
		if all[0].Verdict != tc.want || len(all[0].ReviewReport.Findings) != tc.left || (len(r.expired) == 1) != expired || (len(r.ignored) == 1) == expired {
			t.Errorf("%s: %+v, ignored %v, expired %v", name, all[0], r.ignored, r.expired)
		}
	}
}

// The base alone says what may stand: an entry that the change brings counts for
// nothing, and a file with an error stops the review.
func TestIgnoredFindingsAreTheBases(t *testing.T) {
	t.Parallel()
	_, trace := found(review.Change{}, "security", "a.go", 1, "some words of it")
	body, _ := ignored.Add("", ignored.New(trace, "a.go", "I wrote it", "eve", "", time.Now()))
	r := changeOf(t, map[string]string{"a.go": "x\n"}, map[string]string{ignored.File: body})
	r.base.Tip = r.base.Commit
	if err := r.readIgnored(t.Context()); err != nil || len(r.entries) != 0 {
		t.Errorf("the change's own: %v, %v", r.entries, err)
	}
	r.base.Tip = r.now
	if err := r.readIgnored(t.Context()); err != nil || len(r.entries) != 1 {
		t.Errorf("the base's: %v, %v", r.entries, err)
	}
	r = changeOf(t, map[string]string{ignored.File: "[[finding]]\nid = \"x\"\n"}, map[string]string{"a.go": "x\n"})
	r.base.Tip = r.base.Commit
	if err := r.readIgnored(t.Context()); err == nil || !strings.Contains(err.Error(), ignored.File+":1 in the base") {
		t.Errorf("a broken file: %v", err)
	}
}
