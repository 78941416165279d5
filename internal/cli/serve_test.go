package cli

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/factory"
	pages "forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/config"
	"forge/internal/pace"
	"forge/internal/server"
	"forge/internal/work"
	"forge/internal/worker"
)

// pems writes a certificate for 127.0.0.1 and its key, and returns who trusts it.
func (w *world) pems() (cert, key string, trust *x509.CertPool) {
	w.t.Helper()
	some := httptest.NewTLSServer(nil) // it has just such a certificate
	defer some.Close()
	private, err := x509.MarshalPKCS8PrivateKey(some.TLS.Certificates[0].PrivateKey)
	if err != nil {
		w.t.Fatal(err)
	}
	cert, key = filepath.Join(w.home, "cert.pem"), filepath.Join(w.home, "key.pem")
	w.write(cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: some.Certificate().Raw})))
	w.write(key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	trust = x509.NewCertPool()
	trust.AddCert(some.Certificate())
	return cert, key, trust
}

// server is the user's [server].
func (w *world) server(lines string) {
	w.t.Helper()
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n[server]\n"+lines+"\n")
}

// With a certificate the server speaks https and nothing else: its own address,
// its cookies and headers say so.
func TestTheFactorySpeaksTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	cert, key, trust := w.pems()
	w.server(fmt.Sprintf("tls_cert = %q\ntls_key = %q\n", cert, key))
	run := w.begin("factory", "--listen", "127.0.0.1:0")
	link := ""
	w.eventually("the server says where it is", func() bool {
		if end := w.forge("factory", "url"); end.code == exitDone {
			link = strings.TrimSpace(end.stdout)
		}
		return link != ""
	})
	if !strings.HasPrefix(link, "https://127.0.0.1:") {
		t.Fatalf("the link is %s", link)
	}
	client := func(most uint16, h2 bool) *http.Client {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS10, MaxVersion: most}, ForceAttemptHTTP2: h2}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	got, err := client(0, true).Get(link)
	if err != nil {
		t.Fatalf("%v\nserver: %s", err, run.stderr)
	}
	page, err := io.ReadAll(got.Body)
	_ = got.Body.Close()
	// 127.0.0.1 is a name of this machine, whose cookies go to all its ports:
	// the page's own token comes beside it.
	cookie := got.Header.Get("Set-Cookie")
	if err != nil || got.StatusCode != 200 || !strings.Contains(string(page), "forge-token") || got.ProtoMajor != 2 || !strings.HasPrefix(cookie, "__Host-forge=") || !strings.Contains(cookie, "Secure") || got.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s %s, cookie %q, headers %v", got.Proto, got.Status, cookie, got.Header)
	}
	if got, err := client(tls.VersionTLS11, false).Get(link); err == nil {
		_ = got.Body.Close()
		t.Error("it speaks TLS 1.1")
	}
	if got, err := client(0, false).Get(strings.Replace(link, "https", "http", 1)); err == nil {
		if _ = got.Body.Close(); got.StatusCode != 400 {
			t.Errorf("without https: %s", got.Status)
		}
	}
}

// What would be reached by others is not served without https and users, nor
// with a certificate that is none; the reason and the way out are said.
func TestNoServerThatIsNotSafe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	cert, key, _ := w.pems()
	bad := filepath.Join(w.home, "bad.pem")
	w.write(bad, "no certificate\n")
	for name, c := range map[string]struct {
		server, listen string
		says           []string
	}{
		"every address":        {"", "0.0.0.0:0", []string{"--listen", "without https", "nobody has a token", "forge factory user add"}},
		"every address, TLS":   {fmt.Sprintf("tls_cert = %q\ntls_key = %q", cert, key), ":0", []string{"nobody has a token"}},
		"half a certificate":   {fmt.Sprintf("tls_cert = %q", cert), "127.0.0.1:0", []string{"config.toml:4", "belong together"}},
		"no certificate":       {fmt.Sprintf("tls_cert = %q\ntls_key = %q", bad, key), "127.0.0.1:0", []string{"read the server's certificate"}},
		"no file":              {fmt.Sprintf("tls_cert = %q\ntls_key = %q", cert, bad+"x"), "127.0.0.1:0", []string{bad + "x"}},
		"a proxy by http":      {"behind_proxy = true\npublic_url = \"http://forge.example.com\"", "127.0.0.1:0", []string{"config.toml:5", "without https"}},
		"a proxy without name": {"behind_proxy = true", "127.0.0.1:0", []string{"public_url is not"}},
	} {
		t.Log(name)
		w.server(c.server)
		w.forge("factory", "--once", "--listen", c.listen).want(exitUsage).warns(c.says...)
	}
}

// An address that is taken and that somebody chose is an error that says so.
func TestAnAddressThatIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	at := taken.Addr().String()
	w.forge("factory", "--once", "--listen", at).want(exitUsage).warns("listen on "+at, "address already in use", ":0 takes any port")
}

// opened is the server of a world that is not started yet, with its tokens.
func (w *world) opened(set config.WebServer) (*webServer, string) {
	w.t.Helper()
	a := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now, log: log.New(io.Discard)}
	limit := factory.NewConcurrency(1)
	workers, err := worker.OpenAll(w.t.Context(), a.env(), []string{w.root}, limit)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		for _, s := range workers {
			s.Close()
		}
	})
	keys, err := server.Keys(a.env())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := keys.PutUser("bot", pages.RoleAdmin, pages.AnyProject); err != nil {
		w.t.Fatal(err)
	}
	token, err := keys.NewToken("bot")
	if err != nil {
		w.t.Fatal(err)
	}
	set.Listen, set.Loopback, set.Hosts = "127.0.0.1:0", true, []string{"127.0.0.1"}
	s, err := a.openWeb(w.t.Context(), workers, limit, set, keys)
	if err != nil {
		w.t.Fatal(err)
	}
	return s, token
}

