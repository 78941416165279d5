package config

import (
	"os"
	"path/filepath"
	"testing"
)

// Where the journal is can be read from files that are otherwise in disorder,
// and the project's counts more than the user's.
func TestFindBeyond(t *testing.T) {
	for _, c := range []struct {
		name, user, project string
		want                Beyond
	}{
		{"nothing", "", "", Beyond{}},
		{"other settings", "[cost]\nrun_usd = 1\n", "[engine]\nkind = \"embedded\"\n", Beyond{}},
		{"the user's", "[store]\nurl_env = \"MINE\"\n", "[verify]\ncommands = []\n", Beyond{Key: "store.url_env", StoreURL: "MINE"}},
		{"the project's", "[store]\nurl_env = \"MINE\"\n", "[store]\nurl_env = \"OURS\"\n", Beyond{Key: "store.url_env", StoreURL: "OURS"}},
		{"an engine", "", "[engine]\nkind = \"temporal\"\n", Beyond{Key: "engine.kind"}},
		{"both", "", "[engine]\nkind = \"temporal\"\n[store]\nurl_env = \"OURS\"\n", Beyond{Key: "store.url_env", StoreURL: "OURS"}},
		{"wrong kinds elsewhere", "", "[store]\nurl_env = \"OURS\"\n[cost]\nrun_usd = \"much\"\nnonsense = 1\n", Beyond{Key: "store.url_env", StoreURL: "OURS"}},
		{"an address", "", "[store]\nurl_env = \"postgres://u:p@h/d\"\n", Beyond{Key: "store.url_env", StoreURL: "postgres://u:p@h/d", Wrong: true}},
		{"of another kind", "", "[store]\nurl_env = 7\n", Beyond{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for path, text := range map[string]string{"config/forge/config.toml": c.user, "project/" + ProjectFile: c.project} {
				path = filepath.Join(dir, filepath.FromSlash(path))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := FindBeyond([]string{"XDG_CONFIG_HOME=" + filepath.Join(dir, "config")}, filepath.Join(dir, "project")); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
