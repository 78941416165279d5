package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/text"
)

const (
	storeFile = "tokens.json"
	lockFile  = "tokens.lock"
	// Prefix makes a token one that people and scanners recognise.
	Prefix = "forge_mcp_"
	// mostTokens bounds the file: a program that makes them without end is told.
	mostTokens = 1000
)

// ErrNone says that there is no token of that id.
var ErrNone = errors.New("unknown token")

// Files keep the file of tokens, for all processes that share it.
type Files interface {
	// Read is a file with its version; nil where there is none.
	Read(name string) (data []byte, version string, err error)
	// Change replaces a file while nobody else does so. do may be called again.
	Change(name string, do func(was []byte) ([]byte, error)) error
}

// Store keeps tokens. Only hashes are kept. Several processes may use the same
// files, and many at once.
type Store struct {
	Dir   string // a folder that its owner alone may read
	Files Files  // in place of the folder; nil = there it is
	Now   func() time.Time
}

func (s Store) files() Files {
	if s.Files != nil {
		return s.Files
	}
	return atomicfile.Folder{Dir: s.Dir, Lock: lockFile}
}

type kept struct {
	Grant
	Hash string `json:"hash"`
}

type keptFile struct {
	Tokens []kept `json:"tokens"`
}

// New makes a token for a grant, which lives for so long; the token is returned
// and never shown again.
func (s Store) New(g Grant, lives time.Duration) (token string, made Grant, err error) {
	if err := g.Check(); err != nil {
		return "", g, err
	}
	if lives <= 0 || lives > Longest {
		return "", g, fmt.Errorf("a token lives for at most %s, and for more than nothing; %s is neither", Longest, lives)
	}
	g = g.From(s.Now(), lives)
	token = Prefix + rand.Text() + rand.Text()
	err = s.change(func(f *keptFile) error {
		if len(f.Tokens) >= mostTokens {
			return fmt.Errorf("there are %d tokens that have not expired", len(f.Tokens))
		}
		f.Tokens = append(f.Tokens, kept{g, hashed(token)})
		return nil
	})
	return token, g, err
}

// List are the grants whose token has not expired, the oldest first.
func (s Store) List() ([]Grant, error) {
	f, err := s.read()
	if err != nil {
		return nil, err
	}
	var out []Grant
	for _, k := range f.Tokens {
		if s.Now().Before(k.Expires) {
			out = append(out, k.Grant)
		}
	}
	return out, nil
}

// Revoke ends a token at once.
func (s Store) Revoke(id string) error {
	return s.change(func(f *keptFile) error {
		n := len(f.Tokens)
		f.Tokens = slices.DeleteFunc(f.Tokens, func(k kept) bool { return k.ID == id })
		if len(f.Tokens) == n {
			return fmt.Errorf("%w: %s", ErrNone, text.OneLine(id, 80))
		}
		return nil
	})
}

// Of is what a token grants; ok is false where it is unknown, revoked or
// expired. What another process changed holds at once.
func (s Store) Of(token string) (g Grant, ok bool, err error) {
	if !strings.HasPrefix(token, Prefix) {
		return Grant{}, false, nil
	}
	f, err := s.read()
	if err != nil {
		return Grant{}, false, err
	}
	sum := []byte(hashed(token))
	for _, k := range f.Tokens {
		if subtle.ConstantTimeCompare([]byte(k.Hash), sum) == 1 {
			return k.Grant, k.May(Read, s.Now()), nil
		}
	}
	return Grant{}, false, nil
}

func (s Store) read() (keptFile, error) {
	data, _, err := s.files().Read(storeFile)
	if err != nil {
		return keptFile{}, err
	}
	return readKept(data)
}

func readKept(data []byte) (f keptFile, err error) {
	if data != nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", storeFile, err)
	}
	return f, err
}

// change changes the file while no other process does. What has expired is
// dropped on the way.
func (s Store) change(do func(*keptFile) error) error {
	return s.files().Change(storeFile, func(was []byte) ([]byte, error) {
		f, err := readKept(was)
		if err != nil {
			return nil, err
		}
		f.Tokens = slices.DeleteFunc(f.Tokens, func(k kept) bool { return !s.Now().Before(k.Expires) })
		if err := do(&f); err != nil {
			return nil, err
		}
		data, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("write the tokens: %w", err)
		}
		return append(data, '\n'), nil
	})
}

// hashed is what is stored of a token. It is random, so it needs no salt and no
// slow hash.
func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
