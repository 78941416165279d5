package proc

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tree finds and signals the processes that a child has started. One goroutine
// uses it.
type tree struct {
	root  int    // pid, group and session of the child; 0 = there is none
	start uint64 // of the root; nothing older can belong to it
	forks int    // of the whole machine until about the root's start, -1 = unknown
	tasks int    // processes and threads of the whole machine then
	marks marks
	// spare says that the root is bubblewrap's monitor, or the client of a
	// container's runtime: it must outlive SIGTERM, or the command is killed
	// before it could tidy up.
	spare bool
	pipes []string          // the root's output as /proc/<pid>/fd shows it
	known map[int]uint64    // every member seen so far, by its start
	told  map[identity]bool // had SIGTERM
}

// identity is a process beyond the reuse of its number.
type identity struct {
	pid   int
	start uint64
}

func newTree(root int, mark string, level Level, out []*output) *tree {
	t := &tree{
		root: root, marks: marksOf(mark), spare: level == LevelBubblewrap || level == LevelContainer,
		known: map[int]uint64{}, told: map[identity]bool{}, forks: -1,
	}
	if root > 0 {
		if s, err := readStat(root, make([]byte, statBytes)); err == nil {
			t.start = s.start
		}
		// What the child has started by now makes the count too low by so
		// little that the margin in since covers it.
		t.forks, t.tasks = readForks(), readBirth().tasks
	}
	for _, o := range out {
		var st unix.Stat_t
		if c, err := o.r.SyscallConn(); err == nil {
			_ = c.Control(func(fd uintptr) {
				if unix.Fstat(int(fd), &st) == nil {
					t.pipes = append(t.pipes, "pipe:["+strconv.FormatUint(st.Ino, 10)+"]")
				}
			})
		}
	}
	return t
}

// adopt learns from what the sandbox said which process its pid namespace dies
// with. That one is not gone before every other of the namespace is; while it
// ends it has no environment to be known by.
func (t *tree) adopt(said []byte, in box) {
	pid := 0
	switch {
	case in != nil:
		pid = in.first()
	case t.spare:
		pid = namespaceInit(said)
	}
	if pid > 0 {
		if s, err := readStat(pid, make([]byte, statBytes)); err == nil && s.start >= t.start {
			t.known[pid] = s.start
		}
	}
}

// count says how many members are alive, the root not counted. open says that
// the root's output is still open, so that who holds it is a member too.
func (t *tree) count(open bool) int { return len(t.members(open)) }

// terminate sends SIGTERM to every member that has not had it, the root
// included, and lets stopped ones run to receive it. It returns how many
// members beside the root are alive.
func (t *tree) terminate(open bool) int {
	members := t.members(open)
	for _, m := range members {
		if !t.told[m] {
			t.told[m] = true
			m.signal(syscall.SIGTERM)
			m.signal(syscall.SIGCONT)
		}
	}
	if root := (identity{t.root, t.start}); t.root > 0 && !t.spare && !t.told[root] {
		t.told[root] = true
		t.signalRoot(syscall.SIGTERM)
		t.signalRoot(syscall.SIGCONT)
	}
	return len(members)
}

// kill stops all members first, so that none can fork away from the sight of
// the search, then kills them, and repeats that until none is left or patience
// is over. gone says that the root has exited. It returns how many processes it
// killed beside the root, and how many of those it still sees.
func (t *tree) kill(open, gone func() bool, patience time.Duration) (killed, alive int) {
	seen := map[identity]bool{}
	deadline, over := time.Now().Add(patience), false
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		last := gone() // before the search, or the root could fork behind it
		t.signalRoot(syscall.SIGSTOP)
		members := t.freeze(open)
		t.signalRoot(syscall.SIGKILL)
		for _, m := range members {
			seen[m] = true
			m.signal(syscall.SIGKILL)
		}
		if len(members) == 0 && last || over {
			return len(seen), len(members)
		}
		if over = time.Now().After(deadline); over { // a machine may take all that time for one round, whose processes die just now
			wait = patience / 4
		}
		time.Sleep(wait)
	}
}

// freezeRounds bounds the chase after a tree that forks faster than it is
// stopped; kill comes back anyway.
const freezeRounds = 64

func (t *tree) freeze(open func() bool) []identity {
	stopped := map[identity]bool{}
	for range freezeRounds {
		fresh := false
		members := t.members(open())
		for _, m := range members {
			if !stopped[m] {
				stopped[m], fresh = true, true
				m.signal(syscall.SIGSTOP)
			}
		}
		if !fresh {
			return members
		}
	}
	return t.members(open())
}

// signalRoot is safe against a reused number because the root is reaped last.
func (t *tree) signalRoot(sig syscall.Signal) {
	if t.root > 0 {
		_ = syscall.Kill(t.root, sig)
	}
}

// signal reaches exactly this process: the descriptor is taken first, and what
// it stands for is checked after.
func (m identity) signal(sig syscall.Signal) {
	p, err := os.FindProcess(m.pid)
	if err != nil {
		return
	}
	defer p.Release()
	if s, err := readStat(m.pid, make([]byte, statBytes)); err == nil && s.start == m.start {
		_ = p.Signal(sig)
	}
}

// KillMarked ends every process whose environment has the mark, and
// their descendants: SIGTERM, SIGKILL after grace; then it removes the folder
// for temporary files that a sandbox of theirs had. It returns how many there
// were. The error is ErrAlive when some survived, and a refusal of the empty
// mark. Forge's own process is never touched.
func KillMarked(mark string, grace time.Duration) (int, error) {
	if mark == "" {
		return 0, errors.New("end marked processes: the mark is empty")
	}
	t := newTree(0, mark, LevelNone, nil)
	deadline := time.Now().Add(grace)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		if t.terminate(false) == 0 {
			removeScratch(mark)
			return len(t.known), nil
		}
		now := time.Now()
		if !now.Before(deadline) {
			break
		}
		time.Sleep(min(wait, deadline.Sub(now)))
	}
	_, alive := t.kill(func() bool { return false }, func() bool { return true }, killPatience)
	if alive > 0 {
		return len(t.known), fmt.Errorf("end marked processes: %d %w", alive, ErrAlive)
	}
	removeScratch(mark)
	return len(t.known), nil
}

// exit is how a child ended. Here that is collected last, by reap.
type exit struct{}

// awaitExit returns when the child has exited and leaves it unreaped.
func awaitExit(child *os.Process) exit {
	for {
		err := unix.Waitid(unix.P_PID, child.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return exit{}
		}
	}
}

func (exit) reap(child *os.Process) (*os.ProcessState, error) { return child.Wait() }

// keepInherited keeps the descriptors that Forge itself was started with, such
// as a shell's, out of its children. Those that Go opens are so anyway.
func keepInherited() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
