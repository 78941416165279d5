package web

import (
	"crypto/hmac"
	"encoding/json"
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

// refreshSessions reads the sessions again when their file is another one: who signed
// out at another server is out here, too. Call it with the lock held.
func (k *Keys) refreshSessions() error {
	return k.refresh(sessionsFile, func(data []byte) (err error) {
		k.sessions, err = readSessions(data)
		return err
	})
}

func readSessions(data []byte) (f sessionFile, err error) {
	if data != nil {
		err = json.Unmarshal(data, &f)
	}
	if f.Sessions == nil {
		f.Sessions = map[string]session{}
	}
	if f.Links == nil {
		f.Links = map[string]time.Time{}
	}
	return f, err
}

// Link is a word that signs in as the owner, once, within ten minutes.
func (k *Keys) Link() string {
	text := strconv.FormatInt(k.now().Add(linkLife).Unix(), 36) + "." + secret()[:22]
	return text + "." + mac(k.key, "link", text)
}

// redeem takes a link's word for a session, whose cookie it returns; false when
// the word is none, or used, or old.
func (k *Keys) redeem(word string) (cookie string, ok bool, err error) {
	i := strings.LastIndexByte(word, '.')
	if i < 0 || !hmac.Equal([]byte(word[i+1:]), []byte(mac(k.key, "link", word[:i]))) {
		return "", false, nil
	}
	end, _, _ := strings.Cut(word, ".")
	secs, err := strconv.ParseInt(end, 36, 64)
	if err != nil || !k.now().Before(time.Unix(secs, 0)) {
		return "", false, nil
	}
	err = k.changeSessions(func(f sessionFile) {
		cookie, ok = "", false
		if _, used := f.Links[hashed(word)]; used {
			return
		}
		f.Links[hashed(word)] = time.Unix(secs, 0).UTC()
		cookie, ok = k.begin(f, session{}), true
	})
	return cookie, ok && err == nil, err
}

// signIn takes a user's token for a session.
func (k *Keys) signIn(token string) (cookie string, ok bool, err error) {
	u, ok, err := k.byToken(token)
	if err != nil || !ok {
		return "", false, err
	}
	err = k.changeSessions(func(f sessionFile) { cookie = k.begin(f, session{User: u.Name, Token: u.Token}) })
	return cookie, err == nil, err
}

// changeSessions changes the file of sessions while no other server does. do may be
// called again.
func (k *Keys) changeSessions(do func(sessionFile)) error {
	return k.files.Change(sessionsFile, func(was []byte) ([]byte, error) {
		f, err := readSessions(was)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", k.path(sessionsFile), err)
		}
		do(f)
		f.tidy(k.now())
		return k.written(sessionsFile, f)
	})
}

// begin adds a session, and returns its cookie.
func (k *Keys) begin(f sessionFile, s session) (cookie string) {
	cookie = secret()
	s.Seen = k.now().UTC()
	f.Sessions[hashed(cookie)] = s
	return cookie
}

// tidy drops what does not count any more.
func (f sessionFile) tidy(now time.Time) {
	maps.DeleteFunc(f.Links, func(_ string, until time.Time) bool { return !now.Before(until) })
	maps.DeleteFunc(f.Sessions, func(_ string, s session) bool { return now.Sub(s.Seen) > sessionLife })
	for len(f.Sessions) > mostSessions {
		oldest := ""
		for id, s := range f.Sessions {
			if oldest == "" || s.Seen.Before(f.Sessions[oldest].Seen) {
				oldest = id
			}
		}
		delete(f.Sessions, oldest)
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
	if err := k.refreshUsers(); err != nil {
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
	err := k.refreshSessions()
	s, ok := k.sessions.Sessions[id]
	k.mu.Unlock()
	if err != nil {
		return session{}, false, err
	}
	idle := k.now().Sub(s.Seen)
	if !ok || idle > sessionLife {
		return session{}, false, nil
	}
	if idle > 24*time.Hour {
		err := k.changeSessions(func(f sessionFile) {
			if s, ok = f.Sessions[id]; ok {
				s.Seen = k.now().UTC()
				f.Sessions[id] = s
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
	return k.changeSessions(func(f sessionFile) { delete(f.Sessions, p.session) })
}
