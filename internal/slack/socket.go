package slack

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 says so; it protects nothing
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gobwas/ws"
)

const (
	// silence is how long a connection may say nothing, not even a ping, until it
	// is taken for dead. Slack pings every few seconds.
	silence = 60 * time.Second
	// mostFrame is how large a message may be that Slack sends, in bytes.
	mostFrame = 2 << 20
)

// socket is a connection in socket mode. One goroutine reads from it; any number
// may write.
type socket struct {
	conn io.ReadWriteCloser
	in   *bufio.Reader
	dead *time.Timer // closes it when nothing was heard for too long

	write sync.Mutex
}

// dial opens a connection at an address that Slack gave. It goes the way that the
// HTTP client goes, by a proxy too.
func (c *Client) dial(ctx context.Context, at string, quiet time.Duration) (*socket, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, errors.New("connect to Slack: the address that it gave is none")
	}
	switch {
	case u.Scheme == "wss":
		u.Scheme = "https"
	case u.Scheme == "ws" && strings.HasPrefix(c.URL, "http://"):
		u.Scheme = "http"
	default:
		return nil, fmt.Errorf("connect to Slack: the address that it gave begins with %q, not wss", u.Scheme)
	}
	key := make([]byte, 16)
	_, _ = rand.Read(key) // it never fails
	word := base64.StdEncoding.EncodeToString(key)
	// Not under ctx: what ends with it is the answer, which here is the connection.
	dialing, cancel := context.WithCancel(context.WithoutCancel(ctx))
	late := time.AfterFunc(callWait, cancel)
	unhook := context.AfterFunc(ctx, cancel)
	defer func() {
		late.Stop()
		unhook()
	}()
	req, err := http.NewRequestWithContext(dialing, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		cancel()
		return nil, errors.New("connect to Slack: the address that it gave is none")
	}
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": word} {
		req.Header.Set(name, value)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("connect to Slack: %w", withoutAddress(err))
	}
	sum := sha1.Sum([]byte(word + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	conn, ok := res.Body.(io.ReadWriteCloser)
	if res.StatusCode != http.StatusSwitchingProtocols || !ok || res.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		_ = res.Body.Close()
		cancel()
		return nil, fmt.Errorf("connect to Slack: it answered %s", res.Status)
	}
	k := &socket{conn: conn, in: bufio.NewReader(conn)}
	k.dead = time.AfterFunc(quiet, func() { _ = conn.Close() })
	return k, nil
}

func (k *socket) close() {
	k.dead.Stop()
	_ = k.conn.Close()
}

// send writes one message.
func (k *socket) send(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write to Slack: %w", err)
	}
	return k.frame(ws.NewTextFrame(body))
}

func (k *socket) frame(f ws.Frame) error {
	frame, err := ws.CompileFrame(ws.MaskFrameInPlace(f))
	if err != nil {
		return fmt.Errorf("write to Slack: %w", err)
	}
	k.write.Lock()
	defer k.write.Unlock()
	if _, err := k.conn.Write(frame); err != nil {
		return fmt.Errorf("write to Slack: %w", err)
	}
	return nil
}

// next reads the next message, and answers pings on the way. quiet is how long
// nothing may be heard.
func (k *socket) next(quiet time.Duration) ([]byte, error) {
	var whole []byte
	state := ws.StateClientSide
	for {
		head, err := ws.ReadHeader(k.in)
		if err == nil {
			err = ws.CheckHeader(head, state)
		}
		if err == nil && int64(len(whole))+head.Length > mostFrame {
			err = errors.New("a message is too large")
		}
		var body []byte
		if err == nil {
			body = make([]byte, head.Length)
			_, err = io.ReadFull(k.in, body)
		}
		if err != nil {
			return nil, fmt.Errorf("read from Slack: %w", err)
		}
		if head.Masked {
			ws.Cipher(body, head.Mask, 0)
		}
		k.dead.Reset(quiet)
		switch head.OpCode {
		case ws.OpPing:
			if err := k.frame(ws.NewPongFrame(body)); err != nil {
				return nil, err
			}
			continue
		case ws.OpPong:
			continue
		case ws.OpClose:
			_ = k.frame(ws.NewCloseFrame(body[:min(len(body), 2)]))
			return nil, fmt.Errorf("read from Slack: %w", io.EOF)
		}
		whole = append(whole, body...)
		if head.Fin {
			return whole, nil
		}
		state = state.Set(ws.StateFragmented)
	}
}
