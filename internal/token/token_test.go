package token

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func storeAt(t *testing.T, now *time.Time) Store {
	t.Helper()
	return Store{Dir: filepath.Join(t.TempDir(), "server"), Now: func() time.Time { return *now }}
}

func reader() Grant { return Grant{Name: "editor", By: "olga", Project: "/p", Tier: Read} }

func TestATokenIsKnownUntilItExpires(t *testing.T) {
	t.Parallel()
	now := noon
	s := storeAt(t, &now)
	token, made, err := s.New(reader(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if g, ok, err := s.Of(token); err != nil || !ok || g != made || g.Expires != noon.Add(time.Hour) {
		t.Errorf("the token grants %+v, %t, %v", g, ok, err)
	}
	for _, other := range []string{"", Prefix, token[:len(token)-1], token + "x", "forge_abc"} {
		if _, ok, err := s.Of(other); ok || err != nil {
			t.Errorf("%q lets in (%v)", other, err)
		}
	}
	now = noon.Add(time.Hour)
	if _, ok, err := s.Of(token); ok || err != nil {
		t.Errorf("the token lives on after its hour (%v)", err)
	}
	if list, err := s.List(); len(list) != 0 || err != nil {
		t.Errorf("expired tokens are listed: %v, %v", list, err)
	}
}

func TestARevokedTokenEndsAtOnce(t *testing.T) {
	t.Parallel()
	now := noon
	s := storeAt(t, &now)
	token, made, err := s.New(reader(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(made.ID); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := s.Of(token); ok {
		t.Error("the token lives on")
	}
	if err := s.Revoke(made.ID); !errors.Is(err, ErrNone) {
		t.Errorf("revoked twice: %v", err)
	}
}

// The file holds no token, and nobody but its owner reads it.
func TestTokensAreKeptAsHashesInAPrivateFile(t *testing.T) {
	t.Parallel()
	now := noon
	s := storeAt(t, &now)
	token, _, err := s.New(reader(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir, storeFile)
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), token) || strings.Contains(string(data), strings.TrimPrefix(token, Prefix)) {
		t.Errorf("the file holds the token, or is not there: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Of(token); ok || err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others read is believed: %t, %v", ok, err)
	}
}

func TestWhatNoTokenIsMadeFor(t *testing.T) {
	t.Parallel()
	now := noon
	s := storeAt(t, &now)
	with := func(change func(*Grant)) Grant {
		g := reader()
		change(&g)
		return g
	}
	for want, g := range map[string]Grant{
		"no name of a program":   with(func(g *Grant) { g.Name = "a\nb" }),
		"needs a project":        with(func(g *Grant) { g.Project = "" }),
		"needs a tier":           with(func(g *Grant) { g.Tier = None }),
		"a phase is one of a":    with(func(g *Grant) { g.Phase = "1" }),
		"lets it read, not comm": with(func(g *Grant) { g.Run, g.Phase, g.Tier = "r", "1", Comment }),
		"lets it read, not answ": with(func(g *Grant) { g.Run, g.Phase, g.Tier = "r", "1", Answer }),
	} {
		if _, _, err := s.New(g, time.Hour); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", g, err, want)
		}
		if g.May(Read, noon) {
			t.Errorf("%+v may read", g)
		}
	}
	for _, lives := range []time.Duration{0, -time.Hour, Longest + 1} {
		if _, _, err := s.New(reader(), lives); err == nil {
			t.Errorf("a token lives for %s", lives)
		}
	}
}

func TestTiersRise(t *testing.T) {
	t.Parallel()
	for tier := None; tier <= Answer; tier++ {
		g := reader()
		g.Tier = tier
		for least := None; least <= Answer+1; least++ {
			if want := least > None && tier >= least; g.May(least, noon) != want {
				t.Errorf("a token of tier %s may what takes %s: %t", tier, least, !want)
			}
		}
	}
	var strange Tier = 7
	if err := strange.UnmarshalText([]byte("root")); err != nil || strange != None {
		t.Errorf("a tier that nobody knows is %s, %v", strange, err)
	}
}

func TestManyMakeTokensAtOnce(t *testing.T) {
	t.Parallel()
	now := noon
	s := storeAt(t, &now)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, _, err := s.New(reader(), time.Hour); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := s.List(); len(list) != 20 || err != nil {
		t.Errorf("%d tokens are kept, %v", len(list), err)
	}
}
