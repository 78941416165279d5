package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// trackerIn reads one tracker of a user's file.
func trackerIn(t *testing.T, text string, environ ...string) ([]TrackerSettings, error) {
	t.Helper()
	dir := t.TempDir()
	user := filepath.Join(dir, "user.toml")
	if err := os.WriteFile(user, []byte("[trackers.work]\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: user, Environ: environ})
	if err != nil {
		return nil, err
	}
	return cfg.Trackers()
}

func TestEachKindOfTrackerTakesWhatItNeeds(t *testing.T) {
	for text, want := range map[string]TrackerSettings{
		"kind = \"gitea\"\nurl = \"https://git.example.com/\"\nrepo = \"o/r\"": {Kind: "gitea", Path: "o/r", Owner: "o", Repo: "r", Token: Secret{Name: "GITEA_TOKEN"}},
		"kind = \"github\"\nrepo = \"o/r\"":                                    {Kind: "github", Path: "o/r", Owner: "o", Repo: "r", Token: Secret{Name: "GITHUB_TOKEN"}},
		"kind = \"gitlab\"\nrepo = \"g/s/r\"":                                  {Kind: "gitlab", Path: "g/s/r", Owner: "g", Repo: "s/r", Token: Secret{Name: "GITLAB_TOKEN"}},
		"kind = \"linear\"\nrepo = \"acme/ENG\"\nworking = \"Doing\"":          {Kind: "linear", Path: "acme/ENG", Owner: "acme", Repo: "ENG", Working: "Doing", Token: Secret{Name: "LINEAR_TOKEN"}},
		"kind = \"jira\"\nurl = \"https://j.example.com\"\nrepo = \"WORK\"\nuser = \"a@example.com\"\ndone = \"Closed\"\nstates = [\"To Do\"]\nreviewing = \"Review\"": {Kind: "jira", Path: "WORK", Owner: "WORK", User: "a@example.com", Done: "Closed", Reviewing: "Review", Token: Secret{Name: "JIRA_TOKEN"}, States: []string{"To Do", "Review"}},
	} {
		all, err := trackerIn(t, text, want.Token.Name+"=x")
		if err != nil || len(all) != 1 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := all[0]
		if got.Kind != want.Kind || got.Path != want.Path || got.Owner != want.Owner || got.Repo != want.Repo || got.User != want.User || got.Token.Name != want.Token.Name ||
			got.Working != want.Working || got.Reviewing != want.Reviewing || got.Done != want.Done || !slices.Equal(got.States, want.States) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
		if _, err := trackerIn(t, text); err == nil || !strings.Contains(err.Error(), want.Token.Name) {
			t.Errorf("%s, without a token: %v", text, err)
		}
	}
}

func TestATrackerThatIsConfiguredWrongly(t *testing.T) {
	for text, want := range map[string]string{
		"kind = \"jira\"\nrepo = \"WORK\"":                                          "https://name.atlassian.net",
		"kind = \"jira\"\nurl = \"https://j.example.com\"\nrepo = \"o/r\"":          "not such as \"WORK\"",
		"kind = \"linear\"\nrepo = \"ENG\"":                                         "not such as \"workspace/TEAM\"",
		"kind = \"linear\"\nrepo = \"a/ENG\"\nurl = \"https://linear.example.com\"": "Linear has one address",
		"kind = \"gitlab\"\nrepo = \"alone\"":                                       "not such as \"group/name\"",
		"kind = \"gitlab\"\nrepo = \"g/../r\"":                                      "not such as \"group/name\"",
		"kind = \"github\"\nrepo = \"g/s/r\"":                                       "not such as \"owner/name\"",
		"kind = \"github\"\nrepo = \"o/r\"\nworking = \"Doing\"":                    "which github does not have",
		"kind = \"github\"\nrepo = \"o/r\"\nstates = [\"Todo\"]":                    "which github does not have",
		"kind = \"linear\"\nrepo = \"a/ENG\"\nuser = \"a@example.com\"":             "Jira Cloud alone",
		"kind = \"jira\"\nurl = \"http://j.example.com\"\nrepo = \"WORK\"":          "unencrypted",
		"kind = \"trello\"\nrepo = \"o/r\"":                                         "trello",
		"repo = \"o/r\"":                                                            "has no kind",
	} {
		if _, err := trackerIn(t, text, "JIRA_TOKEN=x", "LINEAR_TOKEN=x", "GITLAB_TOKEN=x", "GITHUB_TOKEN=x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
