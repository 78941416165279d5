package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"forge/internal/pace"
	"forge/internal/work"
)

func TestVerifyRunsInOrderAndStopsAtFirstFailure(t *testing.T) {
	b := newBench(t, files{"n": "1"})
	rep := b.verify(b.req("cat n >built", "echo two >>built; cat built", "echo out; echo err >&2; exit 3", b.mark("never")))
	if rep.OK || b.marks("never") != 0 || len(rep.Ran) != 3 {
		t.Fatalf("OK %v, ran %d, command after the failure ran %d times", rep.OK, len(rep.Ran), b.marks("never"))
	}
	if got := rep.Ran[1].Output; got != "1two\n" {
		t.Errorf("second command printed %q: commands do not share the folder", got)
	}
	f := rep.Failed()
	if f == nil || f.ExitCode == nil || *f.ExitCode != 3 || f.Output != "out\nerr\n" {
		t.Errorf("failed command: %+v", f)
	}
	if want := "verify command failed with exit code 3: echo out; echo err >&2; exit 3"; rep.Problem != want {
		t.Errorf("problem %q, want %q", rep.Problem, want)
	}
	if rep.Sandbox != "none" {
		t.Errorf("sandbox %q", rep.Sandbox)
	}
}

func TestVerifyJudges(t *testing.T) {
	tests := []struct {
		name, command string
		ok            bool
		code          int // -1 = none
		timedOut      bool
		problem       string
	}{
		{"zero", "true", true, 0, false, ""},
		{"red", "exit 1", false, 1, false, "verify command failed with exit code 1: exit 1"},
		{"not executable", "./data", false, 126, false, "verify command could not be executed (exit code 126): ./data"},
		{"not found", "no-such-program-here", false, 127, false, "verify command names the program no-such-program-here, which is not installed (exit code 127): no-such-program-here"},
		{"killed", "kill -9 $$", false, -1, false, "verify command was ended by signal killed: kill -9 $$"},
		{"hangs", "sleep 300", false, -1, true, "verify command timed out after 1s: sleep 300"},
		{"ignores the end", "trap '' TERM; sleep 300 & wait; sleep 300", false, -1, true, "verify command timed out after 1s: trap '' TERM; sleep 300 & wait; sleep 300"},
		{"no end of input", "cat", true, 0, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "ignores the end" {
				pace.Slow(t, "who ignores the end is given time before it is killed")
			}
			t.Parallel()
			b := newBench(t, files{"data": "text"})
			req := b.req(tt.command)
			if tt.timedOut {
				req.TimeoutSecs = 1
			}
			rep := b.verify(req)
			got := rep.Ran[0]
			code := -1
			if got.ExitCode != nil {
				code = *got.ExitCode
			}
			if rep.OK != tt.ok || got.OK != tt.ok || code != tt.code || got.TimedOut != tt.timedOut || rep.Problem != tt.problem {
				t.Errorf("got OK %v/%v, code %d, timed out %v, problem %q; want %+v", rep.OK, got.OK, code, got.TimedOut, rep.Problem, tt)
			}
		})
	}
}

func TestVerifyEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, after string
		ok          bool
	}{
		{"left behind after success", "", true},
		{"left behind after a timeout", "; sleep 300", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !tt.ok {
				pace.Slow(t, "a timeout, and the time that who ignores the end is given")
			}
			t.Parallel()
			b := newBench(t, files{})
			pids := filepath.Join(b.outside, "pid")
			req := b.req("(trap '' TERM; echo $(exec sh -c 'echo $PPID') >" + pids + "; exec sleep 300) >/dev/null 2>&1 & while ! [ -s " + pids + " ]; do :; done" + tt.after)
			req.TimeoutSecs = 5
			if tt.ok {
				req.TimeoutSecs = 60
			}
			rep := b.verify(req)
			if rep.OK != tt.ok {
				t.Errorf("OK %v, want %v: %s", rep.OK, tt.ok, rep.Problem)
			}
			if alive(t, pids) {
				t.Error("the process in the background is still alive")
			}
		})
	}
}

