package hosttest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Proxy stands between Forge and a host, and misbehaves on demand.
type Proxy struct {
	URL string

	mu    sync.Mutex
	fault func(*http.Request) Fault
	seen  []string
}

// Fault is what happens to one request; the zero value is nothing.
type Fault struct {
	Status int           // answered in place of the host
	After  bool          // Status or Cut come after the host has done its work
	Cut    bool          // the connection ends without an answer
	Delay  time.Duration // before anything else
	Then   func()        // called before the answer, nil = nothing is
}

// StartProxy stands before the server at target until the test ends.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	u, err := url.Parse(target)
	check(t, err)
	p := &Proxy{}
	forward := httputil.NewSingleHostReverseProxy(u)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, req.Method+" "+req.URL.RequestURI())
		var f Fault
		if p.fault != nil {
			f = p.fault(req)
		}
		p.mu.Unlock()
		time.Sleep(f.Delay)
		if f.After {
			forward.ServeHTTP(httptest.NewRecorder(), req)
		}
		if f.Then != nil {
			f.Then()
		}
		switch {
		case f.Cut:
			panic(http.ErrAbortHandler)
		case f.Status != 0:
			http.Error(w, "the proxy says so", f.Status)
		default:
			forward.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Misbehave asks f about every request from now on; nil is no faults.
func (p *Proxy) Misbehave(f func(*http.Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// Seen are the requests since the last call.
func (p *Proxy) Seen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.seen
	p.seen = nil
	return out
}
