package gitlab_test

import (
	"net/http"
	"strings"
	"testing"

	"forge/factory/tracker"
	"forge/internal/tracker/gitlab"
	"forge/internal/tracker/trackertest"
)

func config(g *trackertest.GitLab) gitlab.Config {
	return gitlab.Config{URL: g.URL, Project: trackertest.GitLabProject, Token: g.Token}
}

func on(t *testing.T, cfg gitlab.Config) tracker.Host {
	t.Helper()
	tr, err := gitlab.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func world(t *testing.T) (trackertest.World, *trackertest.GitLab) {
	t.Helper()
	g := trackertest.StartGitLab(t)
	return trackertest.World{Tracker: on(t, config(g)), People: g, EditsTold: true}, g
}

func TestSuite(t *testing.T) {
	w, _ := world(t)
	trackertest.Run(t, w)
}

func TestFaults(t *testing.T) {
	w, g := world(t)
	token, project := config(g), config(g)
	token.Token, project.Project = "another", "group/none"
	wrong := trackertest.Wrong{Token: on(t, token), Project: on(t, project)}
	trackertest.RunFaults(t, w, g, wrong, func(s trackertest.Server) {
		s.Fail(100, http.StatusTooManyRequests, http.Header{"Retry-After": {"120"}}, `{"message":{"error":"This endpoint has been requested too many times. Try again later."}}`)
	})
}

// held is what an issue counts for that was edited after its label.
func held(t *testing.T, w trackertest.World, g *trackertest.GitLab, who string) tracker.Hold {
	t.Helper()
	n := g.Open(t, trackertest.Reader, "A wish", "Please.")
	g.Label(t, trackertest.Writer, n)
	g.Body(t, who, n, "Something else.")
	r, err := w.Tracker.Read(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	b, ok := tracker.Bind(r, trackertest.Label, tracker.Seen{})
	if !ok {
		t.Errorf("%+v", b)
	}
	return b.Hold
}

// The notes of edits are believed only where the server's own word agrees.
func TestEditsThatAreNotTold(t *testing.T) {
	w, g := world(t)
	if hold := held(t, w, g, trackertest.Writer); hold != "" {
		t.Errorf("edited by who labelled it: %q", hold)
	}
	g.Untold = true
	if hold := held(t, w, g, trackertest.Reader); hold != tracker.HoldUnknown {
		t.Errorf("without a note: %q", hold)
	}
	g.Untold, g.Old = false, true
	if hold := held(t, w, g, trackertest.Writer); hold != tracker.HoldUnknown {
		t.Errorf("by a server that does not tell: %q", hold)
	}
}

// What is for members of the project alone does not get into a text that leaves it.
func TestInternalNotesAreLeftOut(t *testing.T) {
	w, g := world(t)
	n := g.Open(t, trackertest.Reader, "A wish", "Please.")
	g.Label(t, trackertest.Writer, n)
	g.Say(t, trackertest.Writer, n, "(internal) the customer is")
	g.Say(t, trackertest.Writer, n, "for all")
	r, err := w.Tracker.Read(t.Context(), n)
	if err != nil || len(r.Comments) != 1 || !strings.Contains(r.Comments[0].Body, "for all") {
		t.Errorf("comments %+v, %v", r.Comments, err)
	}
}
