package linear_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"forge/factory/tracker"
	"forge/internal/tracker/linear"
	"forge/internal/tracker/trackertest"
)

func config(l *trackertest.Linear) linear.Config {
	return linear.Config{URL: l.URL, Workspace: trackertest.Workspace, Team: trackertest.Team, Token: l.Token, States: trackertest.Names()}
}

func on(t *testing.T, cfg linear.Config) tracker.Host {
	t.Helper()
	tr, err := linear.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func world(t *testing.T) (trackertest.World, *trackertest.Linear) {
	t.Helper()
	l := trackertest.StartLinear(t)
	return trackertest.World{Tracker: on(t, config(l)), People: l, EditsTold: true, NoLock: true}, l
}

func TestSuite(t *testing.T) {
	w, _ := world(t)
	trackertest.Run(t, w)
}

func TestFaults(t *testing.T) {
	w, l := world(t)
	token, team := config(l), config(l)
	token.Token, team.Team = "another", "NONE"
	wrong := trackertest.Wrong{Token: on(t, token), Project: on(t, team)}
	// Linear answers 400 to who asks too often, and says when it ends in milliseconds.
	trackertest.RunFaults(t, w, l, wrong, func(s trackertest.Server) {
		now := time.Now()
		header := http.Header{"Date": {now.UTC().Format(http.TimeFormat)}, "X-Ratelimit-Requests-Reset": {strconv.FormatInt(now.Add(2*time.Minute).UnixMilli(), 10)}}
		s.Fail(100, http.StatusBadRequest, header, `{"errors":[{"message":"Rate limit exceeded","extensions":{"code":"RATELIMITED"}}]}`)
	})
}

func TestStates(t *testing.T) {
	w, l := world(t)
	plain := config(l)
	plain.States = tracker.States{}
	trackertest.RunStates(t, w, on(t, plain), l)
}
