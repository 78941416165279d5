package cli

import (
	"strings"
	"testing"
	"time"

	"forge/internal/changereview"
	"forge/internal/ignored"
	"forge/internal/work"
	"forge/review"
)

// forge review ignored says who lets what stand until when, and what has expired.
func TestReviewIgnoredLists(t *testing.T) {
	w := newWorld(t, "")
	w.forge("review", "ignored").want(exitDone).says("No finding is let stand.")
	body := ""
	for file, until := range map[string]string{"a.go": "2999-01-01", "b.go": "2020-01-01"} {
		trace := review.TraceOf(work.Finding{Specialist: "security", Severity: work.SeverityMajor, File: file, Line: 1, Issue: "some words of it"}, true, review.Change{})
		body, _ = ignored.Add(body, ignored.New(trace, file, "why "+file, "ann", until, time.Now()))
	}
	w.write(ignored.File, body)
	w.forge("review", "ignored").want(exitDone).says("a.go, until 2999-01-01", "b.go, expired on 2020-01-01, counts no more", "ann: why b.go")
	var all changereview.LetStand
	w.forge("review", "ignored", "--output", "json").want(exitDone).json(&all)
	if len(all.Ignored) != 2 || all.Ignored[0].Expired == all.Ignored[1].Expired || all.Ignored[0].By != "ann" {
		t.Errorf("%+v", all)
	}
	w.write(ignored.File, strings.Replace(body, `by = "ann"`, `by = ""`, 1))
	w.forge("review", "ignored").want(exitUsage).warns(ignored.File+":4: ", "is let stand by nobody")
}
