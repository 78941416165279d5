package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"forge/internal/work"
)

func rules(t *testing.T, words ...string) Rules {
	t.Helper()
	r, err := ParseRules(words)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRules(t *testing.T) {
	t.Parallel()
	r := rules(t, "Packages.Example.com", "*.example.org:443", "192.0.2.7:8080", "[2001:db8::1]", "127.0.0.1:11434")
	for target, want := range map[string]bool{
		"packages.example.com:443":    true,
		"PACKAGES.example.com.:80":    true,
		"packages.example.com:8443":   false,
		"a.packages.example.com:443":  false,
		"xpackages.example.com:443":   false,
		"packages.example.com.evil:1": false,
		"a.example.org:443":           true,
		"a.b.example.org:443":         true,
		"example.org:443":             false,
		"aexample.org:443":            false,
		"a.example.org:80":            false,
		"192.0.2.7:8080":              true,
		"[::ffff:192.0.2.7]:8080":     true,
		"192.0.2.8:8080":              false,
		"192.0.2.7:443":               false,
		"[2001:db8::1]:443":           true,
		"[2001:0db8:0:0::1]:80":       true,
		"127.0.0.1:11434":             true,
		"127.0.0.1:443":               false,
		"localhost:11434":             false,
	} {
		got, err := readTarget(target, 0)
		if err != nil || r.may(got) != want {
			t.Errorf("%s: %t, %v, want %t", target, r.may(got), err, want)
		}
	}
	for _, wrong := range []string{"", "*", "*.", "a b", "http://example.com", "example.com/path", "example.com:0", "example.com:99999", "example.com:x", "a..b", "*.*.org", "2130706433", "127.1", "0x7f.1", "[::1", "fe80::1%eth0", "user@example.com", "exämple.com"} {
		if r, err := ParseRule(wrong); err == nil {
			t.Errorf("%q is read as %s", wrong, r)
		}
	}
	if _, err := ParseRules([]string{"a b", "ok.example", "c d"}); err == nil || !strings.Contains(err.Error(), "a b") || !strings.Contains(err.Error(), "c d") {
		t.Errorf("not all that is wrong is said: %v", err)
	}
}

// What a rule covers lets nothing through that the rule does not.
func TestCoversLetsNothingMore(t *testing.T) {
	t.Parallel()
	word := rapid.Custom(func(t *rapid.T) string {
		host := rapid.SampledFrom([]string{"a.org", "b.a.org", "*.a.org", "*.b.a.org", "c.b.a.org", "192.0.2.1", "[2001:db8::1]"}).Draw(t, "host")
		return host + rapid.SampledFrom([]string{"", ":443", ":80", ":8080"}).Draw(t, "port")
	})
	rapid.Check(t, func(t *rapid.T) {
		wide, err1 := ParseRule(word.Draw(t, "wide"))
		narrow, err2 := ParseRule(word.Draw(t, "narrow"))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		again, err := ParseRule(narrow.String())
		if err != nil || again != narrow {
			t.Fatalf("%s is read back as %s, %v", narrow, again, err)
		}
		host := rapid.SampledFrom([]string{"a.org", "b.a.org", "c.b.a.org", "xa.org", "192.0.2.1", "[2001:db8::1]"}).Draw(t, "to")
		to, err := readTarget(host+rapid.SampledFrom([]string{":443", ":80", ":8080"}).Draw(t, "on"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if wide.Covers(narrow) && (Rules{narrow}).may(to) && !(Rules{wide}).may(to) {
			t.Fatalf("%s is said to cover %s, which alone lets %s through", wide, narrow, to)
		}
	})
}

func TestOutside(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "fe80::1": false, "fd00::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "::": false, "192.0.0.8": false, "198.18.0.1": false,
	} {
		if got := outside(netip.MustParseAddr(s)); got != want {
			t.Errorf("%s: %t, want %t", s, got, want)
		}
	}
}

// served is a proxy on loopback whose names all lead to one server.
func served(t *testing.T, p *Proxy, to string) string {
	t.Helper()
	if p.Lookup == nil {
		p.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		}
	}
	p.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, to)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Serve(ctx, l)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return l.Addr().String()
}

func clientBy(proxy string, trust *httptest.Server) *http.Client {
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}), DisableKeepAlives: true}}
	if trust != nil {
		config := trust.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		config.ServerName = "" // as asked for
		config.InsecureSkipVerify = true
		client.Transport.(*http.Transport).TLSClientConfig = config
	}
	return client
}

