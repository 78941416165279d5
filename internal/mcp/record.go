package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// recordFile is where calls are kept in the server's folder; what is older stands
// in a second file beside it.
const (
	recordFile = "mcp-calls.jsonl"
	// mostRecord is how large the file becomes before it is put aside, in bytes.
	mostRecord = 8 << 20
)

// Records keeps every call in a folder, one line each, in a file that its owner
// alone may read. A run's journal is its holder's alone, so that what is only
// read stands here and not there. Many may use it at once, also in other
// processes.
type Records struct {
	Dir string

	mu sync.Mutex
}

func (r *Records) path() string { return filepath.Join(r.Dir, recordFile) }

// Keep keeps one call.
func (r *Records) Keep(c Call) error {
	line, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("record a call: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return fmt.Errorf("record a call: %w", err)
	}
	if info, err := os.Stat(r.path()); err == nil && info.Size() > mostRecord {
		if err := os.Rename(r.path(), r.path()+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put older calls aside: %w", err)
		}
	}
	f, err := os.OpenFile(r.path(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("record a call: %w", err)
	}
	// One write, so that lines of several processes do not mix.
	_, err = f.Write(append(line, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("record a call: %w", err)
	}
	return nil
}

// Last are the last calls, at most most of them, the oldest first. A line that
// was cut off in its middle is left out.
func (r *Records) Last(most int) ([]Call, error) {
	var out []Call
	for _, path := range []string{r.path() + ".1", r.path()} {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the calls: %w", err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var c Call
			if json.Unmarshal(lines.Bytes(), &c) == nil {
				out = append(out, c)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read the calls: %w", err)
		}
	}
	return out[max(0, len(out)-most):], nil
}
