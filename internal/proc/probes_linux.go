package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// probePrefix begins the mark of a try of a sandbox. Such a try belongs to no
// run, so that no resume ends what is left of it: when Forge and bubblewrap are
// killed together, the process that was to become the inside of the sandbox may
// wait for ever for a word from its parent, deaf to --die-with-parent, which
// comes later. The mark says whose the try is instead.
const probePrefix = "probe-"

// probeMark is the mark of a try by this process:
// probe-<namespace>-<pid>-<start>-<random>.
func probeMark() string {
	self := os.Getpid()
	var start uint64
	if s, err := readStat(self, make([]byte, statBytes)); err == nil {
		start = s.start
	}
	return fmt.Sprintf("%s%s-%d-%d-%s", probePrefix, pidNamespace(), self, start, randomMark())
}

// pidNamespace names the namespace in which the numbers of processes mean
// something here, "" = unknown.
func pidNamespace() string {
	link, _ := os.Readlink("/proc/self/ns/pid")
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}

// endDeadProbes ends what is left of tries whose process is dead. A try from
// another namespace is left alone: whether its process lives cannot be known.
func endDeadProbes() {
	space := pidNamespace()
	if space == "" {
		return
	}
	begin := MarkVariable + "=" + probePrefix + space + "-"
	every := &tree{}
	for _, s := range every.young(nil) {
		if mark := entryBegins(s.pid, begin); mark != "" && !proberLives(strings.TrimPrefix(mark, begin)) {
			_, _ = KillMarked(strings.TrimPrefix(mark, MarkVariable+"="), 0)
		}
	}
}

// entryBegins returns the entry of a process's environment that begins so.
func entryBegins(pid int, begin string) string {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.HasPrefix(entry, []byte(begin)) {
			return string(entry)
		}
	}
	return ""
}

// proberLives says whether the process of <pid>-<start>-<random> lives. What
// cannot be read counts as alive.
func proberLives(who string) bool {
	part := strings.Split(who, "-")
	if len(part) != 3 {
		return true
	}
	pid, err := strconv.Atoi(part[0])
	if err != nil || pid <= 0 {
		return true
	}
	s, err := readStat(pid, make([]byte, statBytes))
	if os.IsNotExist(err) {
		return false
	}
	return err != nil || strconv.FormatUint(s.start, 10) == part[1] && !s.dead()
}
