package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// child is a spec that runs the test binary as the named child.
func child(t *testing.T, name string, args ...string) Spec {
	t.Helper()
	return Spec{
		Path: self(), Args: append([]string{"child:" + name}, args...), Dir: t.TempDir(),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()},
		// A test that goes wrong ends, too.
		Limits: Limits{Total: 5 * time.Minute, Grace: 300 * time.Millisecond},
	}
}

func run(t *testing.T, s Spec) (Result, string) {
	t.Helper()
	var out bytes.Buffer
	s.Stdout, s.Stderr = &out, &out
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatalf("run: %v\n%s", err, out.String())
	}
	return r, out.String()
}

// until is a writer that tells when a word has come by.
type until struct {
	word string
	said bytes.Buffer
	seen chan struct{}
}

func untilSays(word string) *until { return &until{word: word, seen: make(chan struct{})} }

func (u *until) Write(b []byte) (int, error) {
	before := strings.Contains(u.said.String(), u.word)
	u.said.Write(b)
	if !before && strings.Contains(u.said.String(), u.word) {
		close(u.seen)
	}
	return len(b), nil
}

func wantExit(t *testing.T, r Result, code int) {
	t.Helper()
	if r.End != EndExited || r.ExitCode == nil || *r.ExitCode != code || r.Signal != "" || r.Err != nil {
		t.Errorf("got %s (%s), want exit code %d", r.how(), describe(r), code)
	}
}

func describe(r Result) string {
	return fmt.Sprintf("end %q, drain expired %t, left behind %d, err %v", r.End, r.DrainExpired, r.LeftBehind, r.Err)
}

func TestExit(t *testing.T) {
	t.Parallel()
	for _, code := range []int{0, 1, 126, 255} {
		r, out := run(t, child(t, "exit", fmt.Sprint(code)))
		wantExit(t, r, code)
		if out != "" || r.LeftBehind != 0 || r.DrainExpired || r.Sandbox != LevelNone {
			t.Errorf("output %q, %s, sandbox %q", out, describe(r), r.Sandbox)
		}
	}
	r, _ := run(t, child(t, "signal"))
	if r.ExitCode != nil || r.Signal != "killed" || r.End != EndExited {
		t.Errorf("a child that killed itself: %s", r.how())
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		spec Spec
		want error
	}{
		{"nothing", t.Context(), Spec{Dir: dir}, exec.ErrNotFound},
		{"not in PATH", t.Context(), Spec{Path: "no-such-program", Dir: dir, Env: []string{"PATH=/usr/bin"}}, exec.ErrNotFound},
		{"no PATH", t.Context(), Spec{Path: "sh", Dir: dir}, exec.ErrNotFound},
		{"missing file", t.Context(), Spec{Path: filepath.Join(dir, "none"), Dir: dir}, os.ErrNotExist},
		{"not executable", t.Context(), Spec{Path: "./plain", Dir: dir}, os.ErrPermission},
		{"no folder", t.Context(), Spec{Path: self(), Dir: filepath.Join(dir, "none")}, os.ErrNotExist},
		{"done context", done, Spec{Path: self(), Dir: dir}, context.Canceled},
		{"unknown level", t.Context(), Spec{Path: self(), Dir: dir, Sandbox: &Sandbox{Level: "jail"}}, nil},
		{"no level", t.Context(), Spec{Path: self(), Dir: dir, Sandbox: &Sandbox{}}, nil},
	} {
		p, err := Start(c.ctx, c.spec)
		if err == nil {
			p.Wait()
		}
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		} else if !strings.HasPrefix(err.Error(), "start "+c.spec.Path+": ") {
			t.Errorf("%s: error %q does not name the program", c.name, err)
		}
	}
}

func TestLooksUpThePathOfTheChild(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "tool"), []byte("#!/bin/sh\necho tool \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(bin, "sh"), 0o700); err != nil { // a folder is no program
		t.Fatal(err)
	}
	env := []string{"PATH=/nowhere:" + bin + ":/usr/bin:/bin"}
	_, out := run(t, Spec{Path: "tool", Args: []string{"-x", "a b"}, Dir: t.TempDir(), Env: env})
	if out != "tool -x a b\n" {
		t.Errorf("by PATH: %q", out)
	}
	_, out = run(t, Spec{Path: "./tool", Dir: bin, Env: env})
	if out != "tool \n" && out != "tool\n" {
		t.Errorf("relative to Dir: %q", out)
	}
	_, out = run(t, Spec{Path: "sh", Args: []string{"-c", "echo shell"}, Dir: t.TempDir(), Env: env})
	if out != "shell\n" {
		t.Errorf("past a folder of that name: %q", out)
	}
}

