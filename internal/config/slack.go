package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"forge/internal/text"
)

// Slack is [slack], of the user's configuration.
type Slack struct {
	Channel     *string           `toml:"channel" doc:"Id of the channel in which people are asked, such as C0123456789; nothing is posted without one." sample:"\"C0123456789\"" rule:"filled" only:"user"`
	Users       map[string]string `toml:"users" doc:"Who may answer there: Slack's user id, and the name of a user of the factory (forge factory user add), whose roles count. Nobody else's word counts." sample:"{ U0123456789 = \"ann\" }" only:"user"`
	AppTokenEnv *string           `toml:"app_token_env" default:"\"SLACK_APP_TOKEN\"" doc:"Variable with the app-level token (xapp-…), with the scope connections:write." rule:"variable" only:"user"`
	BotTokenEnv *string           `toml:"bot_token_env" default:"\"SLACK_BOT_TOKEN\"" doc:"Variable with the bot's token (xoxb-…)." rule:"variable" only:"user"`
	URL         *string           `toml:"url" default:"\"https://slack.com/api\"" doc:"Address of Slack's Web API, where it is another one." rule:"url" only:"user"`
}

// SlackSettings is [slack], resolved.
type SlackSettings struct {
	URL      string
	Channel  string
	Users    map[string]string // names of users of the factory, by Slack's id
	AppToken Secret
	BotToken Secret
}

// slackID are the words by which Slack knows users and channels: never names,
// which people change as they like.
var slackUser, slackChannel = text.Lazy(`^[UW][A-Z0-9]{1,30}$`), text.Lazy(`^[CG][A-Z0-9]{1,30}$`)

// checkSlack looks at [slack]; only the user's files hold any.
func (c *Config) checkSlack(col *collector) {
	for _, l := range c.layers {
		s := l.said.Slack
		bad := func(key []string, what, fix string) {
			path := append([]string{"slack"}, key...)
			col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix)
		}
		if s.Channel != nil && !slackChannel().MatchString(*s.Channel) {
			bad([]string{"channel"}, "is no id of a channel", "write the id that the channel's details show, such as C0123456789, and not its name")
		}
		for _, id := range sortedKeys(s.Users) {
			if !slackUser().MatchString(id) {
				bad([]string{"users", id}, "is no id of a Slack user", "write the member ID that the user's profile shows, such as U0123456789, and not a name")
			}
			if strings.TrimSpace(s.Users[id]) == "" {
				bad([]string{"users", id}, "names nobody", "name a user of the factory; forge factory user lists them")
			}
		}
		for key, variable := range map[string]*string{"app_token_env": s.AppTokenEnv, "bot_token_env": s.BotTokenEnv} {
			if variable != nil && !SecretName(*variable) {
				bad([]string{key}, fmt.Sprintf("names %s, which does not look like a secret", *variable), "name a variable with TOKEN or SECRET in it: only such are kept out of logs")
			}
		}
		if u, err := url.Parse(said(s.URL)); err == nil && u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
			bad([]string{"url"}, "would send the tokens unencrypted", "write https://")
		}
	}
}

// Slack is what [slack] says, with secrets from the environment; ok is false where
// it names no channel. The error is *Problems: a token is missing.
func (c *Config) Slack() (set SlackSettings, ok bool, err error) {
	f := c.File.Slack
	if f.Channel == nil {
		return set, false, nil
	}
	col := &collector{}
	secret := func(key string, name *string, prefix string) Secret {
		s := Secret{said(name), strings.TrimSpace(c.environ[said(name)])}
		file, at := c.where("slack", "channel")
		switch {
		case s.Value == "":
			col.add(file, at, fmt.Sprintf("slack takes its %s from %s, which is not set", key, s.Name), "set "+s.Name+", or name another variable in "+key+"_env")
		case !strings.HasPrefix(s.Value, prefix):
			// The two are easily put the wrong way round.
			col.add(file, at, fmt.Sprintf("what is in %s is no %s: it does not begin with %s", s.Name, strings.ReplaceAll(key, "_", " "), prefix), "copy it again from the app's settings")
		}
		return s
	}
	set = SlackSettings{URL: strings.TrimRight(cmp.Or(said(f.URL), "https://slack.com/api"), "/"), Channel: *f.Channel, Users: maps.Clone(f.Users)}
	set.AppToken = secret("app_token", f.AppTokenEnv, "xapp-")
	set.BotToken = secret("bot_token", f.BotTokenEnv, "xoxb-")
	return set, true, col.err()
}
