package egress

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// tlsHandshake begins a record that holds the first message of TLS.
const tlsHandshake = 0x16

// sayHello looks at how a client begins, without taking it: where that is TLS,
// the name in it has to be the target's. On port 443 nothing else may begin.
func sayHello(in *bufio.Reader, t target) error {
	first, err := in.Peek(1)
	if errors.Is(err, io.EOF) {
		return nil // it says nothing
	}
	if err != nil {
		return err
	}
	if first[0] != tlsHandshake {
		if t.port == 443 {
			return errors.New("what is spoken on port 443 is no TLS")
		}
		return nil
	}
	name, err := helloName(in)
	if err != nil {
		return err
	}
	if strings.ToLower(strings.TrimSuffix(name, ".")) != t.host {
		return fmt.Errorf("TLS for %q, and the connection is for %s", name, t.host)
	}
	return nil
}

// helloName is the server's name in a first message of TLS that lies in as many
// records as the buffer has room for.
func helloName(in *bufio.Reader) (string, error) {
	for size := 0; ; {
		head, err := in.Peek(size + 5)
		if err != nil {
			return "", err
		}
		size += 5 + int(head[size+3])<<8 + int(head[size+4])
		data, err := in.Peek(min(size, in.Size()))
		if err != nil {
			return "", err
		}
		name, whole, err := readHello(data)
		if err != nil || whole {
			return name, err
		}
		if size >= in.Size() {
			return "", errors.New("the first message of TLS is too long")
		}
	}
}

var errSeen = errors.New("seen")

// readHello reads the name of a first message; whole is false where it is longer
// than data.
func readHello(data []byte) (name string, whole bool, err error) {
	var found *tls.ClientHelloInfo
	c := &replay{data: data}
	err = tls.Server(c, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		found = h
		return nil, errSeen
	}}).Handshake()
	switch {
	case found != nil:
		return found.ServerName, true, nil
	case c.short:
		return "", false, nil
	}
	return "", true, fmt.Errorf("read the first message of TLS: %w", err)
}

// replay is a connection that says data and hears nothing.
type replay struct {
	data  []byte
	short bool
}

func (r *replay) Read(b []byte) (int, error) {
	if len(r.data) == 0 {
		r.short = true
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(b, r.data)
	r.data = r.data[n:]
	return n, nil
}

func (*replay) Write(b []byte) (int, error)      { return len(b), nil }
func (*replay) Close() error                     { return nil }
func (*replay) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*replay) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*replay) SetDeadline(time.Time) error      { return nil }
func (*replay) SetReadDeadline(time.Time) error  { return nil }
func (*replay) SetWriteDeadline(time.Time) error { return nil }
