package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"forge/internal/work"
)

const (
	headTime    = 30 * time.Second // for what a client wants
	connectTime = 30 * time.Second
	headBytes   = 1 << 20  // of a request without its body
	helloBytes  = 16 << 10 // of the first message of TLS
	mostOpen    = 256      // connections at a time; more wait
)

// Proxy judges what programs want to reach, and carries it.
type Proxy struct {
	Rules Rules
	// Lookup and Dial default to the machine's own; Upstream is the proxy that
	// this machine itself has to use for a target, nil = none.
	Lookup   func(ctx context.Context, host string) ([]netip.Addr, error)
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
	Upstream func(target *url.URL) (*url.URL, error)

	uses uses
}

// New returns a proxy for the words of the settings. A word that is none lets
// nothing through: it was refused where the settings were read.
func New(words []string) *Proxy {
	p := &Proxy{Upstream: func(target *url.URL) (*url.URL, error) {
		return http.ProxyFromEnvironment(&http.Request{URL: target})
	}}
	for _, word := range words {
		if r, err := ParseRule(word); err == nil {
			p.Rules = append(p.Rules, r)
		}
	}
	return p
}

// Uses are the hosts that were asked for since the proxy was made.
func (p *Proxy) Uses() []work.HostUse { return p.uses.list() }

// Serve carries connections until the listener is closed and all are over, or ctx
// is. It closes the listener.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer func() { _ = l.Close() }()

	slots := make(chan struct{}, mostOpen)
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			defer func() { _ = conn.Close() }()
			end := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer end()
			p.carry(ctx, conn)
		})
	}
}

// carry serves one connection of a client.
func (p *Proxy) carry(ctx context.Context, conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(headTime))
	from := &bounded{from: conn, left: headBytes}
	in := bufio.NewReaderSize(from, helloBytes)
	first, err := in.Peek(1)
	if err != nil {
		return
	}
	if first[0] == socksVersion {
		from.left = -1
		p.socks(ctx, conn, in)
		return
	}
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	from.left = -1
	if req.Method == http.MethodConnect {
		p.connect(ctx, conn, in, req)
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	p.plain(ctx, conn, req)
}

// bounded reads no more than left bytes; less than none is no bound.
type bounded struct {
	from io.Reader
	left int64
}

