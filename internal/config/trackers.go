package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Tracker is one [trackers.<name>].
type Tracker struct {
	Kind             *string `toml:"kind" doc:"gitea or github." sample:"\"gitea\"" rule:"gitea|github"`
	URL              *string `toml:"url" doc:"Address of the host, without a user or password in it; of GitHub only where it is your own, with /api/v3 at its end." sample:"\"https://git.example.com\"" rule:"url"`
	Repo             *string `toml:"repo" doc:"The repository whose issues are taken." sample:"\"owner/name\"" rule:"ownerrepo"`
	TokenEnv         *string `toml:"token_env" doc:"Variable with the token; GITEA_TOKEN or GITHUB_TOKEN when not set. Its account has to be an admin of the repository: nobody else is told who may write to it." sample:"\"GITEA_TOKEN\"" rule:"variable"`
	Label            *string `toml:"label" doc:"Issues with this label are taken, as they were when somebody with write access gave it; forge when not set." sample:"\"forge\"" rule:"filled"`
	Column           *string `toml:"column" doc:"Where they are put: ready, or backlog, where a person looks first; ready when not set." sample:"\"ready\"" rule:"ready|backlog"`
	Call             *string `toml:"call" doc:"Name by which people who may write call Forge in comments, as /name or @name; forge when not set, empty: it hears nobody." sample:"\"forge\""`
	PollSecs         *int    `toml:"poll_secs" doc:"How often the tracker is asked for news, in seconds; 60 when not set." sample:"60" rule:"min=5 max=86400"`
	Project          *string `toml:"project" doc:"Checkout of the project whose board they go to; needed where the server has several projects." sample:"\"~/src/project\"" rule:"abspath"`
	WebhookSecretEnv *string `toml:"webhook_secret_env" doc:"Variable with the secret that webhooks to /hooks/<name> are signed with; none is taken when not set." sample:"\"WEBHOOK_SECRET\"" rule:"variable"`
	Sandbox          *string `toml:"sandbox" doc:"required: their runs refuse to begin without a sandbox, whatever [sandbox] says; as_configured: as every run; required when not set." sample:"\"required\"" rule:"required|as_configured"`
}

// TrackerSettings is one of [trackers], resolved.
type TrackerSettings struct {
	Name, Kind  string
	URL         string // "" = GitHub itself
	Owner, Repo string
	Token       Secret
	Label       string
	Call        string // "" = no calls are heard
	Column      string
	Poll        time.Duration
	Project     string // "" = the only one
	Webhook     Secret // Name "" = none
	Sandboxed   bool
}

// checkTrackers looks at each tracker; only the user's files name any.
func (c *Config) checkTrackers(col *collector) {
	for _, l := range c.layers {
		for _, name := range sortedKeys(l.said.Trackers) {
			c.checkTracker(col, l, name)
		}
	}
}

func (c *Config) checkTracker(col *collector, l *layer, name string) {
	bad := func(key, what, fix string) {
		path := []string{"trackers", name}
		if key != "" {
			path = append(path, key)
		}
		col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix)
	}
	t := c.File.Trackers[name]
	if !sourceName().MatchString(name) {
		bad("", "is no name for a tracker", "use small letters, digits, _ and -, at most 60")
	}
	if t.Kind == nil {
		bad("", "has no kind", `write kind = "gitea" or kind = "github"`)
	}
	if t.Repo == nil {
		bad("", "has no repo", `write repo = "owner/name"`)
	}
	if said(t.Kind) == "gitea" && t.URL == nil {
		bad("", "has no url", `write such as url = "https://git.example.com"`)
	}
	for key, variable := range map[string]*string{"token_env": t.TokenEnv, "webhook_secret_env": t.WebhookSecretEnv} {
		if variable != nil && !SecretName(*variable) {
			bad(key, fmt.Sprintf("names %s, which does not look like a secret", *variable), "name a variable with TOKEN or SECRET in it: only such are kept out of logs")
		}
	}
	u, err := url.Parse(said(t.URL))
	loopback := err == nil && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
	if err == nil && u.Scheme == "http" && !loopback {
		bad("url", "would send the token unencrypted", "write https://")
	}
}

// Trackers are the trackers that the user named, by name, with secrets from the
// environment. The error is *Problems: a token is missing.
func (c *Config) Trackers() ([]TrackerSettings, error) {
	var out []TrackerSettings
	col := &collector{}
	for _, name := range sortedKeys(c.File.Trackers) {
		t := c.File.Trackers[name]
		s := TrackerSettings{
			Name: name, Kind: said(t.Kind), URL: strings.TrimRight(said(t.URL), "/"), Label: cmp.Or(said(t.Label), "forge"), Column: cmp.Or(said(t.Column), "ready"),
			Poll: time.Duration(cmp.Or(said(t.PollSecs), 60)) * time.Second, Project: said(t.Project), Sandboxed: said(t.Sandbox) != "as_configured",
		}
		if s.Call = "forge"; t.Call != nil {
			s.Call = strings.TrimLeft(strings.TrimSpace(*t.Call), "@/")
		}
		s.Owner, s.Repo, _ = strings.Cut(said(t.Repo), "/")
		secret := func(key, variable string) Secret {
			value := strings.TrimSpace(c.environ[variable])
			if value == "" {
				file, at := c.where("trackers", name)
				col.add(file, at, fmt.Sprintf("trackers.%s takes its %s from %s, which is not set", name, strings.TrimSuffix(key, "_env"), variable), "set "+variable+", or name another variable in "+key)
			}
			return Secret{variable, value}
		}
		s.Token = secret("token_env", cmp.Or(said(t.TokenEnv), map[string]string{"gitea": "GITEA_TOKEN", "github": "GITHUB_TOKEN"}[s.Kind]))
		if t.WebhookSecretEnv != nil {
			s.Webhook = secret("webhook_secret_env", *t.WebhookSecretEnv)
		}
		out = append(out, s)
	}
	return out, col.err()
}

// TrackerSandboxes are the trackers without their secrets: which of them may
// have runs outside of a sandbox.
func (c *Config) TrackerSandboxes() []TrackerSettings {
	var out []TrackerSettings
	for _, name := range sortedKeys(c.File.Trackers) {
		out = append(out, TrackerSettings{Name: name, Sandboxed: said(c.File.Trackers[name].Sandbox) != "as_configured"})
	}
	return out
}
