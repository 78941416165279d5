package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// hook asks a hook of command on the base.
func (b *bench) hook(h work.Hook, read ...string) (work.HookReport, error) {
	if h.TimeoutSecs == 0 {
		h.TimeoutSecs = 60
	}
	h.Event, h.Kind = work.HookBeforeMerge, work.HookCommand
	return b.Hook(b.t.Context(), work.HookRequest{
		Run: "r1", Phase: "01", Hook: h, Commit: "c1", Sandbox: work.SandboxSettings{Mode: "off"}, Read: read,
		Input: work.HookInput{Event: h.Event, Run: "r1", Iteration: 2, Folder: "/elsewhere"},
		Dir:   filepath.Join(b.state, "hooks", "01"), LogPath: filepath.Join(b.state, "logs", "hook.log"),
	})
}

// Every way for a command to end is told as what it was, and none as another.
func TestHowHooksEnd(t *testing.T) {
	pace.Slow(t, "two hooks that take too long, one of them deaf")
	t.Parallel()
	b := newBench(t, files{"may-we.sh": "!#!/bin/sh\nexit 3\n", "plain": "x"})
	for name, tt := range map[string]struct {
		hook  work.Hook
		exit  int // -1 = it did not end by itself
		ended string
	}{
		"0":              {work.Hook{Command: "true"}, 0, ""},
		"1":              {work.Hook{Command: "exit 1"}, 1, ""},
		"of the base":    {work.Hook{Command: "./may-we.sh"}, 3, ""},
		"127":            {work.Hook{Command: "./nothere"}, 127, ""},
		"126":            {work.Hook{Command: "./plain"}, 126, ""},
		"a signal":       {work.Hook{Command: "kill -9 $$"}, -1, "by the signal killed"},
		"too long":       {work.Hook{Command: "sleep 60", TimeoutSecs: 1}, -1, "took longer than 1s"},
		"deaf to TERM":   {work.Hook{Command: "trap '' TERM; sleep 60 & sleep 60", TimeoutSecs: 1}, -1, "took longer than 1s"},
		"without folder": {work.Hook{Command: "true", Dir: "scripts"}, -1, "its folder scripts is not in the base"},
		"a file":         {work.Hook{Command: "true", Dir: "plain"}, -1, "its folder plain is not in the base"},
	} {
		rep, err := b.hook(tt.hook)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.exit < 0 && rep.Exit != nil, tt.exit >= 0 && (rep.Exit == nil || *rep.Exit != tt.exit), !strings.Contains(rep.Ended, tt.ended), (tt.ended == "") != (rep.Ended == ""):
			t.Errorf("%s: %+v, want %d, %q", name, rep, tt.exit, tt.ended)
		}
	}

	// What cannot be made is neither yes nor no.
	b.commits.fail = os.ErrPermission
	if rep, err := b.hook(work.Hook{Command: "true"}); err == nil {
		t.Errorf("without the base's files: %+v", rep)
	}
}

// A hook gets the facts, the base's files and nothing secret, unless its owner
// lets it out; what it prints is kept without secrets.
func TestWhatHooksSee(t *testing.T) {
	t.Parallel()
	b := newBench(t, files{"a": "the base", "scripts/b": "x"})
	said := func(h work.Hook) string {
		t.Helper()
		rep, err := b.hook(h)
		if err != nil || rep.Exit == nil || *rep.Exit != 0 {
			t.Fatalf("%+v: %+v, %v", h, rep, err)
		}
		return rep.Out
	}
	if got := said(work.Hook{Command: "cat"}); !strings.Contains(got, `"event":"before_merge","run":"r1","iteration":2,"folder":"/elsewhere"`) {
		t.Errorf("on stdin: %s", got)
	}
	if got := said(work.Hook{Command: "cat a; ls; echo $FORGE_EVENT $FORGE_PHASE $FORGE_ITERATION"}); got != "the basea\nscripts\nbefore_merge 01 2\n" {
		t.Errorf("it sees %q", got)
	}
	if got := said(work.Hook{Command: "ls", Dir: "scripts"}); got != "b\n" {
		t.Errorf("in its folder it sees %q", got)
	}

	const show = "echo ${GITHUB_TOKEN:-none} ${MY_API_KEY:-none}"
	if got := said(work.Hook{Command: show}); got != "none none\n" {
		t.Errorf("a project's hook has %q", got)
	}
	if got := said(work.Hook{Command: show, Outside: true}); !strings.HasPrefix(got, "x-token ") || strings.Contains(got, "hunter2") {
		t.Errorf("the owner's hook has %q", got)
	}
	said(work.Hook{Command: "echo hunter2hunter2 >&2; touch left"})
	log, err := os.ReadFile(filepath.Join(b.state, "logs", "hook.log"))
	if err != nil || strings.Contains(string(log), "hunter2hunter2\n") || !strings.Contains(string(log), "# exit code 0") {
		t.Errorf("the log holds %s (%v)", log, err)
	}
	if got := said(work.Hook{Command: "ls"}); strings.Contains(got, "left") {
		t.Errorf("it sees what the last one left: %q", got)
	}

	rep, err := b.hook(work.Hook{Command: "head -c 200000 /dev/zero | tr '\\0' a"})
	if err != nil || !rep.Cut || len(rep.Out) != hookBytes {
		t.Errorf("%d bytes are kept, cut %v, %v", len(rep.Out), rep.Cut, err)
	}
}
