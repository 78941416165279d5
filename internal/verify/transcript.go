package verify

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"forge/internal/proc"
	"forge/internal/redact"
)

// A transcript streams to its file so that a running command can be followed,
// up to logBytes; of what follows only the end is kept.
const (
	logBytes     = 4 << 20
	logTailBytes = 256 << 10
)

// transcript is the log of the commands of one call: redacted, valid UTF-8.
type transcript struct {
	file *os.File // nil = kept nowhere
	red  *redact.Redactor
	left int        // bytes that are still streamed
	late *proc.Tail // what came after them
	err  error
}

// openTranscript appends to the file at path, which is made for its owner
// only; "" keeps nothing.
func openTranscript(path string, red *redact.Redactor) (*transcript, error) {
	t := &transcript{red: red, left: logBytes}
	if path == "" {
		return t, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	t.file = f
	return t, nil
}

// Write takes redacted, valid text. It always reports success, since a full
// disk must not end the command that writes; Close and note tell.
func (t *transcript) Write(p []byte) (int, error) {
	if t.file == nil {
		return len(p), nil
	}
	now := p[:min(len(p), t.left)]
	for len(now) > 0 && len(now) < len(p) && !utf8.RuneStart(p[len(now)]) {
		now = now[:len(now)-1]
	}
	if len(now) < len(p) {
		t.left = 0
	} else {
		t.left -= len(now)
	}
	if t.err == nil && len(now) > 0 {
		_, t.err = t.file.Write(now)
	}
	if rest := p[len(now):]; len(rest) > 0 {
		if t.late == nil {
			t.late = proc.NewTail(0, logTailBytes)
		}
		_, _ = t.late.Write(rest) // in memory
	}
	return len(p), nil
}

// note writes one line of Forge's own.
func (t *transcript) note(line string) error {
	_, _ = t.Write([]byte(t.red.String(line) + "\n"))
	return t.err
}

// Close writes the end of what was too long and closes the file. A second
// Close does nothing.
func (t *transcript) Close() error {
	if t.file == nil {
		return t.err
	}
	if t.late != nil && t.err == nil {
		_, t.err = t.file.WriteString("\n" + strings.ToValidUTF8(t.late.String(), "\uFFFD"))
	}
	if err := t.file.Close(); t.err == nil {
		t.err = err
	}
	t.file = nil
	if t.err != nil {
		return fmt.Errorf("write log: %w", t.err)
	}
	return nil
}

// command returns the writer for one command's output, which goes into the
// transcript and into tail. It must be closed.
func (t *transcript) command(tail *proc.Tail) io.WriteCloser {
	valid := &validUTF8{to: io.MultiWriter(tail, t)}
	return &commandOutput{red: t.red.Writer(valid), valid: valid, transcript: t}
}

type commandOutput struct {
	red        *redact.Writer
	valid      *validUTF8
	transcript *transcript
}

func (c *commandOutput) Write(p []byte) (int, error) { return c.red.Write(p) }

func (c *commandOutput) Close() error {
	return errors.Join(c.red.Close(), c.valid.flush(), c.transcript.err)
}

// validUTF8 replaces what is not UTF-8, also where a rune is split over two
// writes.
type validUTF8 struct {
	to   io.Writer
	held []byte // the beginning of a rune
}

func (v *validUTF8) Write(p []byte) (int, error) {
	all := append(v.held, p...)
	cut := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if last := all[len(all)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				cut -= i
			}
			break
		}
	}
	v.held = append([]byte(nil), all[cut:]...)
	if _, err := v.to.Write([]byte(strings.ToValidUTF8(string(all[:cut]), "\uFFFD"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (v *validUTF8) flush() error {
	if len(v.held) == 0 {
		return nil
	}
	v.held = nil
	_, err := io.WriteString(v.to, "\uFFFD")
	return err
}
