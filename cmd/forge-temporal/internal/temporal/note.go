package temporal

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"forge/internal/filetree"
)

// A note of an effect lies in the state folder for as long as it is carried out, and
// says what it came to. The worker that is asked what an effect left need not be the
// process that carried it out: a host may have several, and one may have been started
// anew. It is held by a lock of the system's, so that it is free when its process died,
// and touched, so that one that is frozen shows.

// oldNote is how long a note is kept of which nobody asked.
const oldNote = 24 * time.Hour

type note struct {
	file *os.File
	stop func()
}

// asking is the end of the name of a file that is touched by who waits for the effect of
// a note.
const asking = ".asked"

// asked is when somebody last did so.
func (n *note) asked() time.Time {
	if n == nil {
		return time.Time{}
	}
	info, err := os.Stat(n.file.Name() + asking)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// takeNote begins the note of an effect. That there is none costs the result, should
// the server not hear of it.
func takeNote(dir, mark string, every time.Duration) (*note, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	dropNotes(dir)
	f, err := os.OpenFile(filepath.Join(dir, mark), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	over := make(chan struct{})
	var touching sync.WaitGroup
	touching.Go(func() {
		tick := time.NewTicker(beatEvery(every))
		defer tick.Stop()
		for {
			now := time.Now()
			_ = os.Chtimes(f.Name(), now, now)
			select {
			case <-tick.C:
			case <-over:
				return
			}
		}
	})
	return &note{f, func() { close(over); touching.Wait() }}, nil
}

// ends says what the effect came to, and lets go of the note.
func (n *note) ends(done Done, err error) {
	if n == nil {
		return
	}
	n.stop()
	if err == nil {
		if text, err := json.Marshal(done); err == nil {
			_, _ = n.file.Write(text) // half of it is none
		}
	}
	filetree.Release(n.file)
}

// dropNotes removes old ones.
func dropNotes(dir string) {
	all, _ := os.ReadDir(dir)
	for _, one := range all {
		if info, err := one.Info(); err == nil && time.Since(info.ModTime()) > oldNote {
			_ = os.Remove(filepath.Join(dir, one.Name()))
		}
	}
}

// errFrozen says that a process holds the note of an effect, and does nothing.
var errFrozen = errors.New("the process that carries it out is frozen")

// noteOf waits until the effect of a mark is over, which another process of this host
// carries out, and returns what it came to; ok is false where nobody says. It waits until
// over is closed at most.
func noteOf(dir, mark string, every time.Duration, over <-chan struct{}) (done Done, ok bool, err error) {
	if dir == "" {
		return done, false, nil
	}
	f, err := os.Open(filepath.Join(dir, mark))
	if errors.Is(err, fs.ErrNotExist) {
		return done, false, nil
	}
	if err != nil {
		return done, false, err
	}
	defer filetree.Release(f)
	for syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil {
		// That somebody waits is seen by who would end it else.
		_ = os.WriteFile(f.Name()+asking, []byte("asked\n"), 0o600)
		info, err := f.Stat()
		switch {
		case err != nil:
			return done, false, err
		case time.Since(info.ModTime()) > max(every, 2*time.Second):
			return done, false, errFrozen
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-over:
			return done, false, nil
		}
	}
	text, err := io.ReadAll(f)
	if err != nil || json.Unmarshal(text, &done) != nil {
		return Done{}, false, err
	}
	return done, true, nil
}
