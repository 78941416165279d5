package pullrequest

import (
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// Nothing that is not known to be in order lets a part of a result be merged.
func TestWhatIsInTheWayOfAPart(t *testing.T) {
	t.Parallel()
	req := orchestrator.ResultPull{Branch: "forge/run-r", Commit: "c1", Target: "main", From: "c0"}
	ready := func() work.PullLook {
		look := work.PullLook{Mergeable: work.Mergeable, Checks: work.ChecksPassed, Reviews: []work.PullReview{{ID: "1", By: "ann", Verdict: work.PullApproved, Commit: "c1", MayDecide: true}}}
		look.State, look.Branch, look.Base, look.Head = work.PullOpen, "forge/run-r", "main", "c1"
		return look
	}
	for name, c := range map[string]struct {
		change func(*work.PullLook, *orchestrator.ResultPull)
		want   string
	}{
		"ready":                      {},
		"no checks at all":           {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = work.ChecksNone }},
		"approved here":              {change: func(l *work.PullLook, r *orchestrator.ResultPull) { l.Reviews, r.Approved = nil, "ann" }},
		"not approved":               {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Reviews = nil }, want: "nobody has approved"},
		"an earlier commit approved": {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Reviews[0].Commit = "c9" }, want: "nobody has approved"},
		"a reader approved":          {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Reviews[0].MayDecide = false }, want: "nobody has approved"},
		"sent back, approved here": {change: func(l *work.PullLook, r *orchestrator.ResultPull) {
			l.Reviews[0].Verdict, r.Approved = work.PullChangesRequested, "ann"
		}, want: "asks for changes"},
		"red":              {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = work.ChecksFailed }, want: "checks fail"},
		"checks under way": {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = work.ChecksPending }, want: "not over"},
		"checks unknown":   {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = work.ChecksUnknown }, want: "nobody knows"},
		"checks not said":  {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = "" }, want: "nobody knows"},
		"merge not known":  {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Mergeable = "" }, want: "does not let it"},
		"blocked": {change: func(l *work.PullLook, _ *orchestrator.ResultPull) {
			l.Mergeable, l.Why = work.MergeBlocked, "two are wanted"
		}, want: "two are wanted"},
		"closed":             {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.State = work.PullClosed }, want: "closed"},
		"merged elsewhere":   {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.State, l.Base = work.PullMerged, "other" }, want: "merged into other"},
		"another state":      {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.State = "draft" }, want: "does not know"},
		"pointed elsewhere":  {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Base = "other" }, want: "set its target back"},
		"pushed to":          {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Head = "c9" }, want: "not at what was proven"},
		"its branch is gone": {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.BranchGone = true }, want: "not at what was proven"},
	} {
		look, r := ready(), req
		if c.change != nil {
			c.change(&look, &r)
		}
		if got := inTheWay(look, r); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Where its target is, is asked when nothing else is in the way.
func TestWhereAPartAims(t *testing.T) {
	t.Parallel()
	req := orchestrator.ResultPull{Commit: "c1", Target: "main", From: "c0"}
	for at, want := range map[string]string{"c0": "", "c7": "it was proven at c0", "": "the host has no branch main"} {
		if got := aims(at, req); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("at %q: %q, want %q", at, got, want)
		}
	}
}

// The text of a part names every other one at its place in the order of the merges.
func TestAPartNamesTheOthers(t *testing.T) {
	t.Parallel()
	req := orchestrator.ResultPull{Repository: "web", At: 1, Others: []orchestrator.ResultOther{
		{Repository: "api", ResultPulled: orchestrator.ResultPulled{Number: 3, URL: "https://git.example.com/o/api/pulls/3"}}, {Repository: "lib"},
	}}
	got := tellOthers(req).String()
	want := "- `api`: pull request 3, <https://git.example.com/o/api/pulls/3>\n- `web`: this one\n- `lib`: not opened yet\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("it says\n%s\nand not\n%s", got, want)
	}
}
