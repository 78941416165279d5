package redact

import (
	"fmt"
	"io"
)

// chunkBytes bounds what a Writer holds beside the longest secret.
const chunkBytes = 32 << 10

// Writer passes a stream on without the secrets, however they are split over
// calls of Write. It keeps back only what could be the beginning of a secret.
// It is for one goroutine.
type Writer struct {
	r     *Redactor
	w     io.Writer
	held  []byte // not yet decided
	clean []byte // scratch
	reach int    // bytes to come that belong to the last secret
	err   error
}

// Writer returns a writer in front of w. It must be closed at the end of the
// stream, or the last bytes are missing.
func (r *Redactor) Writer(w io.Writer) *Writer { return &Writer{r: r, w: w} }

// Write returns the error of the writer behind it, from then on for ever.
func (w *Writer) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.r.none {
		n, err := w.w.Write(b)
		w.err = err
		return n, err
	}
	for n := 0; n < len(b); n += chunkBytes {
		w.held = append(w.held, b[n:min(n+chunkBytes, len(b))]...)
		if err := w.pass(false); err != nil {
			return n, err
		}
	}
	return len(b), nil
}

// Flush passes on what is kept back, as if the stream ended here: a secret of
// which one part was written before and the rest comes after is not found.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	return w.pass(true)
}

// Close flushes. It does not close the writer behind it.
func (w *Writer) Close() error { return w.Flush() }

func (w *Writer) pass(last bool) error {
	var used int
	w.clean, used, w.reach = w.r.scan(w.clean[:0], w.held, w.reach, last)
	if last {
		w.reach = 0
	}
	w.held = w.held[:copy(w.held, w.held[used:])]
	if len(w.clean) == 0 {
		return nil
	}
	n, err := w.w.Write(w.clean)
	if err == nil && n < len(w.clean) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("write redacted stream: %w", err)
	}
	return w.err
}
