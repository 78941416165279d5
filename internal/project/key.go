package project

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"forge/internal/atomicfile"
	"forge/internal/refusal"
)

// KeyBytes is how many random bytes a key has; the file holds them in
// hexadecimal.
const KeyBytes = 32

func (p *Checkout) keyFile() string { return filepath.Join(p.State, "key") }

// makeKey makes the key of a new state folder. One that is there stays.
func (p *Checkout) makeKey() error {
	var b [KeyBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	err := atomicfile.WriteNew(p.keyFile(), []byte(hex.EncodeToString(b[:])+"\n"), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return refusal.New("set FORGE_STATE_DIR to a folder that can be written", "make the key of the state folder: %v", err)
	}
	return nil
}

// CheckKey checks that whoever calls may answer, resume and merge: only who can
// read the state folder's key may. Agents cannot, since their sandbox hides
// the state folder. A key that others could read proves nothing.
func (p *Checkout) CheckKey() error {
	path := p.keyFile()
	again := fmt.Sprintf("(umask 077; od -An -v -N%d -tx1 /dev/urandom | tr -d ' \\n' > '%s') makes a new one", KeyBytes, path)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refusal.New(again, "the key %s is missing: answering and resuming need it", path)
	case err != nil:
		return refusal.New("answer as the user who started the run", "look at the key: %v", err)
	case !info.Mode().IsRegular():
		return refusal.New("remove it; "+again, "the key %s is not a regular file", path)
	case info.Mode().Perm()&0o077 != 0:
		return refusal.New("chmod 600 '"+path+"'", "the key %s can be used by others (mode %04o)", path, info.Mode().Perm())
	case info.Size() > 4*KeyBytes:
		return refusal.New("remove it; "+again, "the key %s is not a key", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return refusal.New("answer as the user who started the run", "read the key: %v", err)
	}
	if b, err := hex.DecodeString(strings.TrimSpace(string(text))); err != nil || len(b) != KeyBytes {
		return refusal.New("remove it; "+again, "the key %s is not a key", path)
	}
	return nil
}
