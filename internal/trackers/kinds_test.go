package trackers

import (
	"strings"
	"testing"

	"forge/internal/config"
)

// Each kind of tracker that a file may name is asked, and no other one in its place.
func TestEachKindOfTrackerIsAsked(t *testing.T) {
	t.Parallel()
	key, ok := config.KeyOf("trackers.<name>.kind")
	if !ok || key.Rule == "" {
		t.Fatalf("trackers.<name>.kind: %+v", key)
	}
	for _, kind := range strings.Split(key.Rule, "|") {
		set := config.TrackerSettings{Kind: kind, URL: "https://git.example.com", Path: "o/r", Owner: "o", Repo: "r", Token: config.Secret{Value: "t"}}
		if on, err := client(set); err != nil {
			t.Errorf("%s: %v", kind, err)
		} else if name := on.Name(); !strings.HasPrefix(name, kind+":") {
			t.Errorf("%s is asked as %s", kind, name)
		}
	}
	if _, err := client(config.TrackerSettings{Kind: "other"}); err == nil {
		t.Error("a kind that nobody knows is asked")
	}
}
