package github_test

import (
	"testing"

	"forge/internal/tracker/github"
	"forge/internal/tracker/trackertest"
)

func TestSuite(t *testing.T) {
	g := trackertest.StartGitHub(t)
	tr, err := github.New(github.Config{URL: g.URL, Owner: trackertest.Owner, Repo: "work", Token: g.Token})
	if err != nil {
		t.Fatal(err)
	}
	trackertest.Run(t, trackertest.World{Tracker: tr, People: g, EditsTold: true})
}
