package server

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	charm "charm.land/log/v2"

	pages "forge/factory/web"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/token"
)

// Users and tokens of this machine go to the database that the user names, once;
// servers of other machines know them from then on, and what one changes holds at
// the others at once. What another machine has in files is not mixed in, and said.
func TestSharedUsers(t *testing.T) {
	t.Parallel()
	database := t.TempDir()
	var log bytes.Buffer
	machine := func(state string, shared bool) project.Env {
		home := t.TempDir()
		text := ""
		if shared {
			text = "[store]\nurl_env = \"TEAM_DB\"\n"
		}
		path := filepath.Join(home, ".config", "forge", "config.toml")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return project.Env{
			Log: charm.New(&log), Now: time.Now, Dir: home,
			Environ: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "FORGE_STATE_DIR=" + state, "TEAM_DB=somewhere", "USER=tester"},
			Stores: func(ctx context.Context, variable, url string, _ func(string)) (*journal.Store, error) {
				if variable != "TEAM_DB" || url != "somewhere" {
					t.Errorf("opens %s, %s", variable, url)
				}
				s, err := journal.Open(ctx, database)
				if err == nil {
					t.Cleanup(func() { _ = s.Close() })
				}
				return s, err
			},
		}
	}
	keysOf := func(env project.Env) *pages.Keys {
		t.Helper()
		keys, err := Keys(env)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	names := func(keys *pages.Keys) string {
		t.Helper()
		users, err := keys.Users()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, u := range users {
			all = append(all, u.Name)
		}
		return strings.Join(all, " ")
	}

	first, second := t.TempDir(), t.TempDir()
	if _, err := keysOf(machine(first, false)).PutUser("anna", pages.RoleAdmin, pages.AnyProject); err != nil {
		t.Fatal(err)
	}
	tokens, err := Tokens(machine(first, false))
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := tokens.New(token.Grant{Name: "bot", Project: "/p", Tier: token.Read}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keysOf(machine(second, false)).PutUser("bert", pages.RoleAdmin, pages.AnyProject); err != nil {
		t.Fatal(err)
	}

	one, two := keysOf(machine(first, true)), keysOf(machine(second, true))
	if names(one) != "anna" || names(two) != "anna" {
		t.Errorf("one machine has %q, the other %q; want anna", names(one), names(two))
	}
	if !strings.Contains(log.String(), "does not count") {
		t.Errorf("that bert does not count is not said:\n%s", &log)
	}
	there, err := Tokens(machine(second, true))
	if err != nil {
		t.Fatal(err)
	}
	if g, ok, err := there.Of(made); err != nil || !ok || g.Name != "bot" {
		t.Errorf("the token at another machine: %+v, %v, %v", g, ok, err)
	}
	if _, err := two.PutUser("cara", pages.RoleViewer, "demo"); err != nil {
		t.Fatal(err)
	}
	if err := one.RemoveUser("anna", pages.AnyProject); err != nil {
		t.Fatal(err)
	}
	if names(one) != "cara" || names(two) != "cara" {
		t.Errorf("one machine has %q, the other %q; want cara", names(one), names(two))
	}
	// A new start takes nothing over again.
	if again := keysOf(machine(first, true)); names(again) != "cara" {
		t.Errorf("after a new start: %q", names(again))
	}
	if _, err := os.Stat(filepath.Join(first, "users.json")); !os.IsNotExist(err) {
		t.Errorf("the file that was taken over: %v", err)
	}
	// A program that has no databases says so, and lets nobody in by old files.
	env := machine(first, true)
	env.Stores = nil
	if _, err := Keys(env); err == nil || !strings.Contains(err.Error(), "needs the program forge-temporal") {
		t.Errorf("without the program: %v", err)
	}
}
