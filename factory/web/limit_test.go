package web

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"
)

// Guesses from many addresses are together as few as a person's from some, and
// what is remembered of all of them has a bound.
func TestLimitsOfAll(t *testing.T) {
	now := time.Now()
	l := &limits{now: func() time.Time { return now }}
	let := 0
	for n := range 3 * signInAllBurst {
		if l.signIn(fmt.Sprintf("192.0.2.%d", n)) {
			let++
		}
	}
	if let != signInAllBurst {
		t.Errorf("%d tries were let through, want %d", let, signInAllBurst)
	}
	for n := range 2*mostBuckets + 5 {
		l.write(fmt.Sprint("somebody ", n))
	}
	if len(l.buckets) > mostBuckets {
		t.Errorf("%d are remembered", len(l.buckets))
	}
	// Those that were not used for long go first.
	l.write("often")
	now = now.Add(time.Hour)
	l.write("lately")
	if l.drop(now); len(l.buckets) != 1 || l.buckets["write lately"] == nil {
		t.Errorf("%d are kept", len(l.buckets))
	}
}

// Of too many sessions those that were used least lately end.
func TestTooManySessions(t *testing.T) {
	now := time.Now()
	k := openKeys(t, t.TempDir(), func() time.Time { return now })
	first, ok, err := k.redeem(k.Link())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	var last string
	if err := k.changeSessions(func(f sessionFile) {
		for range mostSessions {
			now = now.Add(time.Second)
			last = k.begin(f, session{})
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := k.bySession(first); ok || len(k.sessions.Sessions) != mostSessions {
		t.Errorf("of %d sessions the oldest is good: %v", len(k.sessions.Sessions), ok)
	}
	if _, ok, _ := k.bySession(last); !ok {
		t.Error("the newest session is gone")
	}
}

// A stream asks at each beat whether its reader may still look.
func TestAStreamEndsWithItsReader(t *testing.T) {
	k := openKeys(t, t.TempDir(), time.Now)
	token, err := k.PutUser("vera", RoleViewer, "demo")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Config: Config{Keys: k, Now: time.Now}, hub: NewHub(), stop: make(chan struct{})}
	s.limits.now = time.Now
	r := httptest.NewRequest("GET", "/live", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	beat := func() bool {
		l, _ := s.hub.Listen([]string{"demo/board"}, 0)
		defer l.Close()
		_, ok := s.nextTexts(&visit{Request: r}, l, time.NewTimer(0))
		return ok
	}
	if !beat() {
		t.Error("it ends while she may look")
	}
	if err := k.RemoveUser("vera", AnyProject); err != nil {
		t.Fatal(err)
	}
	if beat() {
		t.Error("it goes on when she is gone")
	}
}
