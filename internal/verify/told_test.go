package verify

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
	"forge/internal/runner"
	"forge/internal/work"
)

// asVerified runs the verify that comes before a control.
func (b *bench) asVerified(req work.ControlRequest, commit string) work.CommandsReport {
	b.t.Helper()
	return b.verify(work.VerifyRequest{
		Phase: req.Phase, Dir: filepath.Join(b.state, "verify", "01"), Commit: commit, Commands: req.Commands, TimeoutSecs: req.TimeoutSecs,
		Worktree: req.Worktree, Sandbox: req.Sandbox, Env: req.Env, Caches: req.Caches, LogPath: req.LogPath, Asked: true,
	})
}

// watched runs the control and returns its questions as well.
func (b *bench) watched(req work.ControlRequest) (work.ControlReport, []string) {
	b.t.Helper()
	var asked []string
	rep, err := b.Control(b.t.Context(), req, func(a work.Activity) { asked = append(asked, a.Text) })
	if err != nil {
		b.t.Fatalf("Control: %v", err)
	}
	return rep, asked
}

// asksWhatPasses says whether a runner was asked once more about the claim.
func asksWhatPasses(asked []string) bool {
	return slices.ContainsFunc(asked, func(a string) bool { return strings.HasSuffix(a, ": which tests pass") })
}

// comesToAsk says whether a control asks a question that ends like this. What comes
// after it is not waited for.
func (b *bench) comesToAsk(req work.ControlRequest, question string) (comes bool) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	_, err := b.Control(ctx, req, func(a work.Activity) {
		if strings.HasSuffix(a.Text, question) {
			comes = true
			cancel()
		}
	})
	if !comes && err != nil {
		b.t.Fatalf("Control: %v", err)
	}
	return comes
}

// ownClaims are projects whose verify command is a runner's own call.
func ownClaims() map[string]runnerClaim {
	node := runnerClaims()["node:test"]
	node.commands = []string{"node --test"}
	npm, unittest := runnerClaims()["node:test"], runnerClaims()["unittest"]
	// TestControlRunners holds every cheat against these runners. Here are those that
	// a verify takes for green: what it was told is not to help them.
	npm.only("exits when used")
	node.only("exits when used", "patches the assertion")
	unittest.only("exits at the end", "patches the assertion", "skips")
	own := map[string]runnerClaim{"node:test": node, "npm": npm, "unittest": unittest}
	own["go test"] = runnerClaim{
		runner: "go test", claim: goClaim(nil),
		honest: files{"calc.go": "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return b + a }\n\nfunc Double(a int) int { return 2 * a }\n"},
		cheats: map[string]files{
			"exits when used": {"calc.go": "package calc\n\nimport \"os\"\n\nfunc Add(a, b int) int { os.Exit(0); return 0 }\n\nfunc Double(a int) int { return Add(a, a) }\n"},
			"prints what it knows": {"calc.go": "package calc\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc init() {\n\tfor _, n := range []string{\"TestAdd\", \"TestAdd/sum\", \"TestAdd/sum#01\", \"TestDouble\"} {\n" +
				"\t\tfmt.Printf(\"\\x16=== RUN   %s\\n\\x16--- PASS: %s (0.00s)\\n\", n, n)\n\t}\n\tfmt.Println(\"\\x16PASS\")\n\tos.Exit(0)\n}\n\nfunc Add(a, b int) int { return a - b }\n\nfunc Double(a int) int { return 0 }\n"},
		},
	}
	own["pytest"] = runnerClaim{
		runner: "pytest",
		claim: claim{
			need: "pytest", commands: []string{"pytest -q"},
			base: files{
				"calc.py": pythonBase, "conftest.py": "",
				"tests/test_calc.py": "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\n\ndef test_double():\n    assert calc.double(4) == 8\n",
			},
		},
		honest: files{"calc.py": pythonHonest},
		cheats: map[string]files{
			"exits":              {"calc.py": "import os\nos._exit(0)\n"},
			"patches the runner": {"calc.py": pythonWrong + "import _pytest.python as p\np.Function.runtest = lambda self: None\n"},
			"forges what it knows": {"calc.py": pythonWrong + "import sys, atexit, os\nfor name in ('__main__', 'pytest_outcomes_by_line'):\n    m = sys.modules.get(name)\n    if hasattr(m, 'dumps'):\n" +
				"        w = m.write\n        m.write = lambda fd, b: w(fd, b.replace(b'\"failed\"', b'\"passed\"') if b'test_calc' in b else b)\natexit.register(os._exit, 0)\n"},
		},
	}
	return own
}

