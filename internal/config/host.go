package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
)

// Host is [host].
type Host struct {
	Kind             *string `toml:"kind" default:"\"local\"" doc:"gitea, github, gitlab, or local: without a host, phases that wait are answered at the terminal and in the browser." rule:"local|gitea|github|gitlab"`
	URL              *string `toml:"url" doc:"Address of the host, without a user or password in it; of GitHub and GitLab only where it is your own." sample:"\"https://git.example.com\"" rule:"url"`
	Repo             *string `toml:"repo" doc:"The repository on the host; on GitLab with all of its groups." sample:"\"owner/name\"" rule:"ownerrepo"`
	TokenEnv         *string `toml:"token_env" doc:"Name of the variable that holds the token; such as GITEA_TOKEN, by the kind, when not set." sample:"\"GITEA_TOKEN\"" rule:"variable"`
	MergerTokenEnv   *string `toml:"merger_token_env" doc:"Variable with the token of the account that merges and deletes branches, when it is another." sample:"\"GITEA_MERGE_TOKEN\"" rule:"variable"`
	ReviewerTokenEnv *string `toml:"reviewer_token_env" doc:"Variable with the token of an account that posts what Forge's reviewers found; it never approves." sample:"\"GITEA_REVIEW_TOKEN\"" rule:"variable"`
	Always           *bool   `toml:"always" default:"false" doc:"Open a pull request for phases too that nobody has to look at; it is merged at once."`
	CIFixes          *int    `toml:"ci_fixes" default:"2" doc:"How often the agent is told to mend what checks of the host found in one pull request; 0 leaves that to people." rule:"min=0 max=100"`
	Call             *string `toml:"call" default:"\"forge\"" doc:"Name by which people who may write call Forge in comments on pull requests, as /name or @name; empty: it hears nobody."`
	CallSandbox      *string `toml:"call_sandbox" doc:"required: runs that people call for on their own pull requests refuse to begin without a sandbox, whatever [sandbox] says; as_configured: as every run; required when not set." sample:"\"required\"" rule:"required|as_configured" only:"tighten"`
	PollSecs         *int    `toml:"poll_secs" default:"30" doc:"How often the host is asked for news, in seconds." rule:"min=1 max=86400"`
	WebhookURL       *string `toml:"webhook_url" doc:"Address under which the host reaches this Forge; news then come at once." sample:"\"https://forge.example.com/hooks\"" rule:"url"`
	WebhookSecretEnv *string `toml:"webhook_secret_env" default:"\"WEBHOOK_SECRET\"" doc:"Variable with the secret that webhooks are signed with." rule:"variable"`
}

var ownerRepo = text.Lazy(`^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$`)

const (
	githubURL = "https://api.github.com"
	gitlabURL = "https://gitlab.com"
)

// CodeHost is [host], resolved.
type CodeHost struct {
	Kind          string // local, gitea, github, gitlab
	Named         bool   // somebody wrote which
	URL           string // "" = local
	Owner, Repo   string // Repo with slashes is in groups of the group Owner
	Token         Secret
	MergerToken   Secret // Name "" = the same as Token
	ReviewerToken Secret // Name "" = none
	Always        bool
	CIFixes       int
	Call          string // "" = no calls are heard
	Poll          time.Duration
	WebhookURL    string // "" = none
	WebhookSecret Secret
}

// PullTarget is the branch that pull requests with the results of issues are
// for; "" = nobody said so, and it is the host's default branch.
func (c *Config) PullTarget() string {
	if c.issueTarget {
		return said(c.File.Factory.Target)
	}
	for _, l := range c.layers {
		if l.kind != layerDefaults && l.said.Factory.Target != nil {
			return said(c.File.Factory.Target)
		}
	}
	return ""
}

// Secret is a variable and what is in it.
type Secret struct {
	Name  string
	Value string // "" where the variable is not set
}

