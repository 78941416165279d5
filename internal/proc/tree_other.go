//go:build !linux

package proc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// tree is the child's process group; what leaves the group is not found.
type tree struct{ root int }

func newTree(root int, _ string, _ Level, _ []*output) *tree { return &tree{root: root} }

func (t *tree) adopt([]byte, box) {}

// count is 1 while anything of the group is there.
func (t *tree) count(bool) int {
	if syscall.Kill(-t.root, 0) == nil {
		return 1
	}
	return 0
}

func (t *tree) terminate(bool) int {
	_ = syscall.Kill(-t.root, syscall.SIGTERM)
	_ = syscall.Kill(-t.root, syscall.SIGCONT)
	return t.count(false)
}

func (t *tree) kill(_, _ func() bool, patience time.Duration) (killed, alive int) {
	killed = t.count(false)
	deadline := time.Now().Add(patience)
	for {
		_ = syscall.Kill(-t.root, syscall.SIGKILL)
		if alive = t.count(false); alive == 0 || time.Now().After(deadline) {
			return killed, alive
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// KillMarked cannot look into the environment of other processes here.
func KillMarked(string, time.Duration) (int, error) {
	return 0, fmt.Errorf("end marked processes on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// exit is how a child ended.
type exit struct {
	state *os.ProcessState
	err   error
}

func awaitExit(child *os.Process) exit {
	state, err := child.Wait()
	return exit{state, err}
}

func (e exit) reap(*os.Process) (*os.ProcessState, error) { return e.state, e.err }

// keepInherited does nothing here: a child gets the descriptors that Forge was
// started with, beside its own.
func keepInherited() {}
