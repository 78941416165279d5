package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// bootID joins the kernel's id of this boot with the process namespace: two
// containers on one machine share the former and not their process ids.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}

// startTime reads field 22 of /proc/PID/stat (proc(5)), in clock ticks since
// boot. A zombie counts as gone: it does nothing any more.
func startTime(pid int) (int64, processState) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return 0, processGone
	}
	if err != nil {
		return 0, processUnknown
	}
	return parseStat(stat)
}

// parseStat reads what startTime wants from the text of a stat file.
func parseStat(stat []byte) (int64, processState) {
	// The name in field 2 is in parentheses and may hold anything, also
	// white space and parentheses.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19 // fields 3 and 22
	if len(fields) <= start {
		return 0, processUnknown
	}
	if s := string(fields[state]); s == "Z" || s == "X" {
		return 0, processGone
	}
	ticks, err := strconv.ParseInt(string(fields[start]), 10, 64)
	if err != nil {
		return 0, processUnknown
	}
	return ticks, processRuns
}