// hostSecrets are the variables whose values go to the host, and their keys.
func (c *Config) hostSecrets() [][2]string {
	h := c.File.Host
	out := [][2]string{{"token_env", cmp.Or(said(h.TokenEnv), map[string]string{"gitea": "GITEA_TOKEN", "github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}[said(h.Kind)])}}
	for _, kv := range [][2]string{{"merger_token_env", said(h.MergerTokenEnv)}, {"reviewer_token_env", said(h.ReviewerTokenEnv)}} {
		if kv[1] != "" {
			out = append(out, kv)
		}
	}
	if said(h.WebhookURL) == "" {
		return out
	}
	// The webhook's secret is told to the host when the webhook is made.
	return append(out, [2]string{"webhook_secret_env", said(h.WebhookSecretEnv)})
}

func (c *Config) hostURL() string {
	own := map[string]string{"github": githubURL, "gitlab": gitlabURL}
	return cmp.Or(said(c.File.Host.URL), own[said(c.File.Host.Kind)])
}

// CodeHost is what [host] names, with tokens from the environment. The error is
// *Problems: something is missing, or a token would go where neither the user
// nor its vendor wants it.
func (c *Config) CodeHost() (CodeHost, error) {
	f := c.File.Host
	out := CodeHost{Kind: cmp.Or(said(f.Kind), "local"), Always: said(f.Always), CIFixes: said(f.CIFixes), Call: strings.TrimLeft(strings.TrimSpace(said(f.Call)), "@/"), Poll: time.Duration(said(f.PollSecs)) * time.Second}
	out.Named = slices.ContainsFunc(c.layers, func(l *layer) bool { return l.kind != layerDefaults && l.said.Host.Kind != nil })
	if out.Kind == "local" {
		return out, nil
	}
	col := &collector{}
	missing := func(key, fix string) {
		file, at := c.where("host", "kind")
		col.add(file, at, fmt.Sprintf("host.kind is %s, and host.%s is not set", out.Kind, key), fix)
	}
	out.URL = strings.TrimRight(c.hostURL(), "/")
	if out.URL == "" {
		missing("url", `write such as url = "https://git.example.com"`)
	}
	if said(f.Repo) == "" {
		missing("repo", `write repo = "owner/name"`)
	} else if out.Kind != "gitlab" && !ownerRepo().MatchString(said(f.Repo)) {
		file, at := c.where("host", "repo")
		col.add(file, at, fmt.Sprintf("host.repo is %q, not a repository of %s", text.Clip(said(f.Repo), 60), out.Kind), "write owner/name")
	}
	for _, l := range c.layers {
		if l.kind == layerProject {
			c.checkHostTrust(col, l)
		}
	}
	if err := col.err(); err != nil {
		return CodeHost{}, err
	}
	out.Owner, out.Repo, _ = strings.Cut(said(f.Repo), "/")
	out.WebhookSecret = Secret{said(f.WebhookSecretEnv), strings.TrimSpace(c.environ[said(f.WebhookSecretEnv)])}
	for _, kv := range c.hostSecrets() {
		s := Secret{kv[1], strings.TrimSpace(c.environ[kv[1]])}
		switch kv[0] {
		case "token_env":
			out.Token = s
		case "merger_token_env":
			out.MergerToken = s
		case "reviewer_token_env":
			out.ReviewerToken = s
		}
	}
	out.WebhookURL = said(f.WebhookURL)
	return out, nil
}

// checkHost looks at the words of [host] file by file.
func (c *Config) checkHost(col *collector) {
	for _, l := range c.layers {
		names := map[string]string{}
		for _, kv := range [][2]string{{"token_env", said(l.said.Host.TokenEnv)}, {"merger_token_env", said(l.said.Host.MergerTokenEnv)},
			{"reviewer_token_env", said(l.said.Host.ReviewerTokenEnv)}, {"webhook_secret_env", said(l.said.Host.WebhookSecretEnv)}} {
			if l.kind == layerDefaults || kv[1] == "" {
				continue
			}
			if !SecretName(kv[1]) {
				col.add(l.file, l.index.find([]string{"host", kv[0]}), fmt.Sprintf("host.%s names %s, which does not look like a secret", kv[0], kv[1]),
					"name a variable with TOKEN or SECRET in it: only such are kept out of logs")
			}
			if other := names[kv[1]]; other == "token_env" && kv[0] == "reviewer_token_env" {
				col.add(l.file, l.index.find([]string{"host", kv[0]}), "host.reviewer_token_env is the same variable as host.token_env", "remove it, or name another account's")
			}
			names[kv[1]] = kv[0]
		}
	}
}

// checkHostTrust finds tokens that a project's file would send to a host that
// is neither theirs nor the user's.
func (c *Config) checkHostTrust(col *collector, l *layer) {
	mine := l.said.Host
	if said(c.File.Host.Kind) == "" || said(c.File.Host.Kind) == "local" || mine == (Host{}) {
		return
	}
	address := c.hostURL()
	for _, kv := range c.hostSecrets() {
		// The file decides where this one goes when it says the host or the
		// secret.
		named := map[string]*string{"token_env": mine.TokenEnv, "merger_token_env": mine.MergerTokenEnv, "reviewer_token_env": mine.ReviewerTokenEnv, "webhook_secret_env": mine.WebhookSecretEnv}[kv[0]]
		if named == nil && mine.URL == nil && mine.Kind == nil {
			continue
		}
		host := c.foreignHost(address, vendorHosts(kv[1]))
		if host == "" || c.userNamesHost(address) {
			continue
		}
		key := []string{"host", kv[0]}
		switch {
		case named != nil:
		case mine.URL != nil:
			key[1] = "url"
		default:
			key[1] = "kind"
		}
		col.add(l.file, l.index.find(key), fmt.Sprintf("host sends %s to %s", kv[1], host), hostFix(host))
	}
}

// userNamesHost says that somebody other than the project named the code host.
func (c *Config) userNamesHost(address string) bool {
	at, err := url.Parse(address)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(c.layers, func(l *layer) bool {
		u, err := url.Parse(said(l.said.Host.URL))
		return l.kind != layerProject && err == nil && u.Host != "" && u.Scheme == at.Scheme && strings.EqualFold(u.Host, at.Host)
	})
}
