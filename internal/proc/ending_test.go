package proc

import (
	"context"
	"io"
	"testing"
)

// A child that ends when it is asked to gets no signal.
func TestEndingAsksFirst(t *testing.T) {
	t.Parallel()
	s := child(t, "cat")
	// The race detector otherwise takes a second to exit.
	s.Env = append(s.Env, "GORACE=atexit_sleep_ms=0")
	r, w := io.Pipe()
	out := untilSays("ready")
	s.Stdin, s.Stdout = r, out
	s.Ending = func(ctx context.Context) {
		_ = w.Close() // of a pipe: never fails
		<-ctx.Done()
	}
	p, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, "ready") // else the wait below does not end
	<-out.seen
	p.Stop()
	if r := p.Wait(); r.End != EndStopped || r.ExitCode == nil || *r.ExitCode != 0 {
		t.Errorf("got %s with %s, want a stopped child with code 0", describe(r), r.how())
	}
}

// One that does not is ended all the same.
func TestEndingIsNotWaitedForLong(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := child(t, "sleep")
	out := untilSays("ready")
	s.Stdout = out
	asked := 0
	s.Ending = func(ctx context.Context) {
		asked++
		<-ctx.Done()
	}
	p, err := Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	<-out.seen
	cancel()
	if r := p.Wait(); r.End != EndCancelled || r.Signal == "" || asked != 1 {
		t.Errorf("got %s with %s, asked %d times", describe(r), r.how(), asked)
	}
}

func TestEndingIsNotForAnExit(t *testing.T) {
	t.Parallel()
	s := child(t, "exit", "3")
	s.Ending = func(context.Context) { t.Error("asked to end after the exit") }
	r, _ := run(t, s)
	wantExit(t, r, 3)
}
