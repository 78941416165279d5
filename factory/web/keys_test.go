package web

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func openKeys(t *testing.T, dir string, now func() time.Time) *Keys {
	t.Helper()
	k, err := OpenKeys(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A link is good once, whichever of two servers is asked, and also after a new
// start; and not for longer than ten minutes.
func TestALinkIsGoodOnce(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	dir := t.TempDir()
	one, two := openKeys(t, dir, clock), openKeys(t, dir, clock)
	link := one.Link()
	cookie, ok, err := two.redeem(link)
	if err != nil || !ok {
		t.Fatalf("another process's link: %v, %v", ok, err)
	}
	for name, k := range map[string]*Keys{"the same": two, "the other": one, "a new one": openKeys(t, dir, clock)} {
		if _, ok, err := k.redeem(link); ok || err != nil {
			t.Errorf("a second time at %s server: %v, %v", name, ok, err)
		}
	}
	if p, ok, err := openKeys(t, dir, clock).bySession(cookie); !ok || err != nil || p.Role("anything") != RoleAdmin {
		t.Errorf("the session after a new start: %+v, %v, %v", p, ok, err)
	}
	late := one.Link()
	now = now.Add(linkLife)
	if _, ok, _ := one.redeem(late); ok {
		t.Error("a link of ten minutes ago is good")
	}
	now = now.Add(sessionLife + time.Hour)
	if _, ok, _ := openKeys(t, dir, clock).bySession(cookie); ok {
		t.Error("a session that nobody used is good for ever")
	}
}

// What others could have read or written proves nothing.
func TestFilesOfOthers(t *testing.T) {
	for _, name := range []string{keyFile, usersFile, sessionsFile} {
		dir := t.TempDir()
		k := openKeys(t, dir, time.Now)
		if _, err := k.PutUser("anna", RoleViewer, AnyProject); err != nil {
			t.Fatal(err)
		}
		if _, _, err := k.redeem(k.Link()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", name, info.Mode(), err)
		}
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKeys(dir, time.Now); err == nil || !strings.Contains(err.Error(), "can be used by others") {
			t.Errorf("%s that others can read: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/etc/hostname", path); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenKeys(dir, time.Now); err == nil {
			t.Errorf("%s may be a link", name)
		}
	}
}

func TestNoSecretIsStored(t *testing.T) {
	dir := t.TempDir()
	k := openKeys(t, dir, time.Now)
	token, err := k.PutUser("anna", RoleViewer, "shop")
	if err != nil {
		t.Fatal(err)
	}
	cookie, ok, err := k.signIn(token)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), token) || strings.Contains(string(data), cookie) {
			t.Errorf("%s holds a secret", e.Name())
		}
	}
}

func TestUsers(t *testing.T) {
	k := openKeys(t, t.TempDir(), time.Now)
	first, err := k.PutUser("anna", RoleOperator, "shop")
	if err != nil || first == "" {
		t.Fatal(first, err)
	}
	if again, err := k.PutUser("anna", RoleViewer, AnyProject); err != nil || again != "" {
		t.Fatalf("a second role gives token %q, %v", again, err)
	}
	u, ok, err := k.byToken(first)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	p := u.person()
	for project, want := range map[string]Role{"shop": RoleOperator, "other": RoleViewer, "": RoleOperator} {
		if got := p.Role(project); got != want {
			t.Errorf("role in %q: %s, want %s", project, got, want)
		}
	}
	if err := k.RemoveUser("anna", "other"); err == nil {
		t.Error("a role that is none is taken away")
	}
	if err := k.RemoveUser("anna", AnyProject); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := k.byToken(first); ok {
		t.Error("who is gone has a token")
	}
	for _, err := range []error{k.RemoveUser("anna", AnyProject), func() error { _, err := k.NewToken("anna"); return err }()} {
		if !errors.Is(err, ErrNoUser) {
			t.Errorf("of nobody: %v", err)
		}
	}
	for _, name := range []string{"", " x", "a\nb", "<b>", strings.Repeat("x", 61)} {
		if _, err := k.PutUser(name, RoleViewer, "shop"); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	// An unknown word in the file is no role.
	if got := (User{Name: "x", Roles: map[string]string{"shop": "king"}}).person(); got.May("shop", RoleViewer) {
		t.Errorf("a king may: %+v", got)
	}
}

func TestGateRoles(t *testing.T) {
	for role, want := range map[Role]string{RoleNone: "nobody", RoleViewer: "nobody", RoleReviewer: "reviewer", RoleOperator: "owner", RoleAdmin: "owner", Role(9): "owner"} {
		if got := role.Gate(); got != want && role != Role(9) {
			t.Errorf("%s answers as %s, want %s", role, got, want)
		}
	}
	if (Person{Name: "x"}).May("p", RoleNone) || (Person{}).May("p", RoleViewer) || PersonOf(t.Context()).May("p", RoleViewer) {
		t.Error("nobody may")
	}
}
