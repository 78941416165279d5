package trackers

import (
	"strings"
	"testing"

	"forge/factory/tracker"
	"forge/internal/config"
	"forge/internal/tracker/gitlab"
	"forge/internal/tracker/jira"
	"forge/internal/tracker/linear"
	"forge/internal/tracker/trackertest"
	"forge/internal/work"
)

// served is a tracker of Forge's own, with what a configuration says of it.
type served struct {
	trackertest.Server
	set config.TrackerSettings
	on  func(config.TrackerSettings) (tracker.Host, error)
}

// servers are those that cannot be had for real.
func servers(t *testing.T) map[string]served {
	t.Helper()
	names := trackertest.Names()
	l, g := trackertest.StartLinear(t), trackertest.StartGitLab(t)
	out := map[string]served{
		"linear": {l, config.TrackerSettings{Kind: "linear", Path: trackertest.Workspace + "/" + trackertest.Team, Token: config.Secret{Name: "LINEAR_TOKEN", Value: l.Token}}, func(s config.TrackerSettings) (tracker.Host, error) {
			return linear.New(linear.Config{URL: l.URL, Workspace: trackertest.Workspace, Team: trackertest.Team, Token: s.Token.Value, States: statesOf(s)})
		}},
		"gitlab": {g, config.TrackerSettings{Kind: "gitlab", Path: trackertest.GitLabProject, Token: config.Secret{Name: "GITLAB_TOKEN", Value: g.Token}}, func(s config.TrackerSettings) (tracker.Host, error) {
			return gitlab.New(gitlab.Config{URL: g.URL, Project: s.Path, Token: s.Token.Value})
		}},
	}
	for name, cloud := range map[string]bool{"jira": false, "jira cloud": true} {
		j := trackertest.StartJira(t, cloud)
		set := config.TrackerSettings{Kind: "jira", Path: trackertest.Team, Token: config.Secret{Name: "JIRA_TOKEN", Value: j.Token}}
		if cloud {
			set.User = trackertest.JiraUser
		}
		out[name] = served{j, set, func(s config.TrackerSettings) (tracker.Host, error) {
			return jira.New(jira.Config{URL: j.URL, Project: s.Path, User: s.User, Token: s.Token.Value, States: statesOf(s)})
		}}
	}
	for name, s := range out {
		if s.set.Name = "work"; s.set.Kind != "gitlab" {
			s.set.Working, s.set.Reviewing, s.set.Done = names.Working, names.Reviewing, names.Done
		}
		out[name] = s
	}
	return out
}

// An issue of each tracker goes the whole way over the board: brought, worked on,
// called, taken back and wanted again, blocked, landed and closed.
func TestAnIssueOfEachTrackerGoesItsWay(t *testing.T) {
	for name, s := range servers(t) {
		t.Run(name, func(t *testing.T) {
			w := newTrackerWorld(t)
			on, err := s.on(s.set)
			if err != nil {
				t.Fatal(err)
			}
			w.sync.Host, w.sync.Rules.Called = on, "forge"
			if s.set.Working != "" {
				w.sync.Rules.States = []string{"Todo", s.set.Working, s.set.Reviewing}
			}
			stands := func(what string, column work.Column, reason string) {
				t.Helper()
				w.once()
				if i := w.issue(1); i.Column != column || !strings.HasPrefix(i.Reason, reason) || (reason == "") != (i.Reason == "") {
					t.Errorf("%s: %s %s %q, want %s %q", what, i.Column, i.State, i.Reason, column, reason)
				}
			}
			states, _ := s.Server.(trackertest.Stateful)
			shows := func(state string) {
				t.Helper()
				if s.set.Working != "" && states.State(t, 1) != state {
					t.Errorf("it is shown in %q, want %q", states.State(t, 1), state)
				}
			}
			n := s.Open(t, trackertest.Reader, "A wish", "Please.")
			s.Label(t, trackertest.Writer, n)
			stands("labelled", work.ColumnReady, "")
			w.puts(1, func(i *work.Issue) { i.Column, i.Run = work.ColumnInProgress, "i1-x" })
			stands("worked on", work.ColumnInProgress, "")
			shows("In Progress")

			s.Close(t, trackertest.Reader, n)
			stands("closed", work.ColumnBacklog, "closed_on_tracker")
			s.Reopen(t, trackertest.Reader, n)
			stands("reopened by its author", work.ColumnBacklog, "reopened_without_access")
			s.Unlabel(t, trackertest.Writer, n)
			s.Label(t, trackertest.Writer, n)
			stands("labelled again", work.ColumnReady, "")
			if s.set.Working != "" {
				states.SetState(t, trackertest.Writer, n, "Done")
				states.SetState(t, trackertest.Writer, n, "Todo")
			}
			s.Say(t, trackertest.Reader, n, "/forge stop")
			stands("called by a reader", work.ColumnReady, "")
			s.Say(t, trackertest.Writer, n, "/forge stop")
			w.once()
			if i := w.issue(1); i.State != work.IssueCancelled {
				t.Errorf("called to stop: %+v", i)
			}
			s.Say(t, trackertest.Writer, n, "/forge retry")
			stands("called to go on", work.ColumnReady, "")

			other := s.Open(t, trackertest.Writer, "Before it", "")
			s.Block(t, n, other)
			stands("blocked", work.ColumnReady, "blocked_on_tracker")
			s.Close(t, trackertest.Writer, other)
			stands("not blocked any more", work.ColumnReady, "")

			w.puts(1, func(i *work.Issue) { i.Column = work.ColumnInReview })
			stands("in review", work.ColumnInReview, "")
			shows("In Review")
			w.puts(1, func(i *work.Issue) { i.Column = work.ColumnDone })
			stands("landed", work.ColumnDone, "")
			if shows("Done"); !s.Closed(t, n) {
				t.Error("what has landed is not closed")
			}
			before := len(s.Comments(t, n))
			stands("told", work.ColumnDone, "")
			if after := len(s.Comments(t, n)); after != before {
				t.Errorf("%d comments, and then %d", before, after)
			}
		})
	}
}

// A wrong token and a wrong project are said with the way out, by the names that they
// have in the configuration.
func TestTheWayOut(t *testing.T) {
	for name, s := range servers(t) {
		token, place := s.set, s.set
		token.Token.Value = "another"
		if place.Path = "NONE"; name == "gitlab" {
			place.Path = "group/none"
		}
		for want, set := range map[string]config.TrackerSettings{"LINEAR_TOKEN JIRA_TOKEN GITLAB_TOKEN": token, "repo = \"" + place.Path + "\" in [trackers.work]": place} {
			on, err := s.on(set)
			if err != nil {
				t.Fatal(err)
			}
			if set.Path == "NONE" && name == "linear" {
				continue // its team is not told by Path here
			}
			_, _, err = on.Changed(t.Context(), work.TrackerMark{})
			fix := wayOut(set, err)
			if set.Token.Value == "another" {
				want = "put a token that is not expired into " + set.Token.Name
			}
			if err == nil || !strings.Contains(fix, want) {
				t.Errorf("%s: %v → %q, want %q", name, err, fix, want)
			}
		}
	}
}
