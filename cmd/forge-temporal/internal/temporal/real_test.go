//go:build real

package temporal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"forge/internal/engine"
	"forge/internal/engine/enginetest"
	"forge/internal/work"
	"forge/orchestrator"
)

// server is a real Temporal server of its own, with nothing but its memory.
func server(t testing.TB, args ...string) *testsuite.DevServer {
	t.Helper()
	program := os.Getenv("FORGE_REAL_TEMPORAL")
	if program == "" {
		t.Skip("FORGE_REAL_TEMPORAL names no server: scripts/real.sh does")
	}
	s, err := testsuite.StartDevServer(context.Background(), testsuite.DevServerOptions{
		ExistingPath: program, LogLevel: "error", ExtraArgs: args, Stdout: io.Discard, Stderr: io.Discard,
		ClientOptions: &client.Options{Logger: quiet()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Log("stop the server:", err)
		}
	})
	return s
}

func quiet() log.Logger {
	level := slog.LevelError + 1
	if os.Getenv("FORGE_TEST_LOUD") != "" {
		level = slog.LevelDebug
	}
	return log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))
}

func dial(t testing.TB, s *testsuite.DevServer, change ...func(*client.Options)) client.Client {
	t.Helper()
	o := client.Options{HostPort: s.FrontendHostPort(), Logger: quiet()}
	for _, c := range change {
		c(&o)
	}
	c, err := client.Dial(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// worlds are the places of runs in worlds of the suite, by project.
type worlds struct {
	mu sync.Mutex
	of map[string]*enginetest.World
}

func (p *worlds) name(w *enginetest.World) string { return fmt.Sprintf("world-%p", w) }

func (p *worlds) add(w *enginetest.World) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[p.name(w)] = w
	return p.name(w)
}

func (p *worlds) Open(_ context.Context, project, _ string) (*Place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.of[project]
	return &Place{Record: record{w.Journal}, Effects: w, Processes: w.Processes, Close: func() {}}, nil
}

func (p *worlds) Fold(_ context.Context, project, run string) (*orchestrator.State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.of[project]
	s, err := orchestrator.NewState(run, w.Spec)
	if err != nil {
		return nil, err
	}
	evs, err := record{w.Journal}.Events(context.Background(), 0)
	for _, e := range evs {
		if err := orchestrator.Apply(s, e); err != nil {
			return nil, err
		}
	}
	return s, err
}

func (p *worlds) Away(error) bool { return false }

type record struct{ *enginetest.Journal }

func (r record) Events(_ context.Context, after int64) ([]work.Event, error) {
	r.Lock()
	defer r.Unlock()
	return slices.Clone(r.Journal.Events[min(after, int64(len(r.Journal.Events))):]), nil
}

// swift is what tests wait for instead of the usual times.
func swift() Times {
	return Times{Beat: 5 * time.Second, Effect: time.Minute, Host: 5 * time.Second, Unserved: 10 * time.Second, MaxEvents: 2000}
}

// candidates are engines on one server with one worker that serves all worlds.
func candidates(t testing.TB, c client.Client, change ...func(*Engine)) enginetest.Candidate {
	t.Helper()
	return candidatesOn(t, c, []string{"here"}, change...)
}

// candidatesOn are candidates with a worker on each of the hosts.
func candidatesOn(t testing.TB, c client.Client, hosts []string, change ...func(*Engine)) enginetest.Candidate {
	t.Helper()
	places := &worlds{of: map[string]*enginetest.World{}}
	q := Queues{Prefix: "test-" + newSeed()}
	for _, host := range hosts {
		w := &Worker{Client: c, Queues: q, Places: places, Host: host, Slots: 40, Drain: time.Second}
		stop, err := w.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	var n atomic.Int64
	return enginetest.Candidate{Engine: func(w *enginetest.World) engine.Engine {
		project := places.add(w)
		n.Add(1)
		e := &Engine{
			Client: c, Queues: q, Times: swift(), Project: project, Record: record{w.Journal},
			Name: func(run string) string { return q.Prefix + "-" + project + "-" + run },
		}
		for _, c := range change {
			c(e)
		}
		return e
	}}
}

func TestRealTemporalSuite(t *testing.T) {
	c := dial(t, server(t))
	cand := candidates(t, c)
	for _, l := range enginetest.Laws() {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			if err := l.Holds(cand); err != nil {
				t.Error(err)
			}
			t.Log("took", time.Since(began).Round(time.Millisecond))
		})
	}
}
