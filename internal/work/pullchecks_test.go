package work

import (
	"strings"
	"testing"
	"time"
)

func TestNextOfChecks(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	red := []PullCheck{{Name: "unit"}}
	for name, c := range map[string]struct {
		checks PullChecks
		heard  []string
		most   int
		mend   bool
		why    string
	}{
		"switched off":                   {checks: PullChecks{Failed: red}},
		"nothing is known":               {most: 2},
		"one fails":                      {checks: PullChecks{Failed: red}, most: 2, mend: true, why: "unit"},
		"others still run":               {checks: PullChecks{Failed: red, Waiting: []string{"lint"}, Since: now}, most: 2},
		"others run, nobody knows since": {checks: PullChecks{Failed: red, Waiting: []string{"lint"}}, most: 2},
		"others never end":               {checks: PullChecks{Failed: red, Waiting: []string{"lint"}, Since: now.Add(-2 * time.Hour)}, most: 2, mend: true, why: "unit"},
		"it never ends":                  {checks: PullChecks{Waiting: []string{"lint"}, Since: now.Add(-2 * time.Hour)}, most: 2, why: "lint"},
		"it runs":                        {checks: PullChecks{Waiting: []string{"lint"}, Since: now.Add(-time.Minute)}, most: 2},
		"CI itself failed":               {checks: PullChecks{Broken: []string{"unit"}}, most: 2, why: "without a verdict"},
		"green on a second try":          {checks: PullChecks{Flaky: []string{"unit"}}, most: 2},
		"told of this head":              {checks: PullChecks{Failed: red}, heard: []string{ChecksMark("c1")}, most: 2, why: "changed nothing"},
		"told of another":                {checks: PullChecks{Failed: red}, heard: []string{ChecksMark("c0"), "r7", "c3"}, most: 2, mend: true, why: "unit"},
		"the cap":                        {checks: PullChecks{Failed: red}, heard: []string{ChecksMark("a"), ChecksMark("b"), ChecksMark("b")}, most: 2, why: "host.ci_fixes"},
	} {
		mend, why := c.checks.Seen("c1", c.heard, c.most, now).Next()
		if mend != c.mend || !strings.Contains(why, c.why) || (c.why == "") != (why == "") {
			t.Errorf("%s: %v, %q", name, mend, why)
		}
	}
}

func TestRunsInCI(t *testing.T) {
	for path, want := range map[string]bool{
		".github/workflows/ci.yml": true, ".gitea/workflows/a/b.yaml": true, ".gitlab-ci.yml": true, "Jenkinsfile": true, ".ci/run": true,
		"ci.yml": false, "docs/.github/workflows/ci.yml": false, "src/Jenkinsfile.go": false, ".githubber": false,
	} {
		if got := RunsInCI(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
