package cli

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/text"
	"forge/internal/work"
)

// Killed at every step of a review round of an issue's pull request, and of the
// run that resolves how it conflicts with the target, once each,
// Forge goes on to the same end: one pull request, each comment told and
// answered once, and nothing merged but what was approved. Here at every third
// step; make soak has each.
func TestIssueKilledAtEveryStep(t *testing.T) {
	pace.Slow(t, "a process for each kill")
	pace.Sequential(t, "processes that are killed one after the other")
	t.Parallel()
	killedIssue(t, 3)
}

// killedIssue kills at every step-th of the steps in which something changes
// at the host, and at as many of git's.
func killedIssue(t *testing.T, every int) {
	s := issueHub(t, "plan_then_review")
	k := &killer{issueWorld: s, every: every, died: map[string]bool{}, passed: map[string]bool{}}
	k.shim()
	k.until("open", exitFrozen)
	first := s.pull()
	s.people.Review(t, "ann", 1, first.Head, work.PullChangesRequested, "not yet",
		hosttest.Line{Path: "out.txt", Line: 2, Body: "louder"}, hosttest.Line{Path: "out.txt", Line: 1, Body: "and why this"})
	k.until("rework", exitFrozen)
	next := s.pull()
	if next.State != work.PullOpen || next.Head == first.Head {
		t.Fatalf("after the rework: %+v", next.PullRequest)
	}
	s.answered("I wrote it in capitals.", "I wrote it in capitals.")
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "2").want(exitDone).says("louder", "and why this")
	s.people.Review(t, "ann", 1, next.Head, work.PullApproved, "thanks")
	s.push("main", map[string]string{"out.txt": "of main\n"})
	s.write(".forge/agent.toml", conflictScript("of main\none\nTWO\n"))
	k.until("conflict", exitFrozen)
	s.answered("I wrote it in capitals.", "I wrote it in capitals.")
	last := s.pull()
	if last.State != work.PullOpen || !s.grew(last.Branch, next.Head) {
		t.Fatalf("after the conflict: %+v", last.PullRequest)
	}
	next = last
	s.people.Review(t, "ann", 1, next.Head, work.PullApproved, "thanks")
	k.until("merge", exitDone)
	s.landed("of main\none\nTWO\n", 3)
	s.landedOnce()
	if at := s.pull(); at.Head != next.Head {
		t.Errorf("merged was %s, approved %s", at.Head, next.Head)
	}
	s.answered("I wrote it in capitals.", "I wrote it in capitals.")
	for _, step := range []string{
		"open POST */git-receive-pack done", "open POST */pulls due", "open POST */pulls done",
		"rework GET */pulls/1/reviews due", "rework POST */git-receive-pack due", "rework POST */git-receive-pack done", "rework PATCH */pulls/1 done",
		"rework POST */pulls/1/comments due", "rework POST */pulls/1/comments done",
		"conflict GET */pulls/1/reviews due", "conflict POST */git-receive-pack due", "conflict POST */git-receive-pack done", "conflict PATCH */pulls/1 done",
		"merge PUT */pulls/1/merge due", "merge PUT */pulls/1/merge done", "merge DELETE */git/refs/heads/forge/issue-1-write-it due", "merge DELETE */git/refs/heads/forge/issue-1-write-it done",
	} {
		if !k.died[step] && !k.passed[step] {
			t.Errorf("nothing was killed at %q, but at %q", step, slices.Sorted(maps.Keys(k.died)))
		}
	}
	for _, stage := range []string{"open ", "rework ", "conflict ", "merge "} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(k.died)), func(step string) bool { return strings.HasPrefix(step, stage) }) {
			t.Errorf("nothing was killed in the stage %q, but at %q", stage, slices.Sorted(maps.Keys(k.died)))
		}
	}
	t.Logf("killed %d times: %d at the host, the others at git", k.kills, len(k.died))
}

// killer runs processes that are killed, each at a step where none was before.
type killer struct {
	*issueWorld
	stage string
	kills int
	dir   string // of the git that kills
	every int    // of the steps, one in so many kills

	mu     sync.Mutex
	died   map[string]bool
	passed map[string]bool // steps that were let go on
	child  *exec.Cmd
}

