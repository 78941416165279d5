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
	"time"

	"forge/internal/atomicfile"
)

// Files keep the server's small files: users and sessions. Several processes, also
// of several machines, may share them.
type Files interface {
	// Version is another text after each change of a file; "" = there is none.
	Version(name string) (string, error)
	// Read is a file with its version; nil where there is none.
	Read(name string) (data []byte, version string, err error)
	// Change replaces a file while nobody else does so. do may be called again.
	Change(name string, do func(was []byte) ([]byte, error)) error
}

// Keys knows who may come in: by a link that only who can read the server's key
// can make, by a user's token, and then by the session that either began. Its key
// is a file, readable by its owner alone. Several processes may use the same files;
// its methods may be called by many at once.
type Keys struct {
	// Owner is what who came by a link is called.
	Owner string

	dir   string
	files Files
	key   []byte // of links
	form  []byte // of forms: all servers that share sessions have the same
	now   func() time.Time

	shared Files // nil = the files are those of this machine

	mu       sync.Mutex
	users    userFile
	sessions sessionFile
	read     map[string]string // which version of a file stands above
}

const (
	keyFile      = "key"
	usersFile    = "users.json"
	sessionsFile = "sessions.json"
	secretBytes  = 32
)

// OpenKeys opens the folder, and makes it and its key when there is none. Users and
// sessions are files in it.
func OpenKeys(dir string, now func() time.Time) (*Keys, error) {
	return makeKeys(dir, now, nil)
}

// OpenSharedKeys is OpenKeys with users and sessions that several machines share. A
// link is good at the servers of this machine alone.
func OpenSharedKeys(dir string, now func() time.Time, files Files) (*Keys, error) {
	return makeKeys(dir, now, files)
}

// Shared are the files that several machines share; nil where there are none.
func (k *Keys) Shared() Files { return k.shared }

func makeKeys(dir string, now func() time.Time, shared Files) (*Keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the server's folder: %w", err)
	}
	folder := atomicfile.Folder{Dir: dir, Lock: "lock"}
	k := &Keys{Owner: "owner", dir: dir, now: now, files: folder, read: map[string]string{}}
	err := atomicfile.WriteNew(k.path(keyFile), newKey(), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the server's key: %w", err)
	}
	text, _, err := folder.Read(keyFile)
	if err != nil {
		return nil, err
	}
	if k.key, err = parseKey(text); err != nil {
		return nil, fmt.Errorf("%s is not a key; remove it, and the server makes a new one", k.path(keyFile))
	}
	k.form = k.key
	if shared != nil {
		k.files, k.shared = shared, shared
		if k.form, err = sharedKey(shared); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	err = k.refreshSessions()
	k.mu.Unlock()
	if err == nil {
		_, err = k.Users()
	}
	return k, err
}

func newKey() []byte { return []byte(hex.EncodeToString(random()) + "\n") }

func parseKey(text []byte) ([]byte, error) {
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err == nil && len(key) != secretBytes {
		err = errors.New("it has another length")
	}
	return key, err
}

// sharedKey is the key of forms, which whoever comes first makes.
func sharedKey(files Files) (key []byte, err error) {
	err = files.Change(keyFile, func(was []byte) ([]byte, error) {
		if was == nil {
			was = newKey()
		}
		key, err = parseKey(was)
		return was, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the key of forms: %w", err)
	}
	return key, nil
}

func (k *Keys) path(name string) string { return filepath.Join(k.dir, name) }

// refresh reads a file into what new makes when it is another version than what was
// read last. Call it with the lock held.
func (k *Keys) refresh(name string, into func(data []byte) error) error {
	version, err := k.files.Version(name)
	if is, read := k.read[name]; err != nil || read && version == is {
		return err
	}
	data, version, err := k.files.Read(name)
	if err != nil {
		return err
	}
	if err := into(data); err != nil {
		return fmt.Errorf("read %s: %w", k.path(name), err)
	}
	k.read[name] = version
	return nil
}

// written makes a file of v.
func (k *Keys) written(name string, v any) ([]byte, error) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", k.path(name), err)
	}
	return append(data, '\n'), nil
}

// mac says something that only who has the key can say.
func mac(key []byte, purpose, text string) string {
	h := hmac.New(sha256.New, key)
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
