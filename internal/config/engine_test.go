package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An address with somebody's password or token in it would stand in logs; the user of
// an address by ssh is none, and a folder or a remote's name may have any letters.
func TestObjectsHoldNoSecret(t *testing.T) {
	for address, want := range map[string]bool{
		"origin": false, "/srv/git/team.git": false, "/srv/a@b/x.git": false, "file:///srv/a@b/x.git": false, "https://host/x@y.git": false,
		"git@host:team/x.git": false, "ssh://git@host/x.git": false, "ssh://git:secret@host/x.git": true,
		"https://token@host/x.git": true, "https://user:secret@host/x.git": true,
	} {
		if got := HoldsSecret(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
		home := t.TempDir()
		user := filepath.Join(home, "config.toml")
		if err := os.WriteFile(user, []byte("[engine]\nobjects = \""+address+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := Load(Sources{ProjectDir: home, UserFile: user, Environ: []string{"HOME=" + home}})
		if refused := err != nil && strings.Contains(err.Error(), "engine.objects holds a user or a password") && !strings.Contains(err.Error(), "secret"); refused != want {
			t.Errorf("%s is taken: %v", address, err)
		}
		if err != nil {
			continue
		}
		if set, err := c.Engine(); err != nil || set.Objects != address || set.TakeoverSecs != 120 {
			t.Errorf("%s is read as %+v, %v", address, set, err)
		}
	}
}
