package config

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
)

// Tracker is one [trackers.<name>].
type Tracker struct {
	Kind             *string  `toml:"kind" doc:"gitea, github, gitlab, jira or linear." sample:"\"jira\"" rule:"gitea|github|gitlab|jira|linear"`
	URL              *string  `toml:"url" doc:"Address of the host, without a user or password in it; of GitHub only where it is your own, with /api/v3 at its end; of GitLab only where it is your own; none of Linear." sample:"\"https://name.atlassian.net\"" rule:"url"`
	Repo             *string  `toml:"repo" doc:"The repository whose issues are taken; of Jira the project's key, of Linear workspace/TEAM." sample:"\"WORK\"" rule:"filled"`
	User             *string  `toml:"user" doc:"Address of the token's account at Jira Cloud; not set, it is a Jira of one's own." sample:"\"forge@example.com\"" rule:"filled"`
	TokenEnv         *string  `toml:"token_env" doc:"Variable with the token; such as GITEA_TOKEN, by the kind, when not set. Its account has to be an admin of the repository: nobody else is told who may write to it." sample:"\"JIRA_TOKEN\"" rule:"variable"`
	Label            *string  `toml:"label" doc:"Issues with this label are taken, as they were when somebody with write access gave it; forge when not set." sample:"\"forge\"" rule:"filled"`
	Column           *string  `toml:"column" doc:"Where they are put: ready, or backlog, where a person looks first; ready when not set." sample:"\"ready\"" rule:"ready|backlog"`
	States           []string `toml:"states" doc:"Of Jira and Linear: states in which issues are taken and worked on, beside those of working and reviewing; all when not set." sample:"[\"Todo\"]" rule:"filled"`
	Working          *string  `toml:"working" doc:"Of Jira and Linear: state that an issue is brought into when the work on it begins; it is left where it is when not set." sample:"\"In Progress\"" rule:"filled"`
	Reviewing        *string  `toml:"reviewing" doc:"Of Jira and Linear: state for an issue whose result waits for a person; it is left where it is when not set." sample:"\"In Review\"" rule:"filled"`
	Done             *string  `toml:"done" doc:"Of Jira and Linear: state for an issue whose result has landed; the one that ends it when not set." sample:"\"Done\"" rule:"filled"`
	Call             *string  `toml:"call" doc:"Name by which people who may write call Forge in comments, as /name or @name; forge when not set, empty: it hears nobody." sample:"\"forge\""`
	PollSecs         *int     `toml:"poll_secs" doc:"How often the tracker is asked for news, in seconds; 60 when not set." sample:"60" rule:"min=5 max=86400"`
	Project          *string  `toml:"project" doc:"Checkout of the project whose board they go to; needed where the server has several projects." sample:"\"~/src/project\"" rule:"abspath"`
	WebhookSecretEnv *string  `toml:"webhook_secret_env" doc:"Variable with the secret that webhooks to /hooks/<name> are signed with; none is taken when not set." sample:"\"WEBHOOK_SECRET\"" rule:"variable"`
	Sandbox          *string  `toml:"sandbox" doc:"required: their runs refuse to begin without a sandbox, whatever [sandbox] says; as_configured: as every run; required when not set." sample:"\"required\"" rule:"required|as_configured"`
}

// TrackerSettings is one of [trackers], resolved.
type TrackerSettings struct {
	Name, Kind  string
	URL         string // "" = GitHub itself
	Path        string // of the repository, project or team, whole
	Owner, Repo string // its two parts, where it has two
	User        string // of the token, at Jira Cloud
	Token       Secret
	States      []string // none = whichever
	Working     string   // "" = an issue is left where it is, here and in the next two
	Reviewing   string
	Done        string
	Label       string
	Call        string // "" = no calls are heard
	Column      string
	Poll        time.Duration
	Project     string // "" = the only one
	Webhook     Secret // Name "" = none
	Sandboxed   bool
}

// trackerKind is what one kind of tracker takes.
type trackerKind struct {
	repo     func() *regexp.Regexp // what its repo is
	such     string                // and such as what
	token    string                // the variable of its token
	url      string                // an example, "" = it may do without one
	stateful bool                  // it has states of its own
}

