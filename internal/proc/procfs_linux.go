package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

const (
	statBytes    = 1 << 10
	environChunk = 8 << 10
	// kernelThread is PF_KTHREAD among the flags of /proc/<pid>/stat.
	kernelThread = 0x00200000
)

// stat is what the search needs of /proc/<pid>/stat (proc_pid_stat(5)).
type stat struct {
	pid, ppid, group, session int
	state                     byte
	flags                     uint64
	threads                   int
	start                     uint64 // clock ticks since boot
}

// dead says that nothing of the process runs any more. A leader that has
// exited while other threads go on is a zombie that lives.
func (s stat) dead() bool {
	return s.state == 'X' || s.state == 'x' || s.state == 'Z' && s.threads <= 1
}

// unsurePatience bounds how long a search that may have missed something is
// repeated.
const unsurePatience = 50 * time.Millisecond

// members returns the living members of the tree without the root. It searches
// again where a search proves nothing: one has no environment for the moment,
// because it is inside execve, or is ending and may still hold files while its
// memory is being freed; or a process was born meanwhile, which may have come
// up behind the search when its parent, ahead of it, was gone. Then only those
// born since are looked at.
func (t *tree) members(open bool) []identity {
	deadline := time.Now().Add(unsurePatience)
	before := readBirth().last
	found, unsure := t.search(open, nil)
	for wait := time.Millisecond; time.Now().Before(deadline); {
		switch now := readBirth().last; {
		case unsure:
			time.Sleep(wait)
			wait *= 2
			before = readBirth().last
			found, unsure = t.search(open, nil)
		case len(found) > 0 || now == before:
			return found
		default:
			found, unsure = t.search(open, &births{before, now})
			before = now
		}
	}
	return found
}

// search looks once, at all processes or at those of only.
func (t *tree) search(open bool, only *births) (found []identity, unsure bool) {
	if only == nil {
		only = t.since()
	}
	young := t.young(only)
	in := make(map[int]bool, len(young))
	if t.root > 0 {
		in[t.root] = true
	}
	for _, s := range young {
		if start, ok := t.known[s.pid]; ok && start == s.start {
			in[s.pid] = true
		}
		if t.root > 0 && (s.group == t.root || s.session == t.root) {
			in[s.pid] = true
		}
	}
	spread(in, young)
	self := os.Getpid()
	buf := make([]byte, environChunk+t.marks.longest())
	for _, s := range young {
		if in[s.pid] {
			continue
		}
		has, known := environHas(s.pid, t.marks, buf)
		if has || open && s.ppid != self && t.holdsPipe(s.pid) {
			in[s.pid] = true
		} else if !known && !s.dead() {
			unsure = true
		}
	}
	spread(in, young)
	for _, s := range young {
		if in[s.pid] && s.pid != t.root && !s.dead() {
			t.known[s.pid] = s.start
			found = append(found, identity{s.pid, s.start})
		}
	}
	return found, unsure
}

// spread adds the children of members until none is left out.
func spread(in map[int]bool, all []stat) {
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if !in[s.pid] && in[s.ppid] {
				in[s.pid], grown = true, true
			}
		}
	}
}

// young lists the processes that are not older than the root, without kernel
// threads and without Forge itself; of only, where that is given.
func (t *tree) young(only *births) []stat {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	d.Close()
	self := os.Getpid()
	buf := make([]byte, statBytes)
	var out []stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self || only != nil && !only.has(pid) {
			continue
		}
		s, err := readStat(pid, buf)
		if err != nil || s.start < t.start || s.flags&kernelThread != 0 {
			continue
		}
		out = append(out, s)
	}
	return out
}

func readStat(pid int, buf []byte) (stat, error) {
	b, err := readSome("/proc/"+strconv.Itoa(pid)+"/stat", buf)
	if err != nil {
		return stat{}, err
	}
	return parseStat(pid, b)
}

// parseStat reads from behind the last parenthesis: the name before it is the
// process's own choice and may hold anything.
func parseStat(pid int, b []byte) (stat, error) {
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return stat{}, syscall.EINVAL
	}
	f := bytes.Fields(b[i+1:])
	if len(f) < 20 {
		return stat{}, syscall.EINVAL
	}
	s := stat{pid: pid, state: f[0][0]}
	var err error
	num := func(field int) uint64 {
		n, e := strconv.ParseUint(string(f[field]), 10, 64)
		if e != nil {
			err = e
		}
		return n
	}
	s.ppid, s.group, s.session = int(num(1)), int(num(2)), int(num(3))
	s.flags, s.threads, s.start = num(6), int(num(17)), num(19)
	return s, err
}

// environHas says whether the process was started with the variable. known is
// false when there was nothing to read; a process of another user is known not
// to have it, since it could not be ended either.
func environHas(pid int, of marks, buf []byte) (has, known bool) {
	fd, err := openFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false, true
	}
	defer syscall.Close(fd)
	return findEntry(func(b []byte) (int, error) { return readFile(fd, b) }, of, buf)
}

// marks are the entries that tell a marked process, by either name.
type marks [][]byte

func marksOf(mark string) marks {
	return marks{[]byte(MarkVariable + "=" + mark), []byte(QuietMarkVariable + "=" + mark)}
}

func (m marks) longest() int {
	n := 0
	for _, one := range m {
		n = max(n, len(one))
	}
	return n
}

func (m marks) has(entry []byte) bool {
	return slices.ContainsFunc(m, func(one []byte) bool { return bytes.Equal(one, entry) })
}

// findEntry looks for a mark among entries that end with a zero byte, read
// piecewise into buf, which must be longer than the longest by two.
func findEntry(more func([]byte) (int, error), of marks, buf []byte) (has, any bool) {
	longest := of.longest()
	kept := 0 // of an entry that the last read cut off
	for {
		n, err := more(buf[kept:])
		if n <= 0 || err != nil {
			return of.has(buf[:kept]), any
		}
		any = true
		b := buf[:kept+n]
		for {
			entry, rest, whole := bytes.Cut(b, []byte{0})
			if !whole {
				break
			}
			if of.has(entry) {
				return true, true
			}
			b = rest
		}
		if len(b) > longest {
			b = b[:longest+1] // too long to be it; the rest says nothing
		}
		kept = copy(buf, b)
	}
}

// holdsPipe says whether the process has one of the root's output pipes open.
func (t *tree) holdsPipe(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		link, err := os.Readlink(dir + "/" + name)
		if err != nil {
			continue
		}
		for _, p := range t.pipes {
			if link == p {
				return true
			}
		}
	}
	return false
}

func readSome(path string, buf []byte) ([]byte, error) {
	fd, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	n, err := readFile(fd, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// openFile and readFile go around package os, whose poller is of no use for /proc and
// costs as much as the read itself.
func openFile(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

func readFile(fd int, buf []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, buf)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
