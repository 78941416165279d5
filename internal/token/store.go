package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// Store keeps tokens in a folder, in a file that its owner alone may read. Only
// hashes are kept. Several processes may use one folder, and many at once.
type Store struct {
	Dir string
	Now func() time.Time
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
	now := s.Now().UTC()
	g.ID, g.Created, g.Expires = strings.ToLower(rand.Text()[:10]), now, now.Add(lives)
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
	path := filepath.Join(s.Dir, storeFile)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return keptFile{}, nil
	}
	if err != nil {
		return keptFile{}, fmt.Errorf("look at the tokens: %w", err)
	}
	// What others could have read or written proves nothing.
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return keptFile{}, fmt.Errorf("%s can be used by others (mode %s); chmod 600 %s", path, info.Mode(), path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return keptFile{}, fmt.Errorf("read the tokens: %w", err)
	}
	var f keptFile
	if err := json.Unmarshal(data, &f); err != nil {
		return keptFile{}, fmt.Errorf("read %s: %w", path, err)
	}
	return f, nil
}

// change changes the file while no other process does. What has expired is
// dropped on the way.
func (s Store) change(do func(*keptFile) error) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of tokens: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.Dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the tokens: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock the tokens: %w", err)
	}

	f, err := s.read()
	if err != nil {
		return err
	}
	f.Tokens = slices.DeleteFunc(f.Tokens, func(k kept) bool { return !s.Now().Before(k.Expires) })
	if err := do(&f); err != nil {
		return err
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(s.Dir, storeFile), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	return nil
}

// hashed is what is stored of a token. It is random, so it needs no salt and no
// slow hash.
func hashed(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
