package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"forge/internal/atomicfile"
)

// Keys knows who may come in: by a link that only who can read the server's key
// can make, by a user's token, and then by the session that either began. It
// keeps its files in one folder, readable by its owner alone. Several processes
// may use one folder; its methods may be called by many at once.
type Keys struct {
	// Owner is what who came by a link is called.
	Owner string

	dir string
	key []byte
	now func() time.Time

	mu       sync.Mutex
	users    userFile
	read     fs.FileInfo // what users was read from
	sessions sessionFile
}

const (
	keyFile      = "key"
	usersFile    = "users.json"
	sessionsFile = "sessions.json"
	secretBytes  = 32
)

// OpenKeys opens the folder, and makes it and its key when there is none.
func OpenKeys(dir string, now func() time.Time) (*Keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the server's folder: %w", err)
	}
	k := &Keys{Owner: "owner", dir: dir, now: now}
	path := k.path(keyFile)
	err := atomicfile.WriteNew(path, []byte(hex.EncodeToString(random())+"\n"), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the server's key: %w", err)
	}
	text, err := k.readPrivate(keyFile)
	if err != nil {
		return nil, err
	}
	if k.key, err = hex.DecodeString(strings.TrimSpace(string(text))); err != nil || len(k.key) != secretBytes {
		return nil, fmt.Errorf("%s is not a key; remove it, and the server makes a new one", path)
	}
	if err := k.loadSessions(); err != nil {
		return nil, err
	}
	_, err = k.Users()
	return k, err
}

func (k *Keys) path(name string) string { return filepath.Join(k.dir, name) }

// readPrivate reads a file that nobody but its owner may touch: what others
// could have read or written proves nothing.
func (k *Keys) readPrivate(name string) ([]byte, error) {
	path := k.path(name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be used by others (mode %04o); chmod 600 %s", path, info.Mode().Perm(), path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// readJSON reads a private file into v; one that is not there leaves it as it is.
func (k *Keys) readJSON(name string, v any) error {
	data, err := k.readPrivate(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", k.path(name), err)
	}
	return nil
}

func (k *Keys) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", k.path(name), err)
	}
	if err := atomicfile.Write(k.path(name), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", k.path(name), err)
	}
	return nil
}

// locked does what changes a file while no other process does.
func (k *Keys) locked(do func() error) error {
	lock, err := os.OpenFile(k.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock the server's folder: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock the server's folder: %w", err)
	}
	return do()
}

// mac says something that only who has the key can say.
func (k *Keys) mac(purpose, text string) string {
	h := hmac.New(sha256.New, k.key)
	fmt.Fprintf(h, "%s\x00%s", purpose, text)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

func random() []byte {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return b
}

func secret() string { return base64.RawURLEncoding.EncodeToString(random()) }

// hashed is what is stored of a secret. It is random, so it needs no salt and
// no slow hash.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
