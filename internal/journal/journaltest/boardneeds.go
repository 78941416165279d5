package journaltest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/internal/work"
)

func boardNeeds(f *boardFixture) {
	three := f.put("a", "b", "c")
	g, err := f.BoardGraph(f.ctx, "p")
	f.ok(err)
	if len(g.Needs) != 3 || len(g.Needs[1]) != 0 {
		f.Errorf("needs at first: %+v", g)
	}
	c := three[2]
	c.Needs = []int64{1, 2}
	if _, err := f.change(nil, keep(c)); err == nil {
		f.Error("needs changed without having been judged")
	}
	_, err = f.change(&g.Revision, keep(c))
	f.ok(err)
	after, err := f.BoardGraph(f.ctx, "p")
	f.ok(err)
	if after.Revision == g.Revision || !slices.Equal(after.Needs[3], []int64{1, 2}) {
		f.Errorf("needs afterwards: %+v", after)
	}
	blockers := func(want map[int64][]int64) {
		f.Helper()
		got, err := f.Blockers(f.ctx, "p", []int64{1, 2, 3})
		f.ok(err)
		if !reflect.DeepEqual(got, want) {
			f.Errorf("blockers %v, want %v", got, want)
		}
	}
	blockers(map[int64][]int64{3: {1, 2}})
	if none, err := f.Blockers(f.ctx, "p", nil); err != nil || len(none) != 0 {
		f.Errorf("blockers of no issue: %v, %v", none, err)
	}
	a := f.stored(1)
	a.Column = work.ColumnDone
	_, err = f.change(nil, at(a, "", "M", ""))
	f.ok(err)
	blockers(map[int64][]int64{3: {2}})
	c = f.stored(3)
	c.Needs = []int64{8}
	_, err = f.change(&after.Revision, keep(c))
	f.refused(err, work.ErrNoIssue)
}

func needsThatRace(f *boardFixture) {
	two := f.put("a", "b")
	g, err := f.BoardGraph(f.ctx, "p")
	f.ok(err)
	two[0].Needs, two[1].Needs = []int64{2}, []int64{1}
	_, err = f.change(&g.Revision, keep(two[0]))
	f.ok(err)
	_, err = f.change(&g.Revision, keep(two[1]))
	f.refused(err, work.ErrStale)
	if f.stored(2).Version != 1 {
		f.Error("the second half of a cycle was stored")
	}
}

