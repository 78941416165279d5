//go:build real

package machine

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/work"
)

// wire is the way from one machine to a server, which can be cut: then nothing passes,
// and nothing is closed, as where a network falls apart.
type wire struct {
	at   string
	mu   sync.Mutex
	heal chan struct{} // closed = it is whole
}

func newWire(t *testing.T, server string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{at: l.Addr().String(), heal: make(chan struct{})}
	close(w.heal)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", server)
			if err != nil {
				_ = in.Close()
				continue
			}
			go w.carry(in, out)
			go w.carry(out, in)
		}
	}()
	return w
}

func (w *wire) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	text := make([]byte, 32<<10)
	for {
		n, err := from.Read(text)
		w.mu.Lock()
		whole := w.heal
		w.mu.Unlock()
		<-whole
		if _, werr := to.Write(text[:n]); err != nil || werr != nil {
			return
		}
	}
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heal = make(chan struct{})
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.heal)
}

// A worker is cut off from the server for longer than its silence is borne, while its
// agent works, and comes back. The worker beside it, on the same host, is asked what was
// left: it waits for what the agent comes to, and nothing is done twice.
func TestRealTemporalPartition(t *testing.T) {
	pace.Slow(t, "a worker is cut off for longer than its silence is borne")
	s := server(t)
	f := newFactory(t, s, "")
	if out, code := f.says("setup"); code != 0 {
		t.Fatalf("setup: exit code %d\n%s", code, out)
	}
	// The first try of the iteration lasts longer than the cut; each try says that it began.
	tries := filepath.Join(t.TempDir(), "tries")
	f.script(strings.Replace(script, `{ write = "one.txt", content = "1\n" }, { sleep = 0.5 }`,
		`{ write = "one.txt", content = "1\n" }, { run = "echo x >> `+tries+`" }, { sleep = 8 }`, 1))
	way := newWire(t, s.FrontendHostPort())
	f.configure("address = \"" + way.at + "\"\n")
	cutOff := f.worker()
	f.configure("address = \"" + s.FrontendHostPort() + "\"\n")
	began := false
	p, state, end, err := f.run(func(e work.Event) {
		if e.Kind != work.IterationStarted || began {
			return
		}
		began = true
		for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			if text, _ := os.ReadFile(tries); len(text) > 0 {
				break
			}
		}
		way.cut()
		f.worker()
		time.AfterFunc(11*time.Second, way.mend) // quick's beat is 3 s
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := phases(state, end), "completed, 01 done 1 1, 02 done 2 2, 03 done 1 1"; got != want {
		t.Errorf("the run ended as %s, want %s", got, want)
	}
	once(t, p, state.Run)
	text, err := os.ReadFile(tries)
	if n := strings.Count(string(text), "x"); err != nil || n != 1 {
		t.Errorf("the iteration was tried %d times (%v), want once", n, err)
	}
	if cutOff.ProcessState != nil {
		t.Error("the worker that was cut off ended")
	}
}
