package jira_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"forge/factory/tracker"
	"forge/internal/tracker/jira"
	"forge/internal/tracker/trackertest"
	"forge/internal/work"
)

func config(j *trackertest.Jira) jira.Config {
	cfg := jira.Config{URL: j.URL, Project: trackertest.Team, Token: j.Token, States: trackertest.Names()}
	if j.Cloud {
		cfg.User = trackertest.JiraUser
	}
	return cfg
}

func on(t *testing.T, cfg jira.Config) tracker.Host {
	t.Helper()
	tr, err := jira.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func world(t *testing.T, cloud bool) (trackertest.World, *trackertest.Jira) {
	t.Helper()
	j := trackertest.StartJira(t, cloud)
	shown := jira.Text
	if !cloud {
		shown = func(r tracker.Report) string { return "{noformat}\n" + jira.Text(r) + "\n{noformat}" }
	}
	return trackertest.World{Tracker: on(t, config(j)), People: j, EditsTold: true, NoLock: true, NoSigns: true, Posted: shown}, j
}

// each is of both: Jira Cloud and a server of one's own.
func each(t *testing.T, do func(*testing.T, bool)) {
	t.Helper()
	for name, cloud := range map[string]bool{"Cloud": true, "Server": false} {
		t.Run(name, func(t *testing.T) { do(t, cloud) })
	}
}

func TestSuite(t *testing.T) {
	each(t, func(t *testing.T, cloud bool) {
		w, _ := world(t, cloud)
		trackertest.Run(t, w)
	})
}

func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, cloud bool) {
		t.Parallel()
		w, j := world(t, cloud)
		token, project := config(j), config(j)
		token.Token, project.Project = "another", "NONE"
		wrong := trackertest.Wrong{Token: on(t, token), Project: on(t, project)}
		trackertest.RunFaults(t, w, j, wrong, func(s trackertest.Server) {
			s.Fail(100, http.StatusTooManyRequests, http.Header{"Retry-After": {"120"}}, `{"errorMessages":["Rate limit exceeded."],"errors":{}}`)
		})
	})
}

func TestStates(t *testing.T) {
	each(t, func(t *testing.T, cloud bool) {
		w, j := world(t, cloud)
		plain := config(j)
		plain.States = tracker.States{}
		trackertest.RunStates(t, w, on(t, plain), j)
	})
}

// People who are displayed by the same name are not taken for each other.
func TestNamesThatAreAlike(t *testing.T) {
	each(t, func(t *testing.T, cloud bool) {
		w, j := world(t, cloud)
		j.Alike = true
		n := j.Open(t, trackertest.Reader, "Alike", "Please.")
		j.Label(t, trackertest.Writer, n)
		j.Say(t, trackertest.Reader, n, "from the reader")
		j.Body(t, trackertest.Reader, n, "Something else.")
		r, err := w.Tracker.Read(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := tracker.Bind(r, trackertest.Label, tracker.Seen{}); !ok || b.Hold != tracker.HoldChanged {
			t.Errorf("%+v, %v: the reader's edit is taken for the writer's", b, ok)
		}
		if i := tracker.Issue(r, tracker.Bound{}, "x#1"); strings.Contains(i.Description, "from the reader") {
			t.Errorf("the reader's words count: %q", i.Description)
		}
	})
}

// What changed is asked for in the time zone of the account, also where nobody knows it.
func TestTimeZones(t *testing.T) {
	for _, zone := range []string{"America/New_York", "Asia/Kolkata", "Pacific/Auckland", "UTC", "Nowhere/Known"} {
		w, j := world(t, true)
		if j.Zone = zone; zone == "Nowhere/Known" {
			j.Zone = "Nowhere/Known" // the server takes it for UTC
		}
		n := j.Open(t, trackertest.Reader, "New", "")
		_, mark, err := w.Tracker.Changed(t.Context(), emptyMark)
		if err != nil {
			t.Fatal(err)
		}
		j.Say(t, trackertest.Writer, n, "news")
		numbers, _, err := w.Tracker.Changed(t.Context(), mark)
		if err != nil || !slices.Contains(numbers, n) {
			t.Errorf("%s: %v, %v, want %d", zone, numbers, err, n)
		}
	}
}

// What a workflow does not allow is said with what it does.
func TestWhatAWorkflowAllows(t *testing.T) {
	w, j := world(t, true)
	n := j.Open(t, trackertest.Writer, "Stuck", "")
	j.Forbid("Done", true)
	r, _ := tracker.Tell(strings.Repeat("ab", 16), doneIssue)
	err := w.Tracker.Post(t.Context(), n, r)
	if err == nil || !tracker.OfIssue(err) {
		t.Fatalf("%v", err)
	}
	if want := "its workflow lets it go from Todo to In Progress, In Review, not to Done"; !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

var (
	emptyMark = work.TrackerMark{}
	doneIssue = work.Issue{ID: 1, Column: work.ColumnDone}
)