func TestVerifyCancelledIsNeitherRedNorGreen(t *testing.T) {
	b := newBench(t, files{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pids := filepath.Join(b.outside, "pid")
	req := b.req("true", "echo $$ >"+pids+".new; mv "+pids+".new "+pids+"; sleep 300", b.mark("never"))
	rep, err := b.Verify(ctx, req, func(a work.Activity) {
		if strings.Contains(a.Text, "echo $$") && ctx.Err() == nil {
			go func() {
				for !exists(pids) {
					if ctx.Err() != nil {
						return
					}
				}
				cancel()
			}()
		}
	})
	if !errors.Is(err, context.Canceled) || rep.OK || b.marks("never") != 0 {
		t.Fatalf("got %+v, %v; want context.Canceled", rep, err)
	}
	if alive(t, pids) {
		t.Error("the command is still alive")
	}
}

func TestVerifyErrors(t *testing.T) {
	b := newBench(t, files{})
	broken := errors.New("object is missing")
	tests := []struct {
		name string
		fail error
		edit func(*work.VerifyRequest)
	}{
		{"no commands", nil, func(r *work.VerifyRequest) { r.Commands = nil }},
		{"unknown sandbox mode", nil, func(r *work.VerifyRequest) { r.Sandbox.Mode = "on" }},
		{"sandbox required, none there", nil, func(r *work.VerifyRequest) { r.Sandbox.Mode = "required" }},
		{"checkout fails", broken, func(*work.VerifyRequest) {}},
		{"log cannot be written", nil, func(r *work.VerifyRequest) { r.LogPath = b.outside }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b.commits.fail = tt.fail
			req := b.req(b.mark("never"))
			tt.edit(&req)
			rep, err := b.Verify(t.Context(), req, nil)
			if err == nil || rep.OK {
				t.Errorf("got %+v, %v; want an error", rep, err)
			}
			if tt.fail != nil && !errors.Is(err, tt.fail) {
				t.Errorf("error %v does not wrap its cause", err)
			}
		})
	}
	if b.marks("never") != 0 {
		t.Error("a command ran all the same")
	}
}

// What one verify writes, in the folder, in ignored places, in its home, is
// not there in the next one, and nothing of it stays on the disk.
func TestVerifyStartsPristine(t *testing.T) {
	b := newBench(t, files{".gitignore": "/cache\n", "src/a": "a"})
	w := work.Worktree{Setup: []string{"mkdir deps && echo dep >deps/x"}}
	check := b.req("test ! -e cache && test ! -e $HOME/.config && test $(cat src/a) = a && test $(cat deps/x) = dep")
	poison := b.req("mkdir cache && echo green >cache/result; mkdir -p $HOME/.config; echo b >src/b; echo evil >deps/x; mkdir locked; touch locked/f; chmod 0 locked")
	check.Worktree, poison.Worktree = w, w
	b.green(check)
	b.green(poison)
	if exists(poison.Dir) || exists(homeOf(poison.Dir)) {
		t.Error("the folder or the home of the verify is still there")
	}
	// As a crash leaves it.
	if err := (files{"cache/result": "green", "src/a": "b"}).write(check.Dir); err != nil {
		t.Fatal(err)
	}
	if err := (files{".config": "x"}).write(homeOf(check.Dir)); err != nil {
		t.Fatal(err)
	}
	b.green(check)
}

func TestVerifySeesNoCredentials(t *testing.T) {
	b := newBench(t, files{})
	req := b.req("env")
	req.Env = []string{"PLAIN", "MY_API_KEY", "GITHUB_TOKEN"}
	req.Mark = "the-mark"
	env := strings.Split(strings.TrimSpace(b.green(req).Ran[0].Output), "\n")
	for _, want := range []string{"PLAIN=plain", "HOME=" + homeOf(req.Dir), "HTTPS_PROXY=http://proxy.invalid:3128", "no_proxy=localhost", "INVOCATION_ID=the-mark"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	for _, e := range env {
		for _, bad := range []string{"MY_API_KEY", "GITHUB_TOKEN", "OTHER", "pw@"} {
			if strings.Contains(e, bad) {
				t.Errorf("%s is visible", e)
			}
		}
	}
}

// What the owner shares of the own home stands at its place, nothing else.
func TestVerifyHomeHasSharedPaths(t *testing.T) {
	b := newBench(t, files{})
	home := variable(b.environ, "HOME")
	if err := (files{".cache/go-build/x": "1", ".cache/other/x": "2", ".netrc": "3", ".nvm/x": "4"}).write(home); err != nil {
		t.Fatal(err)
	}
	req := b.req("cd $HOME && cat .cache/go-build/x && touch .cache/go-build/new && test ! -e .cache/other && test ! -e .netrc && cat $NVM_DIR/x")
	req.Sandbox.Write = []string{filepath.Join(home, ".cache/go-build"), filepath.Join(home, ".cache/go-build/sub"), filepath.Join(home, ".gone")}
	b.green(req)
	if !exists(home, ".cache/go-build/new") {
		t.Error("the shared folder is not the user's own")
	}
}

func TestVerifyOutput(t *testing.T) {
	b := newBench(t, files{})
	// The secret is written in two pieces, as is a rune; one byte is no UTF-8.
	req := b.req(`printf 'hunter2'; sleep 0.05; printf 'hunter2 \303'; sleep 0.05; printf '\244 \377\n'`, "echo hunter2hunter2; exit 1")
	var seen []work.Activity
	rep, err := b.Verify(t.Context(), req, func(a work.Activity) { seen = append(seen, a) })
	if err != nil {
		t.Fatal(err)
	}
	log := read(t, req.LogPath)
	all := log + rep.Problem + rep.Ran[0].Output + rep.Ran[0].Command + rep.Ran[1].Output + rep.Ran[1].Command
	for _, a := range seen {
		all += a.Text
	}
	if strings.Contains(all, "hunter2hunter2") {
		t.Errorf("the secret is in %q", all)
	}
	if got := rep.Ran[0].Output; !strings.HasSuffix(got, " ä \uFFFD\n") {
		t.Errorf("output %q", got)
	}
	if !strings.Contains(log, " ä \uFFFD\n") || !strings.Contains(log, "$ printf") || !strings.Contains(log, "# verify command failed with exit code 1") {
		t.Errorf("log %q", log)
	}
	if len(seen) != 2 || seen[0].Kind != "verify" || seen[0].Phase != "01" || strings.Contains(seen[1].Text, "\n") {
		t.Errorf("activities %+v", seen)
	}
	info, err := os.Stat(req.LogPath)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("log %v, %v; want it for its owner only", info.Mode(), err)
	}
}

func TestVerifyOutputIsCapped(t *testing.T) {
	b := newBench(t, files{})
	req := b.req("echo begin; yes 0123456789äöü | head -c 12000000; echo; echo end; exit 1")
	rep := b.verify(req)
	log := read(t, req.LogPath)
	for name, text := range map[string]string{"report": rep.Ran[0].Output, "log": log} {
		most := headBytes + tailBytes + 1000
		if name == "log" {
			most = logBytes + logTailBytes + 1000
		}
		if len(text) > most || !strings.Contains(text, "begin\n") || !strings.Contains(text, "end\n") || !strings.Contains(text, "dropped") || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes of at most %d, begins %.20q, valid %v", name, len(text), most, text, utf8.ValidString(text))
		}
	}
	if strings.Contains(log, "\uFFFD") || strings.Contains(rep.Ran[0].Output, "\uFFFD") {
		t.Error("a character was cut in two")
	}
}