func TestProxy(t *testing.T) {
	t.Parallel()
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "host %s, %s", r.Host, r.URL) })
	plain, secure := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	defer plain.Close()
	defer secure.Close()
	at := func(s *httptest.Server) string {
		return strings.TrimPrefix(strings.TrimPrefix(s.URL, "http://"), "https://")
	}
	get := func(c *http.Client, url string) string {
		resp, err := c.Get(url)
		if err != nil {
			return "error: " + err.Error()
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return fmt.Sprintf("%d %s", resp.StatusCode, b)
	}

	p := &Proxy{Rules: rules(t, "ok.example", "*.sub.example:443")}
	byPlain := clientBy(served(t, p, at(plain)), nil)
	if got := get(byPlain, "http://ok.example/a?b"); got != "200 host ok.example, /a?b" {
		t.Error(got)
	}
	if got := get(byPlain, "http://other.example/"); got != "403 other.example:80 is not among the hosts of sandbox.network\n" {
		t.Error(got)
	}
	if got := get(byPlain, "http://169.254.169.254/latest"); !strings.HasPrefix(got, "403") {
		t.Error(got)
	}

	q := &Proxy{Rules: p.Rules}
	bySecure := clientBy(served(t, q, at(secure)), secure)
	if got := get(bySecure, "https://a.sub.example/x"); got != "200 host a.sub.example, /x" {
		t.Error(got)
	}
	if got := get(bySecure, "https://sub.example/x"); !strings.Contains(got, "Forbidden") {
		t.Error(got)
	}

	uses := map[string]work.HostUse{}
	for _, u := range append(p.Uses(), q.Uses()...) {
		uses[u.Host] = u
	}
	for host, want := range map[string]string{"ok.example:80": "0 1", "other.example:80": "1 0", "a.sub.example:443": "0 1", "sub.example:443": "1 0", "169.254.169.254:80": "1 0"} {
		if u := uses[host]; fmt.Sprintf("%d %d", u.Refused, u.Opened) != want || (u.Opened > 0) != (u.Sent > 0 && u.Got > 0) {
			t.Errorf("%s: %+v, want %s", host, u, want)
		}
	}
	if first := p.Uses()[0]; first.Refused == 0 {
		t.Errorf("what was refused is not first: %+v", p.Uses())
	}
}

// speak sends bytes to the proxy and returns what came back until the end.
func speak(t *testing.T, proxy, said string) string {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, said)
	_ = conn.(*net.TCPConn).CloseWrite()
	b, _ := io.ReadAll(conn)
	return string(b)
}