var (
	groupRepo     = text.Lazy(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+$`)
	projectKey    = text.Lazy(`^[A-Z][A-Z0-9_]{0,60}$`)
	workspaceTeam = text.Lazy(`^[A-Za-z0-9_-]{1,100}/[A-Za-z0-9]{1,60}$`)
)

// trackerKindOf is that of a name; none = every check of it is of another rule.
func trackerKindOf(name string) (trackerKind, bool) {
	k, ok := map[string]trackerKind{
		"gitea":  {ownerRepo, "owner/name", "GITEA_TOKEN", "https://git.example.com", false},
		"github": {ownerRepo, "owner/name", "GITHUB_TOKEN", "", false},
		"gitlab": {groupRepo, "group/name", "GITLAB_TOKEN", "", false},
		"jira":   {projectKey, "WORK", "JIRA_TOKEN", "https://name.atlassian.net", true},
		"linear": {workspaceTeam, "workspace/TEAM", "LINEAR_TOKEN", "", true},
	}[name]
	return k, ok
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
	if name == WorkflowTracker && t.Kind == nil && t.Repo == nil {
		return // it is that of a WORKFLOW.md, of which this says where its runs work
	}
	if !sourceName().MatchString(name) {
		bad("", "is no name for a tracker", "use small letters, digits, _ and -, at most 60")
	}
	if t.Kind == nil {
		bad("", "has no kind", `write kind = "gitea", "github", "gitlab", "jira" or "linear"`)
	}
	kind, known := trackerKindOf(said(t.Kind))
	such := cmp.Or(kind.such, "owner/name")
	switch {
	case t.Repo == nil:
		bad("", "has no repo", `write repo = "`+such+`"`)
	case known && (!kind.repo().MatchString(*t.Repo) || strings.Contains(*t.Repo, "..")):
		bad("repo", fmt.Sprintf("is %q, not such as %q", text.Clip(*t.Repo, 60), such), "write "+such)
	}
	if kind.url != "" && t.URL == nil {
		bad("", "has no url", `write such as url = "`+kind.url+`"`)
	}
	if said(t.Kind) == "linear" && t.URL != nil {
		bad("url", "is not taken: Linear has one address", "take it out")
	}
	if t.User != nil && said(t.Kind) != "jira" {
		bad("user", "is of Jira Cloud alone", "take it out")
	}
	for key, set := range map[string]bool{"states": t.States != nil, "working": t.Working != nil, "reviewing": t.Reviewing != nil, "done": t.Done != nil} {
		if set && known && !kind.stateful {
			bad(key, "is of trackers with states of their own, which "+*t.Kind+" does not have", "take it out")
		}
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
		if name == WorkflowTracker && t.Kind == nil && t.Repo == nil {
			continue
		}
		s := TrackerSettings{
			Name: name, Kind: said(t.Kind), URL: strings.TrimRight(said(t.URL), "/"), Label: cmp.Or(said(t.Label), "forge"), Column: cmp.Or(said(t.Column), "ready"),
			Poll: time.Duration(cmp.Or(said(t.PollSecs), 60)) * time.Second, Project: said(t.Project), Sandboxed: said(t.Sandbox) != "as_configured",
		}
		if s.Call = "forge"; t.Call != nil {
			s.Call = strings.TrimLeft(strings.TrimSpace(*t.Call), "@/")
		}
		s.Path, s.User, s.Working, s.Reviewing, s.Done = said(t.Repo), said(t.User), said(t.Working), said(t.Reviewing), said(t.Done)
		s.Owner, s.Repo, _ = strings.Cut(s.Path, "/")
		if s.States = slices.Clone(t.States); len(s.States) > 0 {
			// Forge itself brings issues into these.
			s.States = slices.DeleteFunc(append(s.States, s.Working, s.Reviewing), func(name string) bool { return name == "" })
		}
		kind, _ := trackerKindOf(s.Kind)
		secret := func(key, variable string) Secret {
			value := strings.TrimSpace(c.environ[variable])
			if value == "" {
				file, at := c.where("trackers", name)
				col.add(file, at, fmt.Sprintf("trackers.%s takes its %s from %s, which is not set", name, strings.TrimSuffix(key, "_env"), variable), "set "+variable+", or name another variable in "+key)
			}
			return Secret{variable, value}
		}
		s.Token = secret("token_env", cmp.Or(said(t.TokenEnv), kind.token))
		if t.WebhookSecretEnv != nil {
			s.Webhook = secret("webhook_secret_env", *t.WebhookSecretEnv)
		}
		out = append(out, s)
	}
	return out, col.err()
}

// CallsAsConfigured says that runs which people call for on their pull requests may be
// outside of a sandbox.
func (c *Config) CallsAsConfigured() bool { return said(c.File.Host.CallSandbox) == "as_configured" }

// TrackerSandboxes are the trackers without their secrets: which of them may
// have runs outside of a sandbox.
func (c *Config) TrackerSandboxes() []TrackerSettings {
	var out []TrackerSettings
	for _, name := range sortedKeys(c.File.Trackers) {
		out = append(out, TrackerSettings{Name: name, Sandboxed: said(c.File.Trackers[name].Sandbox) != "as_configured"})
	}
	return out
}
