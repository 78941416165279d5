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
		target string
		want   string
	}{
		"ready":                      {target: "c0"},
		"no checks at all":           {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = work.ChecksNone }, target: "c0"},
		"approved here":              {change: func(l *work.PullLook, r *orchestrator.ResultPull) { l.Reviews, r.Approved = nil, "ann" }, target: "c0"},
		"not approved":               {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Reviews = nil }, target: "c0", want: "nobody has approved"},
		"an earlier commit approved": {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Reviews[0].Commit = "c9" }, target: "c0", want: "nobody has approved"},
		"a reader approved":          {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Reviews[0].MayDecide = false }, target: "c0", want: "nobody has approved"},
		"sent back, approved here": {change: func(l *work.PullLook, r *orchestrator.ResultPull) {
			l.Reviews[0].Verdict, r.Approved = work.PullChangesRequested, "ann"
		}, target: "c0", want: "asks for changes"},
		"red":              {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = work.ChecksFailed }, target: "c0", want: "checks fail"},
		"checks under way": {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = work.ChecksPending }, target: "c0", want: "not over"},
		"checks unknown":   {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = work.ChecksUnknown }, target: "c0", want: "nobody knows"},
		"checks not said":  {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Checks = "" }, target: "c0", want: "nobody knows"},
		"merge not known":  {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Mergeable = "" }, target: "c0", want: "does not let it"},
		"blocked": {change: func(l *work.PullLook, _ *orchestrator.ResultPull) {
			l.Mergeable, l.Why = work.MergeBlocked, "two are wanted"
		}, target: "c0", want: "two are wanted"},
		"closed":                  {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.State = work.PullClosed }, target: "c0", want: "closed"},
		"merged elsewhere":        {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.State, l.Base = work.PullMerged, "other" }, target: "c0", want: "merged into other"},
		"another state":           {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.State = "draft" }, target: "c0", want: "does not know"},
		"pointed elsewhere":       {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Base = "other" }, target: "c0", want: "set its target back"},
		"pushed to":               {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.Head = "c9" }, target: "c0", want: "not at what was proven"},
		"its branch is gone":      {change: func(l *work.PullLook, _ *orchestrator.ResultPull) { l.BranchGone = true }, target: "c0", want: "not at what was proven"},
		"the target moved":        {target: "c7", want: "the run began at c0"},
		"the target is not there": {want: "the host has no branch main"},
	} {
		look, r := ready(), req
		if c.change != nil {
			c.change(&look, &r)
		}
		if got := inTheWay(look, c.target, r); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
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
