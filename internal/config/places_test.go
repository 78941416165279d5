package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStateDir(t *testing.T) {
	root := filepath.Join(t.TempDir(), "my shop")
	must(t, os.Mkdir(root, 0o755))
	id := ProjectID(root)
	if !strings.HasPrefix(id, "my-shop-") || len(id) != len("my-shop-")+8 {
		t.Errorf("id %q", id)
	}
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(root, link))
	other := filepath.Join(t.TempDir(), "my shop")
	must(t, os.Mkdir(other, 0o755))
	if ProjectID(other) == id {
		t.Error("two checkouts of one name share a state folder")
	}
	for _, tt := range []struct {
		environ []string
		want    string
		err     string
	}{
		{[]string{"FORGE_STATE_DIR=/s/x/", "HOME=/h"}, "/s/x", ""},
		{[]string{"XDG_STATE_HOME=/xdg", "HOME=/h"}, "/xdg/forge/" + id, ""},
		{[]string{"XDG_STATE_HOME=relative", "HOME=/h"}, "/h/.local/state/forge/" + id, ""},
		{[]string{"HOME=/h"}, "/h/.local/state/forge/" + id, ""},
		{nil, "", "HOME: is not set"},
		{[]string{"FORGE_STATE_DIR=here"}, "", `FORGE_STATE_DIR: "here" is not an absolute path`},
		{[]string{"FORGE_STATE_DIR=" + root}, "", "FORGE_STATE_DIR: puts the state folder"},
		{[]string{"FORGE_STATE_DIR=" + root + "/.forge/state"}, "", "FORGE_STATE_DIR: puts the state folder"},
		{[]string{"FORGE_STATE_DIR=" + link + "/new/folder"}, "", "FORGE_STATE_DIR: puts the state folder"},
		{[]string{"FORGE_STATE_DIR=" + root + "-state"}, root + "-state", ""},
		{[]string{"HOME=" + root}, "", "HOME: puts the state folder"},
	} {
		got, err := StateDir(tt.environ, root)
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("%v: got %v, want %s", tt.environ, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%v: got %q %v, want %q", tt.environ, got, err, tt.want)
		}
	}
}

func TestUserFile(t *testing.T) {
	for environ, want := range map[string]string{
		"XDG_CONFIG_HOME=/x HOME=/h": "/x/forge/config.toml", "HOME=/h": "/h/.config/forge/config.toml", "XDG_CONFIG_HOME=rel": "",
	} {
		if got := UserFile(strings.Fields(environ)); got != want {
			t.Errorf("%s: %q, want %q", environ, got, want)
		}
	}
}
