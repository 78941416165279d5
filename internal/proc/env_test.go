package proc

import (
	"slices"
	"testing"
)

func TestBaseEnv(t *testing.T) {
	t.Parallel()
	got := BaseEnv([]string{
		"PATH=/a", "HOME=/h", "LC_ALL=C", "LC_X_TOKEN=no", "ANTHROPIC_API_KEY=no", "GITHUB_TOKEN=asked-for",
		"LD_PRELOAD=/evil.so", "FORGE_LEASE=x", "https_proxy=http://user:pass@proxy:1", "EXTRA=1", "EXTRA2=no",
		"PATH=/b", "broken", "=odd", "TZ=", "NODE_EXTRA_CA_CERTS=/ca", "path=/no",
	}, []string{"EXTRA", "GITHUB_TOKEN", "NOT_SET", "broken"})
	want := []string{
		"PATH=/b", "HOME=/h", "LC_ALL=C", "GITHUB_TOKEN=asked-for",
		"https_proxy=http://user:pass@proxy:1", "EXTRA=1", "TZ=", "NODE_EXTRA_CA_CERTS=/ca",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestNothingOnTheListIsSecret(t *testing.T) {
	t.Parallel()
	for _, name := range passed {
		if SecretName(name) {
			t.Errorf("%s would never pass", name)
		}
	}
}

func TestSecretName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "github_token": true, "MySecretThing": true, "DB_PASSWORD": true, "DB_PASSWD": true,
		"AWS_CREDENTIALS": true, "MONKEY": true, "PASSAGE": false, "PATH": false, "": false, "CRED": false,
	} {
		if got := SecretName(name); got != want {
			t.Errorf("SecretName(%q) = %t", name, got)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode  string
		hosts bool
		have  Capabilities
		want  Level
		ok    bool
	}{
		{"auto", false, Capabilities{Bubblewrap: true, Landlock: true}, LevelBubblewrap, true},
		{"auto", false, Capabilities{Landlock: true}, LevelLandlock, true},
		{"auto", false, Capabilities{}, LevelNone, true},
		{"required", false, Capabilities{Bubblewrap: true}, LevelBubblewrap, true},
		{"required", false, Capabilities{Landlock: true}, LevelLandlock, true},
		{"required", false, Capabilities{Why: "no kernel"}, "", false},
		{"off", false, Capabilities{Bubblewrap: true, Landlock: true}, LevelNone, true},
		{"", false, Capabilities{Bubblewrap: true}, "", false},
		{"on", false, Capabilities{Bubblewrap: true}, "", false},
		{"auto", true, Capabilities{Bubblewrap: true, Landlock: true}, LevelBubblewrap, true},
		{"required", true, Capabilities{Bubblewrap: true}, LevelBubblewrap, true},
		{"auto", true, Capabilities{Landlock: true}, "", false},
		{"auto", true, Capabilities{}, "", false},
		{"required", true, Capabilities{Landlock: true}, "", false},
		{"off", true, Capabilities{Bubblewrap: true}, "", false},
		{"on", true, Capabilities{Bubblewrap: true}, "", false},
	} {
		got, err := Choose(c.mode, c.hosts, c.have)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("Choose(%q, %t, %+v) = %q, %v", c.mode, c.hosts, c.have, got, err)
		}
	}
}
