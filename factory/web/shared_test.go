package web

import (
	"strings"
	"testing"
	"time"

	"forge/internal/atomicfile"
)

// A session that began at one server is one at another that shares its files, with
// the same word in its forms, and ends at both; a link is good where it was made.
func TestServersShareSessions(t *testing.T) {
	files := atomicfile.Folder{Dir: t.TempDir(), Lock: "lock"}
	open := func() *Keys {
		k, err := OpenSharedKeys(t.TempDir(), time.Now, files)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	one, two := open(), open()
	link := one.Link()
	if _, ok, err := two.redeem(link); ok || err != nil {
		t.Errorf("the link of another machine: %v, %v", ok, err)
	}
	cookie, ok, err := one.redeem(link)
	if err != nil || !ok {
		t.Fatalf("its own link: %v, %v", ok, err)
	}
	who, ok, err := two.bySession(cookie)
	if err != nil || !ok || who.Role("p") != RoleAdmin {
		t.Fatalf("the session at the other server: %+v, %v, %v", who, ok, err)
	}
	a, b := (&Server{Config: Config{Keys: one}}).token(who), (&Server{Config: Config{Keys: two}}).token(who)
	if a == "" || a != b {
		t.Errorf("its forms say %q at one server and %q at the other", a, b)
	}
	if data, _, err := files.Read(keyFile); err != nil || strings.TrimSpace(string(data)) == "" {
		t.Errorf("the key of forms: %q, %v", data, err)
	} else if own, _, _ := (atomicfile.Folder{Dir: one.dir}).Read(keyFile); string(own) == string(data) {
		t.Error("who reads the shared files can make links")
	}
	if err := one.signOut(who); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := two.bySession(cookie); ok || err != nil {
		t.Errorf("signed out at one server, the other says %v, %v", ok, err)
	}
}
