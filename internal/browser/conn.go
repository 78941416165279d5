package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Bounds of what a browser may say. A picture is the longest message that is
// wanted; pages can have one made of any length.
const (
	mostMessage = 32 << 20
	mostSaid    = 512 << 20
)

// message is what goes over the pipe, in both directions: a call, its answer, or
// an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// conn speaks the DevTools protocol over a pair of pipes: messages as JSON, each
// with a zero byte at its end. One goroutine reads; all else happens in that of
// the caller, so that nothing is shared.
type conn struct {
	out     io.Writer
	in      chan message
	broken  chan struct{} // closed when nothing comes any more
	why     error         // ordered by broken
	id      int
	session string
	event   func(message) // called while an answer is waited for
	left    string        // why nothing more is asked; "" = go on
}

// open begins to read. What it started ends when in is closed or ctx is done.
func open(ctx context.Context, in io.Reader, out io.Writer) *conn {
	c := &conn{out: out, in: make(chan message), broken: make(chan struct{})}
	go func() {
		defer close(c.broken)
		c.why = c.read(ctx, in)
	}()
	return c
}

func (c *conn) read(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for all := 0; ; {
		data, err := one(r)
		if err != nil {
			return err
		}
		if all += len(data); all > mostSaid {
			return fmt.Errorf("the browser said more than %d MB", mostSaid>>20)
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			return errors.New("the browser said what is no message of its protocol")
		}
		select {
		case c.in <- m:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// one is the next message, within its bound.
func one(r *bufio.Reader) ([]byte, error) {
	var data []byte
	for {
		part, err := r.ReadSlice(0)
		data = append(data, part...)
		switch {
		case len(data) > mostMessage:
			return nil, fmt.Errorf("the browser said more than %d MB at once", mostMessage>>20)
		case err == nil:
			return data[:len(data)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, errors.New("the browser ended")
		default:
			return nil, fmt.Errorf("hear the browser: %w", err)
		}
	}
}

// send says something and waits for no answer.
func (c *conn) send(method string, params any) (int, error) {
	c.id++
	data, err := json.Marshal(params)
	if err != nil {
		return 0, fmt.Errorf("say %s: %w", method, err)
	}
	data, err = json.Marshal(message{ID: c.id, Method: method, Params: data, Session: c.session})
	if err != nil {
		return 0, fmt.Errorf("say %s: %w", method, err)
	}
	if _, err := c.out.Write(append(data, 0)); err != nil {
		return 0, errors.New("the browser does not listen any more")
	}
	return c.id, nil
}

// call says something and waits for the answer, which goes into to; nil drops it.
// Events that come meanwhile are handed on.
func (c *conn) call(ctx context.Context, method string, params, to any) error {
	id, err := c.send(method, params)
	if err != nil {
		return err
	}
	for {
		m, err := c.next(ctx)
		switch {
		case err != nil:
			return err
		case m.ID == 0:
			if c.event(m); c.left != "" {
				return errors.New(c.left) // the answer may never come
			}
		case m.ID != id: // of what nobody waits for
		case m.Error != nil:
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		case to == nil:
			return nil
		default:
			if err := json.Unmarshal(m.Result, to); err != nil {
				return fmt.Errorf("%s: the answer has another form", method)
			}
			return nil
		}
	}
}

// next is the next message.
func (c *conn) next(ctx context.Context) (message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-c.broken:
		if ctx.Err() != nil {
			return message{}, ctx.Err()
		}
		return message{}, c.why
	case <-ctx.Done():
		return message{}, ctx.Err()
	}
}