func boardPages(f *boardFixture) {
	f.put("a", "B needle 50%", "c", "d")
	labelled := f.stored(3)
	labelled.Labels, labelled.Description = []string{"bug"}, "a NEEDLE_here"
	_, err := f.change(nil, keep(labelled))
	f.ok(err)
	for _, c := range []struct {
		filter work.IssueFilter
		limit  int
		after  string
		want   []int64
	}{
		{work.IssueFilter{Column: work.ColumnReady}, 10, "", []int64{1, 2, 3, 4}},
		{work.IssueFilter{Column: work.ColumnReady}, 2, "", []int64{1, 2}},
		{work.IssueFilter{Column: work.ColumnReady}, 2, "N", []int64{3, 4}},
		{work.IssueFilter{Column: work.ColumnReady}, 2, "P", nil},
		{work.IssueFilter{Column: work.ColumnDone}, 2, "", nil},
		{work.IssueFilter{}, 3, "", []int64{1, 2, 3}},
		{work.IssueFilter{}, 3, "3", []int64{4}},
		{work.IssueFilter{Label: "bug"}, 9, "", []int64{3}},
		{work.IssueFilter{Label: "BUG"}, 9, "", nil},
		{work.IssueFilter{Search: "needle"}, 9, "", []int64{2, 3}},
		{work.IssueFilter{Search: "needle", Label: "bug"}, 9, "", []int64{3}},
		{work.IssueFilter{Search: "0%"}, 9, "", []int64{2}},
		{work.IssueFilter{Search: "e_h"}, 9, "", []int64{3}},
		{work.IssueFilter{Search: `\`}, 9, "", nil},
	} {
		c.filter.Project = "p"
		found, err := f.Issues(f.ctx, c.filter, c.limit, c.after)
		f.ok(err)
		var ids []int64
		for _, i := range found {
			ids = append(ids, i.ID)
			if i.Description != "" || i.Project != "p" || i.Rank == "" {
				f.Errorf("on a page: %+v", i)
			}
		}
		if !slices.Equal(ids, c.want) {
			f.Errorf("%+v, %d after %q: %v, want %v", c.filter, c.limit, c.after, ids, c.want)
		}
	}
	prev, next, err := f.RanksAround(f.ctx, "p", work.ColumnReady, "N")
	f.ok(err)
	last, first, err := f.RanksAround(f.ctx, "p", work.ColumnReady, "")
	f.ok(err)
	if got := strings.Join([]string{prev, next, last, first}, " "); got != "M O P M" {
		f.Errorf("ranks around: %s", got)
	}
}

func boardHistory(f *boardFixture) {
	i := f.put("a", "b")[0]
	for n := range 3 {
		i.Title = fmt.Sprint("a", n)
		c := keep(i)
		c.Entry.Note, c.Entry.Fields = fmt.Sprint(n), []work.FieldChange{{Field: "title", From: "a", To: i.Title}}
		stored, err := f.change(nil, c)
		f.ok(err)
		i = stored[0]
	}
	page, err := f.IssueHistory(f.ctx, "p", 1, 3, 0)
	f.ok(err)
	rest, err := f.IssueHistory(f.ctx, "p", 1, 3, page[2].Seq)
	f.ok(err)
	if len(page) != 3 || len(rest) != 1 || page[0].Note != "2" || page[0].Fields[0].To != "a2" || !page[0].At.Equal(epoch) || rest[0].Issue != 1 {
		f.Errorf("history %+v, then %+v", page, rest)
	}
}

func malformedChanges(f *boardFixture) {
	good := at(newIssue("a"), "", "M", "")
	for name, spoil := range map[string]func(*work.IssueChange){
		"no title":            func(c *work.IssueChange) { c.Issue.Title = "" },
		"another project":     func(c *work.IssueChange) { c.Issue.Project = "other" },
		"a number of its own": func(c *work.IssueChange) { c.Issue.ID = 4 },
		"a version":           func(c *work.IssueChange) { c.Issue.Version = 1 },
		"no place":            func(c *work.IssueChange) { c.Issue.Rank = "" },
		"a place elsewhere":   func(c *work.IssueChange) { c.Low = "Z" },
		"a place above":       func(c *work.IssueChange) { c.High = "A" },
		"no time":             func(c *work.IssueChange) { c.Issue.Changed = time.Time{} },
		"nobody":              func(c *work.IssueChange) { c.Entry.By = "" },
		"nothing":             func(c *work.IssueChange) { c.Entry.Action = "" },
		"needs not judged":    func(c *work.IssueChange) { c.Issue.Needs = []int64{1} },
	} {
		c := good
		spoil(&c)
		if _, err := f.change(nil, c); err == nil {
			f.Errorf("%s: stored", name)
		}
	}
	f.put("first")
	same := keep(f.stored(1))
	if _, err := f.change(nil, same, same); err == nil {
		f.Error("one issue was changed twice at once")
	}
	if i := f.put("second")[0]; i.ID != 2 {
		f.Errorf("a refused change used up a number: %d", i.ID)
	}
}

// boardRace has eight that change one issue at once: every change that was
// acknowledged is in its history, and no version was made twice.
func boardRace(f *boardFixture) {
	f.put("a")
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for k := 0; k < 10; {
				i, err := f.Issue(f.ctx, "p", 1)
				if err == nil {
					i.Labels = append(slices.Clone(i.Labels), fmt.Sprintf("%d-%d", n, k))
					i.Labels = i.Labels[max(0, len(i.Labels)-work.MaxIssueLabels):]
					c := keep(i)
					c.Entry.Note = fmt.Sprintf("%d-%d", n, k)
					_, err = f.change(nil, c)
				}
				switch {
				case err == nil:
					k++
				case !errors.Is(err, work.ErrStale):
					f.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	lines, err := f.IssueHistory(f.ctx, "p", 1, 100, 0)
	f.ok(err)
	notes := map[string]bool{}
	for _, e := range lines {
		notes[e.Note] = true
	}
	if got := f.stored(1).Version; got != 81 || len(lines) != 81 || len(notes) != 81 {
		f.Errorf("version %d, %d lines, %d notes; want 81 of each", got, len(lines), len(notes))
	}
}
