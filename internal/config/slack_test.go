package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// loadUser is Load of a user's own configuration.
func loadUser(t *testing.T, text string, environ ...string) (*Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	write(t, file, text)
	cfg, _, err := Load(Sources{ProjectDir: t.TempDir(), UserFile: file, Environ: environ})
	return cfg, err
}

func TestSlack(t *testing.T) {
	t.Parallel()
	cfg, err := loadUser(t, "")
	must(t, err)
	if _, ok, err := cfg.Slack(); ok || err != nil {
		t.Errorf("without a channel: %v, %v", ok, err)
	}
	text := "[slack]\nchannel = \"C0123\"\nusers = { U01 = \"ann\", W2 = \"bob\" }\nbot_token_env = \"MY_TOKEN\"\n"
	cfg, err = loadUser(t, text, "SLACK_APP_TOKEN=xapp-1", "MY_TOKEN= xoxb-2 ")
	must(t, err)
	set, ok, err := cfg.Slack()
	must(t, err)
	if !ok || set.URL != "https://slack.com/api" || set.Channel != "C0123" || set.Users["U01"] != "ann" || set.Users["W2"] != "bob" ||
		set.AppToken != (Secret{"SLACK_APP_TOKEN", "xapp-1"}) || set.BotToken != (Secret{"MY_TOKEN", "xoxb-2"}) {
		t.Errorf("got %+v", set)
	}
	for environ, want := range map[string]string{
		"SLACK_APP_TOKEN=xapp-1":                        "slack takes its bot_token from SLACK_BOT_TOKEN, which is not set",
		"SLACK_APP_TOKEN=xoxb-1\nSLACK_BOT_TOKEN=xoxb-": "what is in SLACK_APP_TOKEN is no app token",
	} {
		cfg, err := loadUser(t, "[slack]\nchannel = \"C0123\"\n", strings.Split(environ, "\n")...)
		must(t, err)
		if _, _, err := cfg.Slack(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", environ, err, want)
		} else if strings.Contains(err.Error(), "xoxb-1") {
			t.Errorf("the error holds a token: %v", err)
		}
	}
}

// People and channels are named by what nobody can change, and no repository says
// who may answer.
func TestSlackWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[slack]\nchannel = \"#general\"\n":                  "is no id of a channel",
		"[slack]\nusers = { ann = \"ann\" }\n":               "is no id of a Slack user",
		"[slack]\nusers = { \"Ann Smith\" = \"ann\" }\n":     "is no id of a Slack user",
		"[slack]\nusers = { U01 = \" \" }\n":                 "names nobody",
		"[slack]\nbot_token_env = \"PLAIN\"\n":               "does not look like a secret",
		"[slack]\nbot_token = \"xoxb-1\"\n":                  "unknown key bot_token",
		"[slack]\nurl = \"http://slack.example/api\"\n":      "unencrypted",
		"[slack]\nurl = \"https://u:p@slack.example/api\"\n": "user or password",
	} {
		if _, err := loadUser(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, _, err := load(t, "[slack]\nusers = { U666 = \"ann\" }\n"); err == nil || !strings.Contains(err.Error(), "cannot be set by a project") {
		t.Errorf("a project says who may answer: %v", err)
	}
}
