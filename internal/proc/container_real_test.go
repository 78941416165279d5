//go:build real

package proc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What cannot be had is said, and nothing runs.
func TestRealContainerRefused(t *testing.T) {
	t.Parallel()
	need(t, LevelContainer)
	for _, c := range []struct {
		in   Container
		want string
	}{
		{tested(), ""},
		{Container{Image: "localhost/none:1"}, "localhost/none:1"},
		{Container{Image: "localhost/none:1", Runtime: "lxc"}, "unknown container runtime"},
	} {
		err := TryContainer(t.Context(), c.in)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.in, err)
		}
	}
	s := child(t, "exit", "0")
	s.Sandbox = &Sandbox{Level: LevelContainer, Write: []string{s.Dir}, Container: Container{Image: "localhost/none:1"}}
	if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "could not start the command") {
		t.Errorf("an image that is not there: %v", err)
	}
}

// A program by its name is the image's, the environment is the child's alone, and
// nothing of it stands on a command line.
func TestRealContainerEnvironment(t *testing.T) {
	t.Parallel()
	need(t, LevelContainer)
	s := child(t, "")
	s.Path, s.Args = "sh", []string{"-c", `env; cat /proc/1/environ 2>&1; echo; read line; echo "heard $line"; exit 5`}
	s.Env = append(s.Env, "ASKED_FOR=yes", "API_KEY=in-the-open")
	s.Stdin = strings.NewReader("a word\n")
	s.Sandbox = &Sandbox{Level: LevelContainer, Container: tested(), Write: []string{s.Dir}}
	r, out := run(t, s)
	wantExit(t, r, 5)
	for _, want := range []string{"ASKED_FOR=yes", "API_KEY=in-the-open", "PATH=/usr/bin\n", "OF_THE_IMAGE=1", "heard a word", "Permission denied"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for _, no := range []string{"CONTAINERS_CONF", "container=", "HOSTNAME="} {
		if strings.Contains(out, no) {
			t.Errorf("%q is in\n%s", no, out)
		}
	}
	// A program that is asked for as a file besides is mounted once.
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 6\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.Path, s.Args, s.Sandbox.ReadFiles = script, nil, map[string]string{script: script}
	r, _ = run(t, s)
	wantExit(t, r, 6)
	s.Path, s.Args = "no-such-program", nil
	if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "of the image") {
		t.Errorf("a program that the image has not: %v", err)
	}
}

// Limits are held to, or nothing runs.
func TestRealContainerLimits(t *testing.T) {
	t.Parallel()
	need(t, LevelContainer)
	s := child(t, "")
	c := tested()
	c.MemoryMB, c.PIDs = 64, 40
	if err := TryContainer(t.Context(), c); err != nil {
		t.Skip("this machine's runtime cannot hold to them: ", err)
	}
	s.Path, s.Args = "sh", []string{"-c", `i=0; while [ $i -lt 100 ]; do sleep 60 & i=$((i+1)); done`}
	s.Sandbox = &Sandbox{Level: LevelContainer, Container: c, Write: []string{s.Dir}}
	r, out := run(t, s)
	if r.ExitCode == nil || *r.ExitCode == 0 || !strings.Contains(out, "fork") {
		t.Errorf("100 processes of 40: %s\n%s", r.how(), out)
	}
	s.Args = []string{"-c", `x=0123456789012345; i=0; while [ $i -lt 24 ]; do x=$x$x; i=$((i+1)); done; echo ${#x}`}
	r, out = run(t, s)
	if r.ExitCode == nil || *r.ExitCode == 0 || r.End != EndExited {
		t.Errorf("256 MB of 64: %s\n%s", r.how(), out)
	}
	if err := limitHolds("memory", 1<<20, "/no/such/file"); err == nil {
		t.Error("a limit that nobody tells of holds")
	}
}

// A container that is cancelled before it is there leaves nothing.
func TestRealContainerCancelledEarly(t *testing.T) {
	t.Parallel()
	need(t, LevelContainer)
	for _, wait := range []time.Duration{0, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond} {
		ctx, end := context.WithTimeout(t.Context(), wait)
		s := child(t, "sleep")
		s.Limits.Grace = 10 * time.Millisecond
		s.Sandbox = &Sandbox{Level: LevelContainer, Container: tested(), Write: []string{s.Dir}}
		s.Mark = randomMark()
		p, err := Start(ctx, s)
		if err == nil {
			if r := p.Wait(); r.End != EndCancelled || r.Err != nil {
				t.Errorf("after %s: %s", wait, describe(r))
			}
		}
		end()
		if left := containersOf(t, s.Mark); left != "" {
			t.Errorf("after %s: %s is left", wait, left)
		}
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchName(s.Mark)+"*")); len(left) > 0 {
			t.Errorf("after %s: %q is left", wait, left)
		}
	}
}

func containersOf(t *testing.T, mark string) string {
	t.Helper()
	said, err := exec.Command(tested().Runtime, "ps", "--all", "--format", "{{.Names}}", "--filter", "name="+scratchName(mark)).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, said)
	}
	return strings.TrimSpace(string(said))
}

// A container half made by a Forge that died is removed by whoever ends its mark.
func TestRealContainerOfTheDead(t *testing.T) {
	t.Parallel()
	need(t, LevelContainer)
	mark := randomMark()
	name := scratchName(mark) + "1"
	if said, err := exec.Command(tested().Runtime, "create", "--name", name, tested().Image).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	note := filepath.Join(os.TempDir(), name+containerNote)
	if err := os.WriteFile(note, []byte(tested().Runtime+" "+name), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := KillMarked(mark, time.Second); err != nil {
		t.Error(err)
	}
	if left := containersOf(t, mark); left != "" {
		t.Errorf("%s is left", left)
	}
	wantContent(t, note, "")
}
