package pullcalls

import (
	"errors"
	"strings"
	"testing"

	"forge/internal/work"
)

// What follows from a comment on a pull request of somebody's, by who wrote it, what
// stands there and what is worked on already.
func TestFollow(t *testing.T) {
	t.Parallel()
	open := work.Issue{ID: 4, Title: "Pull request 7: x", Column: work.ColumnInProgress, Run: "r"}
	failed := work.Issue{ID: 4, Title: "Pull request 7: x", Column: work.ColumnInProgress, State: work.IssueFailed, Run: "r"}
	done := work.Issue{ID: 4, Title: "Pull request 7: x", Column: work.ColumnDone, Run: "r"}
	for name, c := range map[string]struct {
		by, body string // by "" is ann
		issue    work.Issue
		fork     bool
		merged   bool
		red      bool
		end      string
		new      string // title
		text     string // of the new issue, or the state or level of the old one
		review   bool
		says     string
	}{
		"fix":                       {body: "/forge fix the nil case\nIt panics.", end: callTaken, new: "Pull request 7: the nil case", text: "the nil case\nIt panics.", says: "proposes what it proved for `feature`"},
		"do":                        {body: "@forge do\nrename it", end: callTaken, new: "Pull request 7: rename it", text: "rename it"},
		"words beside it":           {body: "Please.\n/forge fix", end: callTaken, new: "Pull request 7: Please.", text: "Please."},
		"of nothing":                {body: "/forge fix", end: callRefused, says: "say beside or below it"},
		"of what checks found":      {body: "/forge fix", red: true, end: callTaken, new: "Pull request 7: what reviews and checks found", text: "Check unit failed"},
		"of a fork":                 {body: "/forge fix this", fork: true, end: callRefused, says: "another repository"},
		"of what is merged":         {body: "/forge fix this", merged: true, end: callRefused, says: "is merged"},
		"by who may not write":      {by: "eve", body: "/forge fix this", end: callIgnored},
		"fix while it is worked on": {body: "/forge fix that too", issue: open, end: callRefused, says: "issue 4 is worked on"},
		"fix after it failed":       {body: "/forge fix otherwise", issue: failed, end: callTaken, new: "Pull request 7: otherwise"},
		"fix after it is done":      {body: "/forge fix more", issue: done, end: callTaken, new: "Pull request 7: more"},
		"twice in one":              {body: "/forge fix a\n/forge do b", end: callRefused, new: "Pull request 7: a", says: "asks for it already"},
		"plan":                      {body: "/forge plan a way", end: callTaken, new: "Pull request 7: a way", text: "plan_then_review"},
		"with a level":              {body: "/forge fix a\n/forge level careful\n/forge budget 3", end: callTaken, new: "Pull request 7: a", text: "careful"},
		"a level that is none":      {body: "/forge level dance", issue: open, end: callRefused, says: "no such level"},
		"level of nothing":          {body: "/forge level careful", end: callRefused, says: "nothing is worked on"},
		"level without a name":      {body: "/forge level", issue: open, end: callRefused, says: "takes NAME"},
		"stop":                      {body: "/forge stop", issue: open, end: callTaken, text: "cancelled", says: "nobody works on it any more"},
		"stop of nothing":           {body: "/forge stop", end: callRefused, says: "nothing is worked on"},
		"retry":                     {body: "/forge retry", issue: failed, end: callTaken, text: "ready"},
		"explain":                   {body: "/forge explain", end: callTaken, says: "Nothing is worked on"},
		"review":                    {body: "/forge review", end: callTaken, review: true, says: "is reviewed"},
		"review of a fork":          {body: "/forge review", fork: true, end: callTaken, review: true},
		"review of what is merged":  {body: "/forge review", merged: true, end: callRefused, says: "is merged"},
		"ignore":                    {body: "/forge ignore f1 because", end: callTaken},
		"of nobody":                 {body: "/forge dance", end: callRefused, says: "there is no such command"},
	} {
		if c.by == "" {
			c.by = "ann"
		}
		s := seen{name: "forge", here: !c.fork, issue: c.issue, level: func(name string) error {
			if name == "dance" {
				return errors.New("there is no such level")
			}
			return nil
		}}
		s.look = work.PullLook{Writers: []string{"ann"}}
		s.look.Number, s.look.Branch, s.look.Base, s.look.Title, s.look.State, s.look.Head = 7, "feature", "main", "A feature", work.PullOpen, "head"
		if c.merged {
			s.look.State = work.PullMerged
		}
		if c.red {
			s.look.CI.Failed = []work.PullCheck{{Name: "unit"}}
		}
		f := follow(work.PullComment{ID: "9", By: c.by, Body: c.body}, s)
		said := ""
		for _, w := range append(f.heard, f.words...) {
			said += w.String() + "\n"
		}
		if f.end != c.end || f.review != c.review || !strings.Contains(said, c.says) || c.end == callIgnored && said != "" {
			t.Errorf("%s: %+v says %q", name, f, said)
		}
		isNew := f.changed && f.issue.ID == 0
		if isNew != (c.new != "") || isNew && (f.issue.Title != c.new || f.issue.Target != "feature" || f.issue.Column != work.ColumnReady || numberOf(f.issue) != 7 || !f.issue.Imported()) {
			t.Errorf("%s: %+v", name, f.issue)
		}
		if is := strings.Join([]string{f.issue.Description, f.issue.Level, string(f.issue.State), string(f.issue.Column)}, "\n"); f.changed && !strings.Contains(is, c.text) {
			t.Errorf("%s: %q lacks %q", name, is, c.text)
		}
		if p := f.issue.Check(); isNew && len(p) > 0 {
			t.Errorf("%s: %+v", name, p)
		}
	}
}