// Tools of Java ask the system where the home is, and not HOME.
func TestVerifyGivesJavaItsHome(t *testing.T) {
	b := newBench(t, nil)
	b.green(b.req(`test "$GRADLE_USER_HOME" = "$HOME/.gradle" && test "$MAVEN_OPTS" = "-Duser.home=$HOME"`))
	b.environ = append(b.environ, "MAVEN_OPTS=-Xmx64m", "GRADLE_USER_HOME=/opt/gradle")
	req := b.req(`test "$GRADLE_USER_HOME" = /opt/gradle && test "$MAVEN_OPTS" = "-Xmx64m -Duser.home=$HOME"`)
	req.Env = []string{"MAVEN_OPTS", "GRADLE_USER_HOME"}
	b.green(req)
	if got := ofJava(nil, "/home/ada l/x"); len(got) != 1 || got[0] != "GRADLE_USER_HOME=/home/ada l/x/.gradle" {
		t.Errorf("a home of two words: %q", got)
	}
}

// A program that is not there is no fault that an agent can mend; a script of
// the tree is.
func TestVerifyMissingProgram(t *testing.T) {
	b := newBench(t, files{"run.sh": "!#!/bin/sh\nno-such-program-here\n", "env.sh": "no-such-program-here\n"})
	for command, want := range map[string]bool{
		"no-such-program-here -q":                              true,
		"./no-such-script":                                     false,
		"no-such-program-here; exit 1":                         true,
		"./run.sh":                                             false,
		". ./env.sh":                                           false, // a word of the shell
		"eval no-such-program-here":                            false,
		"cd . && no-such-program-here":                         true,
		"X=1 no-such-program-here -q":                          true,
		"sh -c 'no-such-program-here'":                         true,
		"PATH=.:$PATH no-such-program-here; exit 127":          false, // may lie in the tree
		"printf ': no-such-program-here: not found'; exit 127": false, // the command starts no such program
		"true": false,
	} {
		rep := b.verify(b.req(command))
		last := rep.Ran[len(rep.Ran)-1]
		if last.ExitCode != nil && *last.ExitCode == 127 && last.Missing != want {
			t.Errorf("%s: missing %v, want %v: %s", command, last.Missing, want, rep.Problem)
		}
		if want && last.ExitCode != nil && *last.ExitCode == 127 && !strings.Contains(rep.Problem, "no-such-program-here, which is not installed") {
			t.Errorf("%s: the problem is %q", command, rep.Problem)
		}
	}
}
