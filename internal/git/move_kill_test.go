package git

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// moveChild is set in a child of the tests that moves a checkout and nothing
// else: "STATE USER BASE COMMIT", by line breaks.
const moveChild = "FORGE_TEST_MOVE"

// anchorOrder before "STATE USER" has the child write an anchor instead.
const anchorOrder = "anchor "

// playMove is such a child.
func playMove(order string) int {
	order, anchors := strings.CutPrefix(order, anchorOrder)
	part := strings.Split(order, "\n")
	s, err := Open(context.Background(), Config{StateDir: part[0], Root: part[1]})
	switch {
	case err != nil:
	case anchors:
		err = s.Anchor(context.Background(), "r", 7, "head")
	default:
		_, err = s.FastForward(context.Background(), work.Base{Commit: part[2], Branch: "main", RepoRoot: part[1]}, part[3])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// moving is a checkout in which a move changes, adds and removes files, makes a
// file of a folder and a folder of a file, a link and a program.
type moving struct {
	*bed
	commit string
	before files
	after  files
}

func newMoving(t testing.TB) *moving {
	old := files{".forge/forge.toml": "x\n", "a": "a\n", "d/x": "x\n", "f": "f\n", "l": "-> a", "run": "run\n", "gone/deep/er": "g\n", ".gitattributes": "*.crlf eol=crlf\n", "t.crlf": "1\n"}
	now := files{"a": strings.Repeat("new\n", 40), "added/file": "n", "d": "now a file", "f/g": "now a folder", "l": "-> f", "run": "! run\n", "t.crlf": "1\n2\n", "new.crlf": "1\n"}
	for i := range 10 {
		old[fmt.Sprintf("many/%d", i)] = fmt.Sprintln("old", i)
		now[fmt.Sprintf("many/%d", i)] = fmt.Sprintln("new", i)
	}
	b := newBed(t, old)
	m := &moving{bed: b, before: list(t, b.user)}
	m.commit = b.result("01", now, "d", "f", "l", "gone")
	b.mustDeliver("forge/run-1", m.commit)
	whole := filepath.Join(filepath.Dir(b.user), "whole")
	runGit(t, filepath.Dir(b.user), "clone", "-q", b.user, whole)
	runGit(t, whole, "checkout", "-q", m.commit)
	m.after = list(t, whole)
	return m
}

// copied is the same again somewhere else.
func (m *moving) copied(t testing.TB) *moving {
	t.Helper()
	root := realPath(t, t.TempDir())
	for _, dir := range []string{m.user, m.state} {
		if out, err := exec.Command("cp", "-a", dir, root).CombinedOutput(); err != nil {
			t.Fatalf("copy %s: %v %s", dir, err, out)
		}
	}
	b := *m.bed
	b.t, b.user, b.state = t, filepath.Join(root, "user"), filepath.Join(root, "state")
	// Files have other times and numbers there.
	b.run("update-index", "-q", "--refresh")
	b.open()
	return &moving{bed: &b, commit: m.commit, before: m.before, after: m.after}
}

func (m *moving) forward() (work.Delivery, error) {
	return m.FastForward(m.ctx, work.Base{Commit: m.base, Branch: "main", RepoRoot: m.user}, m.commit)
}

// traced is what a move changes something by, or starts something with.
const traced = "trace=execve,rename,renameat,renameat2,unlink,unlinkat,rmdir,link,linkat,mkdir,mkdirat,symlink,symlinkat,pwrite64,fsync,ftruncate"

// killedAt moves the checkout in a child and kills the child with everything it
// has started when its at-th such call is seen; 0 is never. It returns the calls
// that it saw.
func (m *moving) killedAt(at int) (seen []string) {
	m.t.Helper()
	order := strings.Join([]string{m.state, m.user, m.base, m.commit}, "\n")
	cmd := exec.Command("strace", "-f", "--seccomp-bpf", "-qq", "-e", "signal=none", "-e", traced, os.Args[0])
	cmd.Env = append(os.Environ(), moveChild+"="+order)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said, err := cmd.StderrPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if seen = append(seen, lines.Text()); len(seen) == at {
			killTree(cmd.Process.Pid)
		}
	}
	if err := cmd.Wait(); err != nil && at == 0 {
		m.t.Fatalf("the undisturbed move: %v", err)
	}
	return seen
}

// killTree kills a process and all that it has started, also those with a
// session of their own. They are stopped first, so that none gets away.
func killTree(pid int) {
	stopped := map[int]bool{}
	var stop func(pid int)
	stop = func(pid int) {
		stopped[pid] = true
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, task := range tasks {
			data, _ := os.ReadFile(task)
			for _, word := range strings.Fields(string(data)) {
				if child, err := strconv.Atoi(word); err == nil && !stopped[child] {
					stop(child)
				}
			}
		}
	}
	for n := -1; n != len(stopped); {
		n = len(stopped)
		stop(pid)
	}
	for pid := range stopped {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func needStrace(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("strace is Linux's")
	}
	if out, err := exec.Command("strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=fsync", "true").CombinedOutput(); err != nil {
		t.Skipf("strace does not work here: %v %s", err, out)
	}
}

// kills is how many moments a test tries: FORGE_KILLS, else few enough for
// every test run.
func kills(few int) int {
	if n, err := strconv.Atoi(os.Getenv("FORGE_KILLS")); err == nil && n > 0 {
		return n
	}
	return few
}

// A move that is killed with every process of its own is, once it is settled,
// done whole. Until then each path holds the old content or the new one.
func TestMoveKilled(t *testing.T) {
	pace.Slow(t, "a process for each kill")
	pace.Sequential(t, "processes that are killed one after the other")
	needStrace(t)
	whole := newMoving(t)
	seen := whole.killedAt(0)
	calls := len(seen)
	same(t, "the undisturbed checkout", list(t, whole.user), whole.after)
	n, half := kills(4), 0
	template := newMoving(t)
	for i := range n {
		m := template.copied(t)
		at := moment(seen, i, n)
		m.killedAt(at)
		if m.halfDone(at) {
			half++
		}
		m.open()
		if d, err := m.forward(); err != nil || !d.FastForwarded {
			t.Fatalf("killed at %d of %d: %+v, %v", at, calls, d, err)
		}
		m.isWhole(fmt.Sprintf("killed at %d of %d", at, calls))
	}
	t.Logf("%d kills over %d calls, %d of them left the checkout half done", n, calls, half)
	if n >= 100 && half < n/20 {
		t.Errorf("only %d of %d kills came in the midst of the files", half, n)
	}
}

// moment is the i-th of n moments: one in two while files are put in their
// places, the others anywhere.
func moment(seen []string, i, n int) int {
	places := func(call string) bool { return strings.Contains(call, "/forge-move/new/") }
	first := slices.IndexFunc(seen, places)
	last := first
	for at, call := range seen {
		if places(call) {
			last = at
		}
	}
	if i%2 == 0 {
		return 1 + first + i*(last-first)/n
	}
	return 1 + i*(len(seen)-1)/n
}

// halfDone checks each path after a kill, and says whether some are new.
func (m *moving) halfDone(at int) bool {
	m.t.Helper()
	fresh, stale := false, false
	got := list(m.t, m.user)
	for path := range got {
		if strings.Contains(path, ".forge-move") {
			m.t.Errorf("killed at %d: %s is left", at, path)
		}
	}
	for path, text := range got {
		switch old, now := m.before[path], m.after[path]; {
		case old == now && text == old:
		case text == old:
			stale = true
		case text == now:
			fresh = true
		default:
			m.t.Errorf("killed at %d: %s is torn: %.60q", at, path, text)
		}
	}
	return fresh && stale
}

// isWhole checks that the checkout is moved and nothing is left of the move.
func (m *moving) isWhole(when string) {
	m.t.Helper()
	same(m.t, when+": checkout", list(m.t, m.user), m.after)
	if got := m.run("rev-parse", "main", "HEAD"); got != m.commit+"\n"+m.commit {
		m.t.Errorf("%s: main, HEAD = %s", when, got)
	}
	if got := m.run("status", "--porcelain"); got != "" {
		m.t.Errorf("%s: status %q", when, got)
	}
	if got := m.run("rev-parse", "ORIG_HEAD"); got != m.base {
		m.t.Errorf("%s: ORIG_HEAD = %s", when, got)
	}
	m.clean(when)
	m.run("commit", "-q", "--allow-empty", "-m", "on")
}

// clean checks that nothing of a move is left.
func (m *moving) clean(when string) {
	m.t.Helper()
	_ = filepath.WalkDir(filepath.Join(m.user, ".git"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".lock") || strings.HasSuffix(path, "forge-move")) {
			m.t.Errorf("%s: %s is left", when, path)
		}
		return nil
	})
	left, err := os.ReadDir(m.notes())
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() != "lock" {
			m.t.Errorf("%s: %s is left", when, m.notes(e.Name()))
		}
	}
}