// One run of a verify command that is a runner's own call says which tests
// passed: the runner is not asked that again, and everything else is asked.
func TestAVerifySaysWhichTestsPassed(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	for name, c := range ownClaims() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkOwn(t, c)
		})
	}
}

// checkOwn holds an honest change and cheats against a verify and the control
// after it.
func checkOwn(t *testing.T, c runnerClaim) {
	t.Helper()
	if _, err := exec.LookPath(c.need); c.need != "" && err != nil {
		t.Skip(err)
	}
	c.change = c.honest
	b, req := judged(t, c.claim)
	// Before the runner answered, nobody knows that this one can.
	b.asVerified(req, "claim")
	if _, asked := b.watched(req); !asksWhatPasses(asked) {
		t.Errorf("an unknown runner was not asked by itself: %q", asked)
	}
	if rep := b.asVerified(req, "claim"); !rep.OK || rep.Ran[0].Command != c.commands[0] {
		t.Fatalf("verify %+v", rep)
	}
	rep, asked := b.watched(req)
	if c.undecided {
		rep.Undecided = nil
	}
	wantClean(t, rep, c.runner)
	if asksWhatPasses(asked) {
		t.Errorf("the runner was asked twice what passes: %q", asked)
	}
	if rep.Green.Of == 0 || rep.Green.Done != rep.Green.Of || len(rep.Unread) > 0 {
		t.Errorf("green %+v, unread %v", rep.Green, rep.Unread)
	}
	// What it said is believed once.
	if !b.comesToAsk(req, ": which tests pass") {
		t.Error("a second control asked nobody what passes")
	}
	for cheat, change := range c.cheats {
		after := maps.Clone(c.base)
		maps.Copy(after, change)
		b.commits.all["claim"] = after
		if rep := b.asVerified(req, "claim"); !rep.OK {
			t.Logf("%s: verify is red: %s", cheat, rep.Problem)
			continue
		}
		rep, _ := b.watched(req)
		if len(rep.Lost)+len(rep.Deaf)+len(rep.Unsteady) == 0 {
			t.Errorf("%s is not seen: %+v", cheat, rep)
		}
	}
}

// What the proof of a claim said of its own new tests is not asked again before
// something of it is taken out or back.
func TestAVerifySaysWhatPassesWithTheNewTests(t *testing.T) {
	pace.Slow(t, "test runners build and run a project for each control")
	pace.Sequential(t, "test runners, one after the other")
	t.Parallel()
	c := goClaim(maps.Clone(ownClaims()["go test"].honest))
	c.change["more_test.go"] = "package calc\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {\n\tif got := Double(5); got != 10 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n"
	b, req := judged(t, c)
	mixed := maps.Clone(b.commits.all["claim"])
	delete(mixed, "more_test.go")
	b.commits.all["mixed"] = mixed
	req.Commit, req.Ablate, req.Added = "mixed", "report", []string{"more_test.go"}
	asks := func() (n int) {
		rep, asked := b.watched(req)
		wantClean(t, rep, "go test")
		if rep.Green.Of == 0 || rep.Green.Done != rep.Green.Of || rep.Ablation == nil || rep.Ablation.Tried == 0 {
			t.Errorf("green %+v, ablation %+v", rep.Green, rep.Ablation)
		}
		for _, a := range asked {
			if strings.HasSuffix(a, ": which tests pass with the new ones") {
				n++
			}
		}
		return n
	}
	if n := asks(); n != 1 {
		t.Errorf("without a proof the runner was asked %d times, want once", n)
	}
	b.asVerified(req, "claim")
	if n := asks(); n != 0 {
		t.Errorf("after the proof the runner was asked %d times", n)
	}
	if !b.comesToAsk(req, ": which tests pass with the new ones") {
		t.Error("what it said is believed twice")
	}
}

