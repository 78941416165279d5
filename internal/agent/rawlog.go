package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"forge/internal/redact"
)

// logHeadBytes and logTailBytes are what is kept of an agent's raw output:
// what lies between is dropped.
const (
	logHeadBytes = 8 << 20
	logTailBytes = 8 << 20
)

// rawLog is the file that keeps what an agent printed. It grows up to the
// head's size as output comes; what follows goes to two unnamed files that
// overwrite each other, and is added when the log is closed. Writing never
// fails, so that a full disk does not stall the agent; close says so.
type rawLog struct {
	head, tail int64 // bytes to keep

	mu      sync.Mutex
	file    *os.File
	times   *os.File // when what came; nil = nobody keeps that
	marked  time.Time
	written int64
	rings   [2]*os.File
	ring    int   // the one being written
	filled  int64 // bytes in it
	full    bool  // the other one is full
	err     error
}

// openLog makes the file anew, with its folder. An empty path keeps nothing.
func openLog(path string, head, tail int64) (*rawLog, error) {
	l := &rawLog{head: head, tail: tail}
	if path == "" {
		return l, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make folder of the agent's log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the agent's log: %w", err)
	}
	l.file = f
	return l, nil
}

// keepTimes notes in the file at path when what is written comes. Without it,
// what the agent printed can be read all the same.
func (l *rawLog) keepTimes(path string) {
	if path != "" && l.file != nil {
		l.times, _ = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	}
}

// markEvery is how exact the times of a log are.
const markEvery = 50 * time.Millisecond

// mark notes that what is written next comes now.
func (l *rawLog) mark() {
	if now := time.Now(); l.times != nil && now.Sub(l.marked) >= markEvery {
		l.marked = now
		_, _ = fmt.Fprintf(l.times, "%d %d\n", l.written, now.UnixMilli())
	}
}

// writer is one stream into the log, with secrets taken out.
func (l *rawLog) writer(red *redact.Redactor) *redact.Writer { return red.Writer(l) }

// Write adds to the log. It always takes all of p.
func (l *rawLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(p)
	if l.file == nil || l.err != nil {
		return n, nil
	}
	if room := l.head - l.written; room > 0 {
		k := min(room, int64(len(p)))
		l.mark()
		l.put(l.file, p[:k])
		p = p[k:]
		l.written += k
	}
	for len(p) > 0 && l.err == nil {
		if l.rings[l.ring] == nil {
			l.rings[l.ring] = l.unnamed()
			continue
		}
		k := min(l.tail-l.filled, int64(len(p)))
		l.put(l.rings[l.ring], p[:k])
		p = p[k:]
		l.written += k
		if l.filled += k; l.filled == l.tail {
			l.turn()
		}
	}
	return n, nil
}

func (l *rawLog) put(f *os.File, p []byte) {
	if _, err := f.Write(p); err != nil && l.err == nil {
		l.err = fmt.Errorf("write the agent's log: %w", err)
	}
}

// unnamed opens a file that is gone when it is closed, or when Forge dies.
func (l *rawLog) unnamed() *os.File {
	f, err := os.CreateTemp(filepath.Dir(l.file.Name()), "log-*")
	if err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("open the end of the agent's log: %w", err)
	}
	return f
}

// turn goes on in the other file, whose content is dropped.
func (l *rawLog) turn() {
	l.full, l.filled = true, 0
	l.ring = 1 - l.ring
	if f := l.rings[l.ring]; f != nil {
		_, err := f.Seek(0, io.SeekStart)
		if err = errors.Join(err, f.Truncate(0)); err != nil && l.err == nil {
			l.err = fmt.Errorf("turn the agent's log: %w", err)
		}
	}
}

// close adds the end to the file. It says what was lost to errors.
func (l *rawLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	var keep int64
	if l.full {
		keep = l.tail
	}
	if dropped := l.written - l.head - l.filled - keep; dropped > 0 && l.err == nil {
		l.put(l.file, fmt.Appendf(nil, "\n[forge: %d bytes left out]\n", dropped))
	}
	for _, i := range [2]int{1 - l.ring, l.ring} {
		f := l.rings[i]
		if f == nil {
			continue
		}
		if _, err := f.Seek(0, io.SeekStart); err == nil && l.err == nil {
			if _, err := io.Copy(l.file, f); err != nil {
				l.err = fmt.Errorf("write the end of the agent's log: %w", err)
			}
		}
		_ = f.Close() // it has no name and is gone
	}
	err := errors.Join(l.err, l.file.Close())
	if l.times != nil {
		_ = l.times.Close()
	}
	l.file, l.times = nil, nil
	return err
}