// Programs of the folder that Forge happens to stand in are not run.
func TestOddEntriesOfPathArePassedOver(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("tool", []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), Spec{Path: "tool", Dir: dir, Env: []string{"PATH=:.:../" + filepath.Base(dir)}})
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error %v, want %v", err, exec.ErrNotFound)
	}
}

func TestEnvironmentIsComplete(t *testing.T) {
	t.Setenv("FORGE_TEST_UNSEEN", "1")
	s := child(t, "env")
	s.Mark = "the-mark"
	s.Env = []string{"A=1", "FORGE_LEASE=old", "B=x=y", "A=2"}
	_, out := run(t, s)
	got := strings.Fields(out)
	slices.Sort(got)
	if want := []string{"A=2", "B=x=y", "FORGE_LEASE=the-mark"}; !slices.Equal(got, want) {
		t.Errorf("the child has %q, want %q", got, want)
	}
	s.Mark = ""
	_, one := run(t, s)
	_, two := run(t, s)
	if one == two || strings.Contains(one, "FORGE_LEASE=\n") || strings.Contains(one, "old") {
		t.Errorf("without a mark: %q, then %q", one, two)
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	s := child(t, "cat")
	if _, out := run(t, s); out != "" {
		t.Errorf("no stdin: %q", out)
	}
	long := strings.Repeat("0123456789abcdef", 1<<16)
	s.Stdin = strings.NewReader(long)
	if _, out := run(t, s); out != long {
		t.Errorf("fed %d bytes, got %d back", len(long), len(out))
	}
	s = child(t, "exit", "0")
	s.Stdin = strings.NewReader(long) // which nobody reads
	r, _ := run(t, s)
	wantExit(t, r, 0)
}

func TestOneWriterForBoth(t *testing.T) {
	t.Parallel()
	s := child(t, "both")
	_, out := run(t, s)
	if want := "out0\nerr0\nout1\nerr1\nout2\nerr2\nout3\nerr3\nout4\nerr4\n"; out != want {
		t.Errorf("the order of stdout and stderr is lost: %q", out)
	}
	var stdout, stderr bytes.Buffer
	s.Stdout, s.Stderr = &stdout, &stderr
	if _, err := Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(stdout.String(), "err") || strings.Count(stderr.String(), "err") != 5 {
		t.Errorf("apart: stdout %q, stderr %q", stdout.String(), stderr.String())
	}
	// A writer that cannot be compared must not panic.
	s.Stdout, s.Stderr = funcWriter{func([]byte) {}}, funcWriter{func([]byte) {}}
	if _, err := Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

type funcWriter struct{ f func([]byte) }

func (w funcWriter) Write(b []byte) (int, error) { w.f(b); return len(b), nil }

// failingWriter counts the calls that it refuses.
type failingWriter int

func (w *failingWriter) Write([]byte) (int, error) { *w++; return 0, io.ErrClosedPipe }

func TestFailingWriterDoesNotStallTheChild(t *testing.T) {
	t.Parallel()
	s := child(t, "flood", "4")
	var out failingWriter
	s.Stdout = &out
	r, err := Run(t.Context(), s)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want the writer's", err)
	}
	if out != 1 {
		t.Errorf("the writer was called %d times", out)
	}
	if r.End != EndExited || r.ExitCode == nil || *r.ExitCode != 0 {
		t.Errorf("the child ended with %s", r.how())
	}
}

func TestFlood(t *testing.T) {
	t.Parallel()
	s := child(t, "flood", "64")
	tail := NewTail(1000, 1000)
	s.Stdout = tail
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	wantExit(t, r, 0)
	if got, want := tail.Dropped(), int64(64<<20-2000); got != want {
		t.Errorf("%d bytes dropped, want %d", got, want)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	const short = 30 * time.Millisecond
	for _, c := range []struct {
		name   string
		limits Limits
		do     func(*Process)
		want   End
	}{
		{"start", Limits{Start: short}, func(*Process) {}, EndStart},
		{"start, with output", Limits{Start: short, Idle: time.Hour}, func(p *Process) { p.Touch() }, EndStart},
		{"idle", Limits{Idle: short, Start: time.Hour}, (*Process).Started, EndIdle},
		{"idle, without a start limit", Limits{Idle: short}, func(*Process) {}, EndIdle},
		{"idle, once tools are done", Limits{Idle: short}, func(p *Process) {
			p.Started()
			p.Busy(1)
			p.Busy(1)
			p.Busy(-2)
		}, EndIdle},
		{"total, while a tool runs after an end too many", Limits{Start: time.Hour, Idle: time.Millisecond, Total: short}, func(p *Process) { p.Busy(-1); p.Busy(1); p.Started() }, EndTotal},
		{"total, while a tool runs", Limits{Start: time.Hour, Idle: time.Millisecond, Total: short}, func(p *Process) { p.Busy(1); p.Started() }, EndTotal},
		{"post-result", Limits{PostResult: short, Start: time.Hour}, (*Process).GotResult, EndPostResult},
		{"post-result, not idle", Limits{PostResult: short, Idle: short / 2, Start: time.Hour}, (*Process).GotResult, EndPostResult},
		{"stop", Limits{}, func(p *Process) { p.Stop(); p.Stop() }, EndStopped},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := child(t, "sleep")
			s.Limits = c.limits
			s.Limits.Grace = 300 * time.Millisecond
			p, err := Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			c.do(p)
			r := p.Wait()
			if r.End != c.want || r.Err != nil || r.LeftBehind != 0 {
				t.Errorf("got %s, want end %q", describe(r), c.want)
			}
			if again := p.Wait(); again.End != r.End || again.Signal != r.Signal {
				t.Errorf("a second Wait says %s", describe(again))
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := child(t, "polite")
	out := untilSays("ready")
	s.Stdout = out
	p, err := Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	<-out.seen
	cancel()
	r := p.Wait()
	if r.End != EndCancelled || r.ExitCode == nil || *r.ExitCode != 7 {
		t.Errorf("got %s with %s, want a cancelled child with code 7", describe(r), r.how())
	}
	if !strings.Contains(out.said.String(), "tidied up") {
		t.Errorf("the last words are lost: %q", out.said.String())
	}
}

// The limits are arithmetic; each case gives the state of the clock, what is
// due, and when to look again.
func TestDue(t *testing.T) {
	t.Parallel()
	const s = time.Second
	all := Limits{Start: 10 * s, Idle: 5 * s, Total: 100 * s, PostResult: 3 * s}
	for _, c := range []struct {
		name   string
		limits Limits
		at     reading
		now    time.Duration
		end    End
		wait   time.Duration
	}{
		{"nothing set", Limits{}, reading{}, 7 * s, "", time.Hour},
		{"before the start only that limit", all, reading{}, 6 * s, "", 4 * s},
		{"start over", all, reading{}, 10 * s, EndStart, 0},
		{"started late, idle begins", all, reading{started: true, touched: 9 * s}, 10 * s, "", 4 * s},
		{"idle over", all, reading{started: true, touched: 9 * s}, 14 * s, EndIdle, 0},
		{"a tool runs", all, reading{started: true, touched: 9 * s, busy: true}, 90 * s, "", 10 * s},
		{"total over while a tool runs", all, reading{started: true, touched: 9 * s, busy: true}, 100 * s, EndTotal, 0},
		{"the earlier one is named", all, reading{started: true, touched: 96 * s}, 200 * s, EndTotal, 0},
		{"and the other way", all, reading{started: true, touched: 94 * s}, 200 * s, EndIdle, 0},
		{"result given", all, reading{started: true, touched: 1 * s, result: 9 * s}, 11 * s, "", 1 * s},
		{"result over", all, reading{started: true, touched: 1 * s, result: 9 * s}, 12 * s, EndPostResult, 0},
		{"result without that limit", Limits{Idle: 5 * s}, reading{started: true, touched: 9 * s, result: 9 * s}, 14 * s, EndIdle, 0},
		{"total before the result's", all, reading{started: true, result: 99 * s}, 100 * s, EndTotal, 0},
	} {
		if end, wait := c.limits.due(c.at, c.now); end != c.end || wait != c.wait {
			t.Errorf("%s: due is %q, wait %v; want %q, %v", c.name, end, wait, c.end, c.wait)
		}
	}
}
