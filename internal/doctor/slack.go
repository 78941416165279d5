package doctor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"forge/internal/project"
	"forge/internal/server"
	"forge/internal/slack"
)

// slack looks at what asking people in Slack needs, where a channel is named.
func (d *Doctor) slack(ctx context.Context, p *project.Checkout) {
	set, ok, err := p.Config.Slack()
	if err != nil {
		d.failed("slack", err)
		return
	}
	if !ok {
		return
	}
	c := slack.NewClient(set.URL, set.AppToken.Value, set.BotToken.Value)
	who, err := c.Account(ctx)
	if err != nil {
		d.poor("install the app in the workspace again and copy its bot token", "the bot token in %s: %v", set.BotToken.Name, err)
		return
	}
	if missing := who.MissingScopes(); len(missing) > 0 {
		d.poor("add them under OAuth & Permissions, and install the app again", "the bot token in %s lacks %s", set.BotToken.Name, strings.Join(missing, ", "))
	} else {
		d.good("slack: %s in %s", who.User, who.Team)
	}
	if err := c.CheckChannel(ctx, set.Channel); err != nil {
		d.poor(channelFix(err), "slack channel %s: %v", set.Channel, err)
	} else {
		d.good("slack channel %s can be read", set.Channel)
	}
	if err := c.CheckSocket(ctx); err != nil {
		d.poor("make an app-level token with the scope connections:write, and switch Socket Mode on", "the app token in %s: %v", set.AppToken.Name, err)
	} else {
		d.good("slack socket mode")
	}
	d.slackUsers(set.Users)
}

// channelFix is the way out where a channel cannot be read.
func channelFix(err error) string {
	var t *slack.Trouble
	if errors.As(err, &t) && (t.Code == "not_in_channel" || t.Code == "channel_not_found") {
		return "invite the app into the channel: /invite @NAME; and write the channel's id, not its name"
	}
	return ""
}

// slackUsers looks whether those who may answer in Slack are users of the factory.
func (d *Doctor) slackUsers(users map[string]string) {
	if len(users) == 0 {
		d.poor("name them by slack.users", "nobody may answer in Slack")
		return
	}
	keys, err := server.Keys(d.Env)
	if err != nil {
		d.failed("slack", err)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(users)) {
		if _, known, err := keys.Person(users[id]); err != nil {
			d.failed("slack", err)
		} else if !known {
			d.poor("forge factory user add "+users[id]+" --role reviewer", "%s in Slack is %s, who is no user of the factory", id, users[id])
		}
	}
}
