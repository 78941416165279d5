package doctor

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/project"
	"forge/internal/project/projecttest"
	"forge/internal/slack/slacktest"
)

// What asking people in Slack lacks is said with the way out, and no token is.
func TestSlack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		users  string
		tokens []string
		change func(*slacktest.Server)
		bad    int
		says   []string
	}{
		"all there":     {users: `{ U1 = "tester" }`, says: []string{"✓ slack: forge in Test", "✓ slack channel C0FORGE can be read", "✓ slack socket mode"}},
		"no users":      {users: `{}`, bad: 1, says: []string{"✗ nobody may answer in Slack"}},
		"no such user":  {users: `{ U1 = "ann" }`, bad: 1, says: []string{"✗ U1 in Slack is ann, who is no user of the factory", "forge factory user add ann"}},
		"no token":      {users: `{}`, tokens: []string{"SLACK_APP_TOKEN=" + slacktest.AppToken}, bad: 1, says: []string{"SLACK_BOT_TOKEN, which is not set"}},
		"scopes":        {users: `{ U1 = "tester" }`, change: func(s *slacktest.Server) { s.SetScopes("chat:write") }, bad: 2, says: []string{"lacks channels:history", "the bot's token lacks the scope channels:history"}},
		"bad app token": {users: `{ U1 = "tester" }`, tokens: []string{"SLACK_APP_TOKEN=xapp-other", "SLACK_BOT_TOKEN=" + slacktest.BotToken}, bad: 1, says: []string{"✗ the app token in SLACK_APP_TOKEN: slack apps.connections.open: invalid_auth"}},
		"bad bot token": {users: `{ U1 = "tester" }`, tokens: []string{"SLACK_APP_TOKEN=" + slacktest.AppToken, "SLACK_BOT_TOKEN=xoxb-other"}, bad: 1, says: []string{"✗ the bot token in SLACK_BOT_TOKEN: slack auth.test: invalid_auth"}},
		"not invited": {users: `{ U1 = "tester" }`, bad: 1, says: []string{"✗ slack channel C0FORGE: slack conversations.history: not_in_channel", "/invite"}, change: func(s *slacktest.Server) {
			s.Fail(slacktest.Fault{Method: "conversations.history", Times: 1, Error: "not_in_channel"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := slacktest.Start()
			defer s.Close()
			if tt.change != nil {
				tt.change(s)
			}
			env := projecttest.New(t, "", "")
			user := filepath.Join(env.Getenv("HOME"), ".config/forge/config.toml")
			if err := os.WriteFile(user, fmt.Appendf(nil, "[slack]\nurl = %q\nchannel = %q\nusers = %s\n", s.URL, slacktest.Channel, tt.users), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.tokens == nil {
				tt.tokens = []string{"SLACK_APP_TOKEN=" + slacktest.AppToken, "SLACK_BOT_TOKEN=" + slacktest.BotToken}
			}
			env.Environ = append(env.Environ, tt.tokens...)
			p, err := project.Open(t.Context(), env)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var out bytes.Buffer
			d := Doctor{Env: env, Out: &out}
			d.slack(t.Context(), p)
			if d.Bad != tt.bad {
				t.Errorf("%d problems, want %d:\n%s", d.Bad, tt.bad, &out)
			}
			for _, part := range tt.says {
				if !strings.Contains(out.String(), part) {
					t.Errorf("it does not say %q:\n%s", part, &out)
				}
			}
			if strings.Contains(out.String(), "xoxb-") || strings.Contains(out.String(), "xapp-") {
				t.Errorf("it says a token:\n%s", &out)
			}
		})
	}
}