// What a verify said of one tree, of a folder in which something ran before, or
// that was red, answers nothing.
func TestAVerifySaysNothingOfAnythingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t, files{"go.mod": "module example.com/x\n", "a.txt": "1"})
	b.environ = append(b.environ, "GOFLAGS=-mod=mod")
	program := files{"bin/go": "!#!/bin/sh\nexec echo '{\"Action\":\"pass\",\"Package\":\"x\",\"Test\":\"TestA\"}'\n"}
	if err := program.write(b.outside); err != nil {
		t.Fatal(err)
	}
	b.environ[0] = "PATH=" + filepath.Join(b.outside, "bin") + ":" + strings.TrimPrefix(b.environ[0], "PATH=")
	own, _ := runner.OwnCall("go test ./...", nil)
	if err := b.noteAnswer(own.Asked); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		commands []string
		oneHome  bool
		want     int
	}{
		"own call":                {[]string{"go test ./..."}, false, 1},
		"after one that leaves":   {[]string{"echo x >dist", "go test ./..."}, false, 0},
		"after one that does not": {[]string{"true", "go test ./..."}, false, 1},
		"in a home that is used":  {[]string{"true", "go test ./..."}, true, 0},
		"red":                     {[]string{"go test ./...", "false"}, false, 0},
		"disturbed":               {[]string{"go test ./...", "echo 2 >a.txt"}, false, 0},
		"wrapped":                 {[]string{"sh -c 'go test ./...'"}, false, 0},
	} {
		b.told = told{}
		req := b.req(tt.commands...)
		req.Asked, req.OneHome = true, tt.oneHome
		b.verify(req)
		if len(b.told.all) != tt.want {
			t.Errorf("%s: %d answers, want %d", name, len(b.told.all), tt.want)
		}
	}
	b.told = told{}
	b.verify(b.req("go test ./..."))
	if len(b.told.all) > 0 {
		t.Error("nobody asked, and it was noted")
	}
}

func TestIsolated(t *testing.T) {
	dir := t.TempDir()
	programs := files{
		"plain": "!#!/usr/bin/python3\nimport x\n", "env": "!#!/usr/bin/env python3\n", "safe": "!#!/usr/bin/python3 -sP\n",
		"isolated": "!#!/usr/bin/python3 -I\n", "both": "!#! /usr/bin/python3 -sE\n", "binary": "!\x7fELF", "empty": "!",
	}
	if err := programs.write(dir); err != nil {
		t.Fatal(err)
	}
	for name := range programs {
		if got, want := isolated([]string{"PATH=" + dir}, name), name == "isolated" || name == "both"; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if isolated([]string{"PATH=" + dir}, "gone") {
		t.Error("a program that is not there is isolated")
	}
}

func TestToldForgetsTheOldest(t *testing.T) {
	var all told
	for i := range mostTold + 3 {
		all.keep(fmt.Sprint(i), runner.Report{Tests: []runner.Test{{Name: fmt.Sprint(i)}}})
	}
	if _, ok := all.take("2"); ok || len(all.all) != mostTold {
		t.Errorf("%d are kept", len(all.all))
	}
	rep, ok := all.take("3")
	if _, again := all.take("3"); !ok || again || rep.Tests[0].Name != "3" {
		t.Errorf("got %+v %v, again %v", rep, ok, again)
	}
	all.keep("a", runner.Report{})
	if len(all.all) != len(all.order) {
		t.Errorf("%d answers in an order of %d", len(all.all), len(all.order))
	}
}