func (b *bounded) Read(buf []byte) (int, error) {
	if b.left < 0 {
		return b.from.Read(buf)
	}
	if b.left == 0 {
		return 0, errors.New("the head is too long")
	}
	n, err := b.from.Read(buf[:min(int64(len(buf)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (p *Proxy) connect(ctx context.Context, conn net.Conn, in *bufio.Reader, req *http.Request) {
	t, err := readTarget(req.Host, 0)
	if err != nil {
		answer(conn, http.StatusBadRequest, "cannot read the address "+req.Host+": "+err.Error())
		return
	}
	out, err := p.open(ctx, t)
	if err != nil {
		answer(conn, statusOf(err), err.Error())
		return
	}
	defer func() { _ = out.Close() }()
	if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	p.tunnel(ctx, conn, in, out, t)
}

// plain carries one request without TLS; the connection is over with it.
func (p *Proxy) plain(ctx context.Context, conn net.Conn, req *http.Request) {
	if req.URL.Scheme != "http" || req.URL.Host == "" || req.URL.User != nil {
		answer(conn, http.StatusBadRequest, "this proxy takes requests for http:// and CONNECT")
		return
	}
	t, err := readTarget(req.URL.Host, 80)
	if err != nil {
		answer(conn, http.StatusBadRequest, "cannot read the address "+req.URL.Host+": "+err.Error())
		return
	}
	out, err := p.open(ctx, t)
	if err != nil {
		answer(conn, statusOf(err), err.Error())
		return
	}
	defer func() { _ = out.Close() }()
	end := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer end()

	// The site is the one that was judged, whatever a header says.
	req.Host = req.URL.Host
	for _, name := range []string{"Proxy-Connection", "Proxy-Authorization", "Upgrade", "Expect"} {
		req.Header.Del(name)
	}
	req.Header.Set("Connection", "close")
	req.Close = true
	counted := p.uses.counted(out, t)
	if err := req.Write(counted); err != nil {
		answer(conn, http.StatusBadGateway, err.Error())
		return
	}
	resp, err := http.ReadResponse(bufio.NewReader(counted), req)
	if err != nil {
		answer(conn, http.StatusBadGateway, err.Error())
		return
	}
	defer func() { _ = resp.Body.Close() }()
	resp.Close = true
	_ = resp.Write(conn)
}

// errRefused says that no rule names what was asked for.
type errRefused struct{ why string }

func (e *errRefused) Error() string { return e.why }

func statusOf(err error) int {
	if _, ok := errors.AsType[*errRefused](err); ok {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

// open connects to a target that the rules let through.
func (p *Proxy) open(ctx context.Context, t target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	if !p.Rules.may(t) {
		return nil, p.refuse(t, fmt.Sprintf("%s is not among the hosts of sandbox.network", t))
	}
	if via := p.upstream(t); via != nil && t.host != "" {
		conn, err := p.through(ctx, via, t)
		p.uses.note(t, true)
		return conn, err
	}
	addrs := []netip.Addr{t.addr}
	if t.host != "" {
		var err error
		if addrs, err = p.lookup(ctx, t.host); err != nil {
			p.uses.note(t, true)
			return nil, err
		}
	}
	// One address that is near is enough to refuse all: a name server that mixes
	// them plays for time.
	for _, addr := range addrs {
		if t.host != "" && !outside(addr) && !p.Rules.address(addr.Unmap(), t.port) {
			return nil, p.refuse(t, fmt.Sprintf("%s leads to %s, which is not outside: name that address in sandbox.network as well", t, addr))
		}
	}
	p.uses.note(t, true)
	var last error
	for _, addr := range addrs {
		conn, err := p.dial(ctx, join(addr, t.port))
		if err == nil {
			return conn, nil
		}
		last = err
	}
	if last == nil {
		last = fmt.Errorf("%s has no address", t)
	}
	return nil, last
}

func (p *Proxy) refuse(t target, why string) error {
	p.uses.note(t, false)
	return &errRefused{why}
}

func (p *Proxy) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if p.Lookup != nil {
		return p.Lookup(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func (p *Proxy) dial(ctx context.Context, address string) (net.Conn, error) {
	if p.Dial != nil {
		return p.Dial(ctx, "tcp", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// upstream is the proxy of this machine for a target.
func (p *Proxy) upstream(t target) *url.URL {
	if p.Upstream == nil {
		return nil
	}
	scheme := "https"
	if t.port == 80 {
		scheme = "http"
	}
	via, err := p.Upstream(&url.URL{Scheme: scheme, Host: t.String()})
	if err != nil || via == nil || via.Scheme != "http" {
		return nil
	}
	return via
}

// through asks the machine's own proxy for a tunnel.
func (p *Proxy) through(ctx context.Context, via *url.URL, t target) (net.Conn, error) {
	at := via.Host
	if via.Port() == "" {
		at = net.JoinHostPort(via.Hostname(), "80")
	}
	conn, err := p.dial(ctx, at)
	if err != nil {
		return nil, err
	}
	end := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer end()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: t.String()}, Host: t.String(), Header: http.Header{}}
	if u := via.User; u != nil {
		password, _ := u.Password()
		basic := http.Request{Header: http.Header{}}
		basic.SetBasicAuth(u.Username(), password)
		req.Header.Set("Proxy-Authorization", basic.Header.Get("Authorization"))
	}
	if err := req.Write(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, req)
	opened := err == nil && resp.StatusCode == http.StatusOK && in.Buffered() == 0
	if !opened {
		_ = conn.Close()
	}
	if err == nil {
		_ = resp.Body.Close() // that of an opened way is empty
	}
	if !opened {
		return nil, errors.Join(err, fmt.Errorf("the proxy %s did not open a way to %s", via.Redacted(), t))
	}
	return conn, nil
}

// tunnel carries both ways until both are over, or ctx is: a host that never hangs
// up would be waited for after the program has ended. What begins as TLS has to
// name the host that was asked for.
func (p *Proxy) tunnel(ctx context.Context, conn net.Conn, in *bufio.Reader, out net.Conn, t target) {
	end := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer end()
	_ = conn.SetReadDeadline(time.Now().Add(headTime))
	if t.host != "" {
		if err := sayHello(in, t); err != nil {
			p.uses.note(t, false)
			return
		}
	}
	_ = conn.SetReadDeadline(time.Time{})
	counted := p.uses.counted(out, t)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(counted, in)
		closeWrite(out)
	})
	_, _ = io.Copy(conn, counted)
	closeWrite(conn)
	both.Wait()
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}

func answer(conn net.Conn, status int, why string) {
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status, http.StatusText(status), len(why)+1, why)
}