// hello is the first message of TLS to a name.
func hello(name string) string {
	var out bytes.Buffer
	_ = tls.Client(&recorder{w: &out}, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	return out.String()
}

// recorder keeps what is written.
type recorder struct {
	replay
	w io.Writer
}

func (r *recorder) Write(b []byte) (int, error) { return r.w.Write(b) }

// Ways out that a program may try, each against a server that counts what comes.
func TestWaysOut(t *testing.T) {
	t.Parallel()
	socks := func(kind byte, host string, port uint16) string {
		s := "\x05\x01\x00\x05\x01\x00" + string(rune(kind))
		if kind == socksName {
			s += string(rune(len(host)))
		}
		return s + host + string([]byte{byte(port >> 8), byte(port)})
	}
	for _, c := range []struct {
		name, said string
		leads      string // where names lead; "" = outside
	}{
		{"another name", "CONNECT evil.example:443 HTTP/1.1\r\n\r\n" + hello("evil.example"), ""},
		{"a name below", "CONNECT a.ok.example:443 HTTP/1.1\r\n\r\n" + hello("a.ok.example"), ""},
		{"a name that ends like it", "CONNECT evilok.example:443 HTTP/1.1\r\n\r\n" + hello("evilok.example"), ""},
		{"a name that begins like it", "CONNECT ok.example.evil:443 HTTP/1.1\r\n\r\n" + hello("ok.example.evil"), ""},
		{"another port", "CONNECT ok.example:22 HTTP/1.1\r\n\r\nSSH-2.0", ""},
		{"a name before an at sign", "CONNECT ok.example@evil.example:443 HTTP/1.1\r\n\r\n" + hello("evil.example"), ""},
		{"a name before a slash", "CONNECT ok.example/@evil.example:443 HTTP/1.1\r\n\r\n" + hello("evil.example"), ""},
		{"two ports", "CONNECT ok.example:443:22 HTTP/1.1\r\n\r\nx", ""},
		{"a null byte", "CONNECT ok.example\x00.evil.example:443 HTTP/1.1\r\n\r\nx", ""},
		{"the name of another in TLS", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("evil.example"), ""},
		{"no name in TLS", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello(""), ""},
		{"no TLS on its port", "CONNECT ok.example:443 HTTP/1.1\r\n\r\nGET /secret HTTP/1.1\r\nHost: ok.example\r\n\r\n", ""},
		{"SSH on the port of TLS", "CONNECT ok.example:443 HTTP/1.1\r\n\r\nSSH-2.0-x\r\n", ""},
		{"TLS that is cut", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("ok.example")[:40], ""},
		{"TLS that says garbage", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01\x00\x04abcdsecret", ""},
		{"a name that leads to this machine", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), "127.0.0.1"},
		{"a name that leads to this machine by IPv6", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), "::1"},
		{"a name that leads to a private network", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), "10.0.0.1"},
		{"a name that leads to the cloud's own data", "CONNECT ok.example:80 HTTP/1.1\r\n\r\nGET / HTTP/1.0\r\n\r\n", "169.254.169.254"},
		{"a name that leads to IPv4 inside of IPv6", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), "::ffff:127.0.0.1"},
		{"a name that leads both ways", "CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), "8.8.8.8 127.0.0.1"},
		{"an address", "CONNECT 8.8.8.8:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), ""},
		{"this machine", "CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), ""},
		{"this machine by its name", "CONNECT localhost:443 HTTP/1.1\r\n\r\n" + hello("localhost"), ""},
		{"this machine as a number", "CONNECT 2130706433:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), ""},
		{"this machine in octal", "CONNECT 0177.0.0.1:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), ""},
		{"this machine in short", "CONNECT 127.1:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), ""},
		{"this machine by IPv6", "CONNECT [::1]:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), ""},
		{"this machine by IPv4 inside of IPv6", "CONNECT [::ffff:127.0.0.1]:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), ""},
		{"an address of a link", "CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n" + hello("ok.example"), ""},
		{"plain: another name", "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", ""},
		{"plain: another name behind a good header", "GET http://evil.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n", ""},
		{"plain: a user in the address", "GET http://ok.example:80@evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n", ""},
		{"plain: no name in the address", "GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n", ""},
		{"plain: another kind of address", "GET ftp://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n", ""},
		{"plain: the cloud's own data", "GET http://169.254.169.254/ HTTP/1.1\r\nHost: ok.example\r\n\r\n", ""},
		{"plain: a second request behind the first", "GET http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n", ""},
		{"socks: another name", socks(socksName, "evil.example", 443) + hello("evil.example"), ""},
		{"socks: an address as a name", socks(socksName, "127.0.0.1", 443) + hello("ok.example"), ""},
		{"socks: a number as a name", socks(socksName, "2130706433", 443) + hello("ok.example"), ""},
		{"socks: an address", socks(socksIPv4, "\x7f\x00\x00\x01", 443) + hello("ok.example"), ""},
		{"socks: an address by IPv6", socks(socksIPv6, strings.Repeat("\x00", 15)+"\x01", 443) + hello("ok.example"), ""},
		{"socks: the name of another in TLS", socks(socksName, "ok.example", 443) + hello("evil.example"), ""},
		{"socks: to be called back", "\x05\x01\x00\x05\x02\x00\x03\x0aok.example\x01\xbb", ""},
		{"socks: datagrams", "\x05\x01\x00\x05\x03\x00\x03\x0aok.example\x01\xbb", ""},
		{"socks 4", "\x04\x01\x01\xbb\x7f\x00\x00\x01\x00", ""},
		{"garbage", "\x00\x01\x02secret\r\n\r\n", ""},
		{"a head without end", "GET http://ok.example/ HTTP/1.1\r\nX: " + strings.Repeat("x", 2<<20), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan []byte, 64)
			go func() {
				defer close(got)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					b, _ := io.ReadAll(conn)
					_ = conn.Close()
					got <- b
				}
			}()
			p := &Proxy{Rules: rules(t, "ok.example", "ok.example:8080")}
			if c.leads != "" {
				p.Lookup = func(context.Context, string) (all []netip.Addr, err error) {
					for word := range strings.FieldsSeq(c.leads) {
						all = append(all, netip.MustParseAddr(word))
					}
					return all, nil
				}
			}
			speak(t, served(t, p, l.Addr().String()), c.said)
			_ = l.Close()
			var bytes int
			for b := range got {
				bytes += len(b)
			}
			if bytes > 0 {
				t.Errorf("%d bytes came out", bytes)
			}
			if uses := p.Uses(); slices.ContainsFunc(uses, func(u work.HostUse) bool { return u.Sent > 0 }) {
				t.Errorf("counted as sent: %+v", uses)
			}
		})
	}
}

// A first message of TLS may come in pieces and in several records.
func TestHelloInRecords(t *testing.T) {
	t.Parallel()
	whole := hello("ok.example")
	body := whole[5:]
	var pieces string
	for len(body) > 0 {
		n := min(50, len(body))
		pieces += whole[:3] + string([]byte{byte(n >> 8), byte(n)}) + body[:n]
		body = body[n:]
	}
	for what, said := range map[string]string{"whole": whole, "in records": pieces} {
		in := bufio.NewReaderSize(io.MultiReader(strings.NewReader(said[:20]), strings.NewReader(said[20:])), helloBytes)
		if err := sayHello(in, target{host: "ok.example", port: 443}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		rest, _ := io.ReadAll(in)
		if string(rest) != said {
			t.Errorf("%s: %d bytes of %d are left", what, len(rest), len(said))
		}
	}
}

// The machine's own proxy carries what the rules let through.
func TestUpstream(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked <- fmt.Sprintf("%s %s %s%s %s", r.Method, r.Host, user, password, r.Header.Get("Proxy-Authorization"))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer up.Close()
	via, _ := url.Parse("http://me:secret@" + strings.TrimPrefix(up.URL, "http://"))
	p := &Proxy{Rules: rules(t, "ok.example"), Upstream: func(*url.URL) (*url.URL, error) { return via, nil }}
	proxy := served(t, p, via.Host)
	if got := speak(t, proxy, "CONNECT ok.example:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 502") || strings.Contains(got, "secret") {
		t.Error(got)
	}
	if got := <-asked; got != "CONNECT ok.example:443  Basic bWU6c2VjcmV0" {
		t.Error(got)
	}
	if got := speak(t, proxy, "CONNECT evil.example:443 HTTP/1.1\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403") {
		t.Error(got)
	}
}

// A program may end while a host keeps its connection open: nothing waits for that.
func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	quiet, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	taken := make(chan net.Conn, 8)
	go func() {
		for {
			conn, err := quiet.Accept()
			if err != nil {
				return
			}
			taken <- conn
		}
	}()
	for what, said := range map[string]string{
		"CONNECT": "CONNECT ok.example:8080 HTTP/1.1\r\n\r\nhello",
		"plain":   "GET http://ok.example:8080/ HTTP/1.1\r\nHost: ok.example\r\n\r\n",
		"socks":   "\x05\x01\x00\x05\x01\x00\x03\x0aok.example\x1f\x90hello",
	} {
		p := &Proxy{Rules: rules(t, "ok.example:8080")}
		p.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		}
		p.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, quiet.Addr().String())
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan struct{})
		go func() {
			defer close(served)
			p.Serve(ctx, l)
		}()
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(client, said); err != nil {
			t.Fatal(err)
		}
		far := <-taken
		cancel()
		select {
		case <-served:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: it is served on", what)
		}
		_, _ = far.Close(), client.Close()
	}
}

func FuzzCarry(f *testing.F) {
	f.Add("CONNECT ok.example:443 HTTP/1.1\r\n\r\n" + hello("ok.example"))
	f.Add("GET http://ok.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	f.Add("\x05\x01\x00\x05\x01\x00\x03\x0aok.example\x01\xbb")
	f.Fuzz(func(t *testing.T, said string) {
		p := &Proxy{Rules: rules(t, "ok.example")}
		p.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
			if host != "ok.example" {
				t.Errorf("%q was looked up", host)
			}
			return nil, io.EOF
		}
		p.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			t.Errorf("%s was dialled", address)
			return nil, io.EOF
		}
		client, server := net.Pipe()
		go func() {
			_, _ = io.WriteString(client, said)
			_ = client.Close()
		}()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		p.carry(t.Context(), server)
		_ = server.Close()
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
