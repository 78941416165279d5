package proc

import (
	"bytes"
	"strconv"
)

// births is the numbers of the processes that were born after from, up to to.
// Linux gives numbers in rising order and begins anew at the end
// (/proc/sys/kernel/pid_max), so that a search need not look at the others.
type births struct{ from, to int }

func (b births) has(pid int) bool {
	if b.from <= b.to {
		return b.from < pid && pid <= b.to
	}
	return b.from < pid || pid <= b.to
}

// birth is the state of the kernel's numbering.
type birth struct {
	last  int // newest process, -1 where that cannot be told
	tasks int // processes and threads alive
}

func readBirth() birth {
	b, err := readSome("/proc/loadavg", make([]byte, 128))
	if err != nil {
		return birth{last: -1}
	}
	return parseLoad(b)
}

// parseLoad reads "0.20 0.18 0.12 1/80 11206".
func parseLoad(b []byte) birth {
	f := bytes.Fields(b)
	if len(f) != 5 {
		return birth{last: -1}
	}
	_, all, _ := bytes.Cut(f[3], []byte("/"))
	tasks, err := strconv.Atoi(string(all))
	last, err2 := strconv.Atoi(string(f[4]))
	if err != nil || err2 != nil || tasks < 0 || last < 0 {
		return birth{last: -1}
	}
	return birth{last, tasks}
}

// readForks is how many processes and threads were started since boot, -1 where
// that cannot be told.
func readForks() int {
	b, err := readSome("/proc/stat", make([]byte, 64<<10))
	if err != nil {
		return -1
	}
	_, rest, ok := bytes.Cut(b, []byte("\nprocesses "))
	line, _, whole := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.Atoi(string(line))
	if !ok || !whole || err != nil {
		return -1
	}
	return n
}

func readNumbers() int {
	b, err := readSome("/proc/sys/kernel/pid_max", make([]byte, 32))
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(string(bytes.TrimSpace(b)))
	return n
}

// since is the numbers that descendants of the root can have; nil is all.
func (t *tree) since() *births {
	if t.root == 0 || t.forks < 0 || t.tasks <= 0 {
		return nil
	}
	now, forks := readBirth(), readForks()
	if now.last < 0 || forks < 0 {
		return nil
	}
	return window(t.root, now.last, t.tasks, forks-t.forks, readNumbers())
}

// window is the numbers given after root, up to last, when tasks were alive at
// root's birth and forks were started since. It is nil where the numbering may
// have come around: each start takes a number, and passes over those in use,
// which are those of tasks, and as many again where a group or session outlives
// its leader.
func window(root, last, tasks, forks, numbers int) *births {
	if 2*(forks+tasks) >= numbers {
		return nil
	}
	return &births{root, last}
}