// brief makes a server's limits a hundredth of what they are: there has to be
// one of each.
func (s *webServer) brief(t *testing.T) {
	t.Helper()
	for _, d := range []*time.Duration{&s.HTTP.ReadHeaderTimeout, &s.HTTP.ReadTimeout, &s.HTTP.WriteTimeout, &s.HTTP.IdleTimeout} {
		if *d /= 100; *d <= 0 {
			t.Fatalf("a limit is missing: %+v", s.HTTP)
		}
	}
	if s.HTTP.MaxHeaderBytes <= 0 {
		t.Fatal("a request's head may be of any size")
	}
}

func (s *webServer) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	end, err := s.Start(ctx)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		end()
	})
}

// A client that says nothing, or not all of it, is let go.
func TestSilentConnectionsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	s, _ := w.opened(config.WebServer{})
	s.brief(t)
	s.begin(t)
	for name, words := range map[string]string{
		"nothing":         "",
		"half a head":     "GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n",
		"half a body":     "POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\ntoken=",
		"no next one":     "GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"a head for ever": "GET /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 2*server.MostHeader) + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(30 * time.Second))
			_, _ = io.WriteString(c, words) // it may be let go meanwhile
			answer, err := io.ReadAll(c)
			if nerr, ok := errors.AsType[net.Error](err); ok && nerr.Timeout() {
				t.Error("the connection is still open")
			}
			if name == "a head for ever" && !strings.Contains(string(answer), "431") {
				t.Errorf("it says %s", answer)
			}
		})
	}
}

// heldTo is until when answers have to be written, by their addresses.
type heldTo struct {
	sync.Mutex
	of map[string]time.Time
}

func (h *heldTo) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(heldWriter{w, h, r.URL.RequestURI()}, r)
	})
}

// none says that a limit was set on an answer, and lifted again.
func (h *heldTo) none(uri string) bool {
	h.Lock()
	defer h.Unlock()
	until, set := h.of[uri]
	return set && until.IsZero()
}

type heldWriter struct {
	http.ResponseWriter
	limits *heldTo
	uri    string
}

func (w heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w heldWriter) SetWriteDeadline(until time.Time) error {
	w.limits.Lock()
	w.limits.of[w.uri] = until
	w.limits.Unlock()
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(until)
}

// streamLimit is each limit of a server whose streams outlive them.
const streamLimit = 300 * time.Millisecond

// A stream lives on for as long as somebody listens, whatever the limits on
// answers that end; by either kind of HTTP.
func TestStreamsOutliveTheLimits(t *testing.T) {
	pace.Slow(t, "streams are open for longer than the limits of what is no stream")
	t.Parallel()
	w := newWorld(t, "", "true")
	cert, key, trust := w.pems()
	for _, secure := range []bool{false, true} {
		set := config.WebServer{}
		if secure {
			set.TLSCert, set.TLSKey = cert, key
		}
		s, token := w.opened(set)
		s.brief(t)
		s.HTTP.ReadTimeout, s.HTTP.WriteTimeout, s.HTTP.IdleTimeout = streamLimit, streamLimit, streamLimit
		limits := &heldTo{of: map[string]time.Time{}}
		s.HTTP.Handler = limits.around(s.HTTP.Handler)
		s.begin(t)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		id := s.project(t).ID
		open := func(path string) (*bufio.Scanner, string) {
			r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			var a *http.Response
			// On a busy machine the handshake alone may take longer than the limit.
			w.eventually("an answer on "+path, func() bool {
				got, err := (&http.Client{Transport: transport}).Do(r)
				if err == nil {
					t.Cleanup(func() { _ = got.Body.Close() })
					a = got
				}
				return err == nil
			})
			if a.StatusCode != 200 || (a.ProtoMajor == 2) != secure {
				t.Fatalf("%s: %s %s", path, a.Proto, a.Status)
			}
			// By HTTP/2 a limit that is left over would end it while it is silent.
			w.eventually("no limit is left on "+path, func() bool { return limits.none(path) })
			return bufio.NewScanner(a.Body), a.Proto + " " + path
		}
		live, liveName := open("/live?topic=" + pages.BoardTopic(id))
		events, eventsName := open(api.Prefix + "/events?project=" + id)
		time.Sleep(3 * streamLimit)
		if _, err := s.project(t).Board.Add(t.Context(), work.Issue{Title: "heard", Column: work.ColumnBacklog, Priority: work.PriorityNormal}, factory.Place{At: factory.Top}, factory.By{Name: "bot"}); err != nil {
			t.Fatal(err)
		}
		for name, in := range map[string]*bufio.Scanner{liveName: live, eventsName: events} {
			heard := false
			for !heard && in.Scan() {
				heard = strings.HasPrefix(in.Text(), "data: ")
			}
			if !heard {
				t.Errorf("%s ended before its limits' end: %v", name, in.Err())
			}
		}
	}
}

// Each of two servers takes back its own note, so that forge factory url finds
// the one that is left.
func TestTheNoteOfAnotherServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", "true")
	one, _ := w.opened(config.WebServer{})
	endOne, err := one.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two, _ := w.opened(config.WebServer{})
	endTwo, err := two.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	endOne()
	w.forge("factory", "url").want(exitDone).says(two.URL + "/sign-in?link=")
	endTwo()
	w.forge("factory", "url").want(exitUsage).warns("no server runs")
	if _, err := os.Stat(filepath.Join(config.ServerDir(w.env), "address")); err == nil {
		t.Error("the note is left")
	}
}

// project is the first project of a server.
func (s *webServer) project(t *testing.T) pages.Project {
	t.Helper()
	list, err := s.adds.Site.Projects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}
