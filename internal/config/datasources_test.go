package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// both loads a project's file beside a user's.
func both(t *testing.T, files map[string]string, user string) (*Config, string, error) {
	t.Helper()
	dir, home := project(t, files), t.TempDir()
	write(t, filepath.Join(home, "config.toml"), strings.ReplaceAll(user, "HOME", home))
	cfg, _, err := Load(Sources{ProjectDir: dir, UserFile: filepath.Join(home, "config.toml"), Environ: []string{"HOME=" + home}})
	return cfg, home, err
}

func lines(t *testing.T, err error) string {
	t.Helper()
	var all *Problems
	if !errors.As(err, &all) {
		t.Fatalf("not problems: %v", err)
	}
	var b strings.Builder
	for _, p := range all.List {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}

const magicHead = "SQLite format 3\x00and more"

func TestSources(t *testing.T) {
	cfg, home, err := both(t, map[string]string{
		ProjectFile: "[datasources.book]\nkind = \"folder\"\npath = \"docs\"\nabout = \"The handbook.\"\n" +
			"[datasources.tickets]\nkind = \"command\"\ncommand = [\"./tickets\", \"--open\"]\n[datasources.api]\nkind = \"http\"\nurl = \"https://example.invalid/x?page=1\"\n",
		"docs/a.md": "a",
	}, "[datasources.db]\nkind = \"sqlite\"\npath = \"~/x.db\"\n")
	must(t, err)
	write(t, filepath.Join(home, "x.db"), magicHead)
	got, err := cfg.Sources([]string{"db", "book", "db", "api", "tickets"})
	must(t, err)
	if len(got) != 4 || got[0].Path != resolved(filepath.Join(home, "x.db")) || got[1].Path != resolved(filepath.Join(cfg.Root, "docs")) ||
		got[1].About != "The handbook." || got[2].URL != "https://example.invalid/x?page=1" || strings.Join(got[3].Command, " ") != "./tickets --open" {
		t.Errorf("%+v", got)
	}
}

func TestBadDataSources(t *testing.T) {
	_, _, err := both(t, map[string]string{ProjectFile: `[datasources.a]
path = "docs"
[datasources.b]
kind = "folder"
[datasources.c]
kind = "folder"
path = "docs"
url = "https://example.invalid/"
[datasources.d]
kind = "database"
[datasources.e]
kind = "sqlite"
path = "/etc/x.db"
[datasources.f]
kind = "folder"
path = "~/notes"
[datasources.g]
kind = "folder"
path = "../outside"
[datasources.h]
kind = "command"
command = ["./x", "--api-token=abc"]
[datasources.i]
kind = "command"
command = ["./x", "--password", "abc"]
[datasources.j]
kind = "http"
url = "https://example.invalid/?api_key=abc"
[datasources.k]
kind = "http"
url = "https://me:pw@example.invalid/"
[datasources."Not A Name"]
kind = "http"
[datasources.m]
kind = "command"
command = []
[datasources.n]
kind = "http"
url = "x"
pathh = "y"
`}, "[datasources.u]\nkind = \"folder\"\npath = \"notes\"\n")
	got := lines(t, err)
	for _, want := range []string{
		":1: datasources.a has no kind", ":3: datasources.b is of kind folder and has no path", ":8: datasources.c.url does not go with kind folder",
		":10: datasources.d.kind is \"database\"", ":13: datasources.e.path leads out of the checkout", ":16: datasources.f.path leads out",
		":19: datasources.g.path leads out", ":22: datasources.h.command holds a value for api-token", ":25: datasources.i.command holds a value for password",
		":28: datasources.j.url holds a value for api_key", ":31: datasources.k.url holds a user or password", ":32: datasources.\"Not A Name\" is no name",
		":36: datasources.m.command is an empty list", ":39: datasources.n.url is \"x\", not an address", ":40: unknown key pathh in [datasources.n] (did you mean \"path\"?)",
		"config.toml:3: datasources.u.path is not an absolute path",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "abc") || strings.Contains(got, "pw@") {
		t.Errorf("a secret is repeated:\n%s", got)
	}
}

func TestSourcesLookAtWhatIsThere(t *testing.T) {
	cfg, home, err := both(t, map[string]string{
		ProjectFile: "[datasources.gone]\nkind = \"folder\"\npath = \"none\"\n[datasources.file]\nkind = \"folder\"\npath = \"text\"\n[datasources.text]\nkind = \"sqlite\"\npath = \"text\"\n" +
			"[datasources.out]\nkind = \"folder\"\npath = \"link\"\n[datasources.git]\nkind = \"folder\"\npath = \".git/x\"\n[datasources.top]\nkind = \"folder\"\npath = \".\"\n",
		"text": "SQLite format 3, almost", ".git/x/y": "z",
	}, "")
	must(t, err)
	must(t, os.Symlink(home, filepath.Join(cfg.Root, "link")))
	_, err = cfg.Sources([]string{"gone", "file", "text", "out", "git", "top", "fiel"})
	got := lines(t, err)
	for _, want := range []string{
		".forge/forge.toml:3: datasources.gone.path: none cannot be read: no such file", ":6: datasources.file.path: text is not a folder",
		":9: datasources.text.path: text is not an SQLite database", ":12: datasources.out.path: link is a link that leads out of the checkout",
		":15: datasources.git.path: .git/x holds the repository's own .git", ":18: datasources.top.path: . holds the repository's own .git",
		`there is no data source "fiel" (did you mean "file"?)`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("nothing says %q in\n%s", want, got)
		}
	}
}
