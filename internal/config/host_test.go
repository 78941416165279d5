package config

import (
	"strings"
	"testing"
	"time"
)

func TestCodeHost(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
	}{
		{"nothing", "", ""},
		{"no url", "[host]\nkind = \"gitea\"\nrepo = \"o/r\"\n", "host.url is not set"},
		{"no repository", "[host]\nkind = \"github\"\n", "host.repo is not set"},
		{"a foreign host", "[host]\nkind = \"gitea\"\nurl = \"https://evil.example\"\nrepo = \"o/r\"\n", "host sends GITEA_TOKEN to evil.example"},
		{"groups in Gitea", "[host]\nkind = \"gitea\"\nurl = \"http://localhost:3000\"\nrepo = \"g/s/r\"\n", "not a repository of gitea"},
		{"groups in GitLab", "[host]\nkind = \"gitlab\"\nrepo = \"g/s/r\"\n", ""},
		{"GitLab elsewhere", "[host]\nkind = \"gitlab\"\nurl = \"https://evil.example\"\nrepo = \"g/r\"\n", "host sends GITLAB_TOKEN to evil.example"},
		{"all", "[host]\nkind = \"gitea\"\nurl = \"http://localhost:3000/git/\"\nrepo = \"o/r.x\"\nalways = true\npoll_secs = 7\nmerger_token_env = \"MERGE_TOKEN\"\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := project(t, map[string]string{ProjectFile: tt.text})
			cfg, _, err := Load(Sources{ProjectDir: dir, Environ: []string{"GITEA_TOKEN= secret-1 ", "MERGE_TOKEN=secret-2", "GITLAB_TOKEN=secret-3"}})
			must(t, err)
			h, err := cfg.CodeHost()
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got %v, want %s", err, tt.want)
				}
				return
			}
			must(t, err)
			want := CodeHost{Kind: "local", Named: strings.Contains(tt.text, "kind"), CIFixes: 2, Call: "forge", Poll: 30 * time.Second}
			if tt.name == "groups in GitLab" {
				want.Kind, want.URL, want.Owner, want.Repo = "gitlab", "https://gitlab.com", "g", "s/r"
				want.Token, want.WebhookSecret = Secret{"GITLAB_TOKEN", "secret-3"}, Secret{"WEBHOOK_SECRET", ""}
			}
			if tt.name == "all" {
				want = CodeHost{
					Kind: "gitea", Named: true, URL: "http://localhost:3000/git", Owner: "o", Repo: "r.x", Always: true, CIFixes: 2, Call: "forge", Poll: 7 * time.Second,
					Token: Secret{"GITEA_TOKEN", "secret-1"}, MergerToken: Secret{"MERGE_TOKEN", "secret-2"}, WebhookSecret: Secret{"WEBHOOK_SECRET", ""},
				}
			}
			if h != want {
				t.Errorf("got %+v\nwant %+v", h, want)
			}
		})
	}
}

func TestHostWords(t *testing.T) {
	for text, want := range map[string]string{
		"[host]\nkind = \"gitbucket\"\n":                                      "host.kind",
		"[host]\nrepo = \"just-a-name\"\n":                                    "not a repository",
		"[host]\nrepo = \"o/..\"\n":                                           "not a repository",
		"[host]\nurl = \"https://u:p@git.example\"\n":                         "user or password",
		"[host]\ntoken_env = \"PLAIN\"\n":                                     "does not look like a secret",
		"[host]\ntoken = \"x\"\n":                                             "unknown key token",
		"[host]\npoll_secs = 0\n":                                             "poll_secs",
		"[host]\ntoken_env = \"A_TOKEN\"\nreviewer_token_env = \"A_TOKEN\"\n": "the same variable",
	} {
		dir := project(t, map[string]string{ProjectFile: text})
		_, _, err := Load(Sources{ProjectDir: dir})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
