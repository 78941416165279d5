//go:build real

package machine

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/pace"
	"forge/internal/work"
)

// The server is away for longer than silence is borne while an agent works: cut off from
// everybody, or dead and started anew. The agent goes on, and what it does counts once:
// nothing is tried twice. FORGE_OUTAGE says how long it is away.
func TestRealTemporalOutage(t *testing.T) {
	pace.Slow(t, "a server is away for longer than silence is borne")
	away := 8 * time.Second // quick's beat is 3 s
	if d, err := time.ParseDuration(os.Getenv("FORGE_OUTAGE")); err == nil && d > 0 {
		away = d
	}
	for name, c := range map[string]struct {
		works time.Duration // how long the agent goes on after the server went away
		dies  bool
	}{
		"cut off, and the agent works on":     {works: away + 4*time.Second},
		"cut off, and the agent ends by then": {works: away / 2},
		"dead, and the agent works on":        {works: away + 4*time.Second, dies: true},
		"dead, and the agent ends by then":    {works: away / 2, dies: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, port := filepath.Join(t.TempDir(), "temporal.db"), pgtest.FreePort(t)
			s := serverAt(t, db, port)
			f := newFactory(t, s, "")
			if out, code := f.says("setup"); code != 0 {
				t.Fatalf("setup: exit code %d\n%s", code, out)
			}
			tries := filepath.Join(t.TempDir(), "tries")
			f.script(strings.Replace(script, `{ write = "one.txt", content = "1\n" }, { sleep = 0.5 }`,
				`{ write = "one.txt", content = "1\n" }, { run = "echo x >> `+tries+`" }, { sleep = `+strconv.Itoa(int(c.works/time.Second))+` }`, 1))
			way := newWire(t, s.FrontendHostPort())
			f.configure("address = \"" + way.at + "\"\n")
			f.worker()
			f.worker()
			back := make(chan struct{})
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
				if c.dies {
					if err := s.Stop(); err != nil {
						t.Error(err)
					}
				} else {
					way.cut()
				}
				go func() {
					defer close(back)
					time.Sleep(away)
					if c.dies {
						serverAt(t, db, port)
					} else {
						way.mend()
					}
				}()
			})
			if err != nil {
				t.Fatal(err)
			}
			<-back
			if got, want := phases(state, end), "completed, 01 done 1 1, 02 done 2 2, 03 done 1 1"; got != want {
				t.Errorf("the run ended as %s, want %s", got, want)
			}
			once(t, p, state.Run)
			if text, err := os.ReadFile(tries); err != nil || strings.Count(string(text), "x") != 1 {
				t.Errorf("the iteration was tried %d times (%v), want once", strings.Count(string(text), "x"), err)
			}
		})
	}
}

// A worker that is told to stop while the server is away ends all the same, after its
// time and what a server is waited for, and leaves nobody at work; whoever comes next
// goes on with the run.
func TestRealTemporalStopWhileAway(t *testing.T) {
	pace.Slow(t, "a worker is stopped while its server is away, and the next one has to notice")
	t.Parallel()
	s := server(t)
	f := newFactory(t, s, "")
	if out, code := f.says("setup"); code != 0 {
		t.Fatalf("setup: exit code %d\n%s", code, out)
	}
	tries := filepath.Join(t.TempDir(), "tries")
	f.script(strings.Replace(script, `{ write = "one.txt", content = "1\n" }, { sleep = 0.5 }`,
		`{ write = "one.txt", content = "1\n" }, { run = "echo $$ >> `+tries+`; [ $(wc -l <`+tries+`) -gt 1 ] || exec sleep 600" }`, 1))
	way := newWire(t, s.FrontendHostPort())
	f.configure("address = \"" + way.at + "\"\n")
	stopped := f.worker()
	began := false
	p, state, end, err := f.run(func(e work.Event) {
		if e.Kind != work.IterationStarted || began {
			return
		}
		began = true
		var pid int
		for until := time.Now().Add(20 * time.Second); pid == 0 && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			text, _ := os.ReadFile(tries)
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		if pid == 0 {
			t.Error("the agent never began")
			return
		}
		way.cut()
		if err := stopped.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		at := time.Now()
		over := make(chan error, 1)
		go func() { over <- stopped.Wait() }()
		select {
		case err := <-over:
			t.Logf("it ended after %.1f s: %v", time.Since(at).Seconds(), err)
		case <-time.After(time.Minute): // 5 s to end its work, 20 s for the server
			t.Error("the worker does not end while its server is away")
		}
		for until := time.Now().Add(5 * time.Second); works(pid); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(until) {
				t.Error("its agent works on")
				break
			}
		}
		way.mend()
		f.worker()
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := phases(state, end); !strings.HasPrefix(got, "completed, 01 done ") {
		t.Errorf("the run ended as %s", got)
	}
	once(t, p, state.Run)
	if text, err := os.ReadFile(tries); err != nil || strings.Count(string(text), "\n") != 2 {
		t.Errorf("the iteration was begun %d times (%v), want once more", strings.Count(string(text), "\n"), err)
	}
}

// works says that a process is there, and not only its exit code.
func works(pid int) bool {
	said, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(said), ") Z ")
}

// serverAt is a real server that keeps what it knows in a file.
func serverAt(t *testing.T, db, port string) *testsuite.DevServer {
	t.Helper()
	program := os.Getenv("FORGE_REAL_TEMPORAL")
	if program == "" {
		t.Skip("FORGE_REAL_TEMPORAL names no server: scripts/real.sh does")
	}
	s, err := testsuite.StartDevServer(context.Background(), testsuite.DevServerOptions{
		ExistingPath: program, DBFilename: db, LogLevel: "error", Stdout: io.Discard, Stderr: io.Discard, ClientOptions: &client.Options{HostPort: "127.0.0.1:" + port},
	})
	if err != nil {
		t.Error(err)
		return s
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

// killServer kills the server of a file.
func killServer(t *testing.T, db string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, of := range all {
		said, err := os.ReadFile(of)
		pid, numErr := strconv.Atoi(filepath.Base(filepath.Dir(of)))
		if err != nil || numErr != nil || !strings.Contains(string(said), "start-dev") || !strings.Contains(string(said), db) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed != 1 {
		t.Errorf("%d servers were killed, want one", killed)
	}
}