// now says whether to kill at a step where nobody was killed before. The caller
// holds mu.
func (k *killer) now(step string) bool {
	if k.died[step] || k.passed[step] {
		return false
	}
	if (len(k.died)+len(k.passed))%k.every > 0 {
		k.passed[step] = true
		return false
	}
	k.died[step] = true
	return true
}

// shim puts a git before the real one that kills its caller when it has written
// or moved something by a command that it has not killed at before.
func (k *killer) shim() {
	k.t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		k.t.Fatal(err)
	}
	k.dir = k.t.TempDir()
	script := fmt.Sprintf(`#!/bin/sh
%[1]s "$@"
code=$?
skip=
for a; do
	case $skip$a in
	-c|-C) skip=1 ;;
	1*) skip= ;;
	-*) ;;
	*) break ;;
	esac
done
case $a in
rev-*|cat-file|diff*|ls-*|merge-base|config|version|show*|for-each-ref|status|log) exit $code ;;
esac
if [ ! -e "%[2]s/at-$a" ]; then
	: > "%[2]s/at-$a"
	set -- "%[2]s"/at-*
	[ $(($# %% %[3]d)) -ne 0 ] || kill -9 $PPID
fi
exit $code
`, real, k.dir, k.every)
	if err := os.WriteFile(filepath.Join(k.dir, "git"), []byte(script), 0o755); err != nil {
		k.t.Fatal(err)
	}
}

// until lets processes of the factory die until one comes to its end.
func (k *killer) until(stage string, code int) {
	k.t.Helper()
	k.stage = stage
	k.proxy.Misbehave(k.at)
	defer k.proxy.Misbehave(nil)
	for range 150 {
		child := exec.Command(os.Args[0], "-test.run", "^TestShopChild$")
		child.Env = append(append([]string{}, k.env...), "SHOP_CHILD="+k.root)
		for n, v := range child.Env {
			if path, ok := strings.CutPrefix(v, "PATH="); ok {
				child.Env[n] = "PATH=" + k.dir + ":" + path
			}
		}
		var out safeBuffer
		child.Stdout, child.Stderr = &out, &out
		k.mu.Lock()
		err := child.Start()
		k.child = child
		k.mu.Unlock()
		if err != nil {
			k.t.Fatal(err)
		}
		_ = child.Wait() // how it ended is read below
		if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			k.kills++
			continue
		}
		if got := child.ProcessState.ExitCode(); got != code {
			k.t.Fatalf("%s: exit code %d, want %d\n%s", stage, got, code, out.String())
		}
		return
	}
	k.t.Fatalf("%s comes to no end", stage)
}

// at kills who asks for what nobody was killed at: before the host has done it,
// and, where it changes something, after. That, and reading reviews, is tried in
// each stage; of other reads, those of the pull request and of branches, once.
func (k *killer) at(req *http.Request) hosttest.Fault {
	path := req.URL.Path
	if _, after, ok := strings.Cut(path, "/octo/repo"); ok {
		path = "*" + strings.TrimPrefix(after, ".git")
	}
	changes := req.Method != http.MethodGet && !strings.HasSuffix(path, "/git-upload-pack") && !strings.HasSuffix(path, "/graphql")
	path = text.Lazy(`[0-9a-f]{40}`)().ReplaceAllString(path, "*")
	step := req.Method + " " + path
	if changes || strings.HasSuffix(path, "/reviews") {
		step = k.stage + " " + step
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	kill := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		_ = k.child.Process.Kill() // it may be gone
	}
	switch {
	case !changes && !strings.Contains(path, "/pulls/1") && !strings.Contains(path, "/git-"):
		return hosttest.Fault{} // it is like others
	case k.now(step + " due"):
		return hosttest.Fault{Cut: true, Then: kill}
	case changes && k.now(step+" done"):
		return hosttest.Fault{After: true, Cut: true, Then: kill}
	}
	return hosttest.Fault{}
}

// TestShopChild is the process that is killed.
func TestShopChild(t *testing.T) {
	root := os.Getenv("SHOP_CHILD")
	if root == "" {
		t.Skip("it is run by others")
	}
	app := &App{Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: root, Now: time.Now}
	os.Exit(app.Run(context.Background(), []string{"factory", "--once"}))
}
