package web

import (
	"crypto/hmac"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

const (
	// linkLife is how long a link to sign in works, once.
	linkLife = 10 * time.Minute
	// sessionLife is how long a session lasts after it was last used, by the day.
	sessionLife = 14 * 24 * time.Hour
	// mostSessions bounds the file: beyond it those that were not used for
	// longest end.
	mostSessions = 1000
)

// session is what is kept of somebody's being signed in.
type session struct {
	User  string    `json:"user,omitempty"`  // "" = the owner, who came by a link
	Token string    `json:"token,omitempty"` // hash of the token that it began with
	Seen  time.Time `json:"seen"`
}

type sessionFile struct {
	Sessions map[string]session   `json:"sessions"` // by the hash of the cookie
	Links    map[string]time.Time `json:"links"`    // that were used, until they would not work anyway
}

func (k *Keys) loadSessions() error {
	k.sessions = sessionFile{}
	if err := k.readJSON(sessionsFile, &k.sessions); err != nil {
		return err
	}
	if k.sessions.Sessions == nil {
		k.sessions.Sessions = map[string]session{}
	}
	if k.sessions.Links == nil {
		k.sessions.Links = map[string]time.Time{}
	}
	return nil
}

// Link is a word that signs in as the owner, once, within ten minutes.
func (k *Keys) Link() string {
	text := strconv.FormatInt(k.now().Add(linkLife).Unix(), 36) + "." + secret()[:22]
	return text + "." + k.mac("link", text)
}

// redeem takes a link's word for a session, whose cookie it returns; false when
// the word is none, or used, or old.
func (k *Keys) redeem(word string) (cookie string, ok bool, err error) {
	i := strings.LastIndexByte(word, '.')
	if i < 0 || !hmac.Equal([]byte(word[i+1:]), []byte(k.mac("link", word[:i]))) {
		return "", false, nil
	}
	end, _, _ := strings.Cut(word, ".")
	secs, err := strconv.ParseInt(end, 36, 64)
	if err != nil || !k.now().Before(time.Unix(secs, 0)) {
		return "", false, nil
	}
	err = k.changeSessions(func() {
		if _, used := k.sessions.Links[hashed(word)]; used {
			return
		}
		k.sessions.Links[hashed(word)] = time.Unix(secs, 0).UTC()
		cookie, ok = k.begin(session{}), true
	})
	return cookie, ok && err == nil, err
}

// signIn takes a user's token for a session.
func (k *Keys) signIn(token string) (cookie string, ok bool, err error) {
	u, ok, err := k.byToken(token)
	if err != nil || !ok {
		return "", false, err
	}
	err = k.changeSessions(func() { cookie = k.begin(session{User: u.Name, Token: u.Token}) })
	return cookie, err == nil, err
}

// changeSessions changes the file of sessions while no other server does.
func (k *Keys) changeSessions(do func()) error {
	return k.locked(func() error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if err := k.loadSessions(); err != nil {
			return err
		}
		do()
		k.tidy()
		return k.writeJSON(sessionsFile, k.sessions)
	})
}

// begin adds a session, and returns its cookie. Call it in changeSessions.
func (k *Keys) begin(s session) (cookie string) {
	cookie = secret()
	s.Seen = k.now().UTC()
	k.sessions.Sessions[hashed(cookie)] = s
	return cookie
}

// tidy drops what does not count any more. Call it with the lock held.
func (k *Keys) tidy() {
	now := k.now()
	maps.DeleteFunc(k.sessions.Links, func(_ string, until time.Time) bool { return !now.Before(until) })
	maps.DeleteFunc(k.sessions.Sessions, func(_ string, s session) bool { return now.Sub(s.Seen) > sessionLife })
	for len(k.sessions.Sessions) > mostSessions {
		oldest := ""
		for id, s := range k.sessions.Sessions {
			if oldest == "" || s.Seen.Before(k.sessions.Sessions[oldest].Seen) {
				oldest = id
			}
		}
		delete(k.sessions.Sessions, oldest)
	}
}

// bySession is who has that cookie. A user who was removed, or got another
// token, has no session any more.
func (k *Keys) bySession(cookie string) (Person, bool, error) {
	id := hashed(cookie)
	s, ok, err := k.session(id)
	if err != nil || !ok {
		return Person{}, false, err
	}
	if s.User == "" {
		return Person{Name: k.Owner, Roles: map[string]Role{AnyProject: RoleAdmin}, session: id}, true, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refresh(); err != nil {
		return Person{}, false, err
	}
	i := k.users.find(s.User)
	if i < 0 || k.users.Users[i].Token != s.Token {
		return Person{}, false, nil
	}
	p := k.users.Users[i].person()
	p.session = id
	return p, true, nil
}

// session is the one of that id, if it counts. That it was used is written
// down once a day.
func (k *Keys) session(id string) (session, bool, error) {
	k.mu.Lock()
	s, ok := k.sessions.Sessions[id]
	k.mu.Unlock()
	idle := k.now().Sub(s.Seen)
	if !ok || idle > sessionLife {
		return session{}, false, nil
	}
	if idle > 24*time.Hour {
		err := k.changeSessions(func() {
			if s, ok = k.sessions.Sessions[id]; ok {
				s.Seen = k.now().UTC()
				k.sessions.Sessions[id] = s
			}
		})
		if err != nil {
			return session{}, false, fmt.Errorf("keep a session: %w", err)
		}
	}
	return s, ok, nil
}

// signOut ends a session.
func (k *Keys) signOut(p Person) error {
	return k.changeSessions(func() { delete(k.sessions.Sessions, p.session) })
}
