package work

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// PullChecks is how the checks of a commit stand, each by its name and as it
// ended last.
type PullChecks struct {
	State CheckState
	// Failed say that the commit is bad. Broken ended without saying anything of
	// it: they were cancelled, or what runs them failed.
	Failed []PullCheck
	Broken []string
	// Flaky failed on this very commit, and passed when they ran again.
	Flaky []string
	// Waiting have not ended. Since is when the first of them began, zero = the
	// host does not say.
	Waiting []string
	Since   time.Time
}

// PullCheck is one check that failed.
type PullCheck struct {
	Name  string
	Words string // what it says of itself, clipped
	URL   string // of its page, for people
	Job   int64  // whose log the host has, 0 = none
	At    string // commit that it is of
	// Step failed, and Log is the end of what the job printed; "" = not read, or
	// the host has none.
	Step string
	Log  string
}

// ChecksSeen is how the checks of a pull request's head stand, as far as it
// decides whether the agent is to mend what they found.
type ChecksSeen struct {
	Failed  []string `json:"failed,omitempty"`
	Broken  []string `json:"broken,omitempty"`
	Running bool     `json:"running,omitempty"` // some have not ended
	// Late have not ended for longer than checks take.
	Late []string `json:"late,omitempty"`
	// Told says that the agent was told of this head's, Tried how many heads it
	// was told of, and Most of how many it may be.
	Told  bool `json:"told,omitempty"`
	Tried int  `json:"tried,omitempty"`
	Most  int  `json:"most,omitempty"`
}

// Next decides whether the agent is to mend what failed; why says, for people,
// what stands in the way of it, "" = nothing has to be said.
func (c ChecksSeen) Next() (mend bool, why string) {
	failed := "the host's checks fail: " + someNames(c.Failed)
	switch {
	case c.Most <= 0:
		return false, ""
	case len(c.Late) > 0 && len(c.Failed) == 0:
		return false, fmt.Sprintf("the host's checks have not ended for more than %v: %s; see there what they wait for", MostChecking, someNames(c.Late))
	case c.Running && len(c.Late) == 0:
		return false, "" // the agent is told of all that fail at once
	case len(c.Failed) == 0 && len(c.Broken) > 0:
		return false, "the host's checks ended without a verdict: " + someNames(c.Broken) + "; run them again there"
	case len(c.Failed) == 0:
		return false, ""
	case c.Told:
		return false, failed + "; the agent was told, and changed nothing: push what mends it, or run them again there"
	case c.Tried >= c.Most:
		return false, fmt.Sprintf("%s; the agent tried to mend that %d times, which host.ci_fixes allows: push what mends it, or ask for changes", failed, c.Tried)
	}
	return true, failed
}

// MostChecking is after how long checks that have not ended are said to be late.
const MostChecking = time.Hour

func someNames(names []string) string {
	const most = 5
	out := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// checkMark begins the marks of heads whose failed checks the agent was told of,
// among those of reviews and comments.
const checkMark = "k"

// ChecksMark is the mark that the agent was told of the failed checks of a head.
func ChecksMark(head string) string { return checkMark + head[:min(len(head), 12)] }

// ChecksTold counts the heads among marks.
func ChecksTold(heard []string) int {
	seen := map[string]bool{}
	for _, id := range heard {
		if strings.HasPrefix(id, checkMark) {
			seen[id] = true
		}
	}
	return len(seen)
}

// Seen is what decides of checks at a moment, after some were told.
func (c PullChecks) Seen(head string, heard []string, most int, now time.Time) ChecksSeen {
	out := ChecksSeen{Broken: c.Broken, Running: len(c.Waiting) > 0}
	for _, f := range c.Failed {
		out.Failed = append(out.Failed, f.Name)
	}
	if !c.Since.IsZero() && now.Sub(c.Since) > MostChecking {
		out.Late = c.Waiting
	}
	return out.After(head, heard, most)
}

// After is what decides of the checks of a head, once heard was told.
func (c ChecksSeen) After(head string, heard []string, most int) ChecksSeen {
	c.Told, c.Tried, c.Most = slices.Contains(heard, ChecksMark(head)), ChecksTold(heard), most
	return c
}

// CIFiles are globs of the files that say what the CI of a code host runs. Each is a
// path, or a folder with all that is below it.
func CIFiles() []string {
	return []string{
		".github/**", ".gitlab-ci.yml", ".gitlab/ci/**", ".gitea/**", ".forgejo/**", ".circleci/**", ".buildkite/**",
		"azure-pipelines.yml", ".azure-pipelines/**", "Jenkinsfile", ".travis.yml", ".drone.yml", ".woodpecker.yml",
		".woodpecker/**", "bitbucket-pipelines.yml", "appveyor.yml",
	}
}

// RunsInCI says that a file says what the CI of a code host runs, by its path: one of
// CIFiles, or a script where such are kept.
func RunsInCI(path string) bool {
	return strings.HasPrefix(path, ".ci/") || slices.ContainsFunc(CIFiles(), func(glob string) bool {
		dir, folder := strings.CutSuffix(glob, "**")
		return folder && strings.HasPrefix(path, dir) || path == glob
	})
}
