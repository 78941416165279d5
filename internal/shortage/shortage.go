// Package shortage tells an error by which the machine ran out of something
// from every other: a full disk, no more open files, no more memory. Such an
// error says nothing about the work that it struck.
package shortage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// kind is one thing that runs out.
type kind struct {
	errno syscall.Errno
	said  []string // how other programs say it, in the C locale
	words func(err error) string
}

// kinds is the one table of what counts as a shortage.
func kinds() []kind {
	return []kind{
		{syscall.ENOSPC, []string{"No space left on device", "database or disk is full", "Out of diskspace"}, func(err error) string { return "the disk" + holding(err) + " is full" }},
		{syscall.EDQUOT, []string{"Disk quota exceeded"}, func(err error) string { return "your quota on the disk" + holding(err) + " is used up" }},
		{syscall.EMFILE, []string{"Too many open files"}, func(error) string { return "too many open files" + limitOf(syscall.RLIMIT_NOFILE) }},
		{syscall.ENFILE, []string{"Too many open files in system"}, func(error) string { return "too many open files on this machine" }},
		{syscall.ENOMEM, []string{"Cannot allocate memory", "Out of memory"}, func(error) string { return "out of memory" }},
		{syscall.EAGAIN, []string{"Resource temporarily unavailable"}, func(error) string { return "no more processes can be started" + limitOf(maxProcesses) }},
		{syscall.EFBIG, []string{"File too large"}, func(error) string {
			return "a file would become larger than this process may write" + limitOf(syscall.RLIMIT_FSIZE)
		}},
		{syscall.EIO, []string{"Input/output error"}, func(err error) string { return "the disk" + holding(err) + " cannot be read or written" }},
	}
}

// Of says in words what ran out, "" when err is about something else.
func Of(err error) string {
	if err == nil {
		return ""
	}
	for _, k := range kinds() {
		if errors.Is(err, k.errno) && (k.errno != syscall.EAGAIN || starting(err)) {
			return k.words(err)
		}
	}
	return ""
}

// starting says that err is of the start of a process. Elsewhere EAGAIN only
// says that a pipe or a lock is busy.
func starting(err error) bool {
	var path *fs.PathError
	var call *os.SyscallError
	var told *Told
	return errors.As(err, &path) && path.Op == "fork/exec" ||
		errors.As(err, &call) && strings.HasPrefix(call.Syscall, "fork") || errors.As(err, &told)
}

// holding names the place that the error is about, where it says one.
func holding(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	var told *Told
	where := ""
	switch {
	case errors.As(err, &told):
		where = told.Where
	case errors.As(err, &path):
		where = path.Path
	case errors.As(err, &link):
		where = link.New
	}
	if where == "" {
		return ""
	}
	return " that holds " + where
}

// Told is a shortage that another program reported in words.
type Told struct {
	Errno syscall.Errno
	Where string // what the program worked on, "" = unknown
}

// Error says which.
func (t *Told) Error() string { return t.Errno.Error() }

// Unwrap makes the number known to errors.Is.
func (t *Told) Unwrap() error { return t.Errno }

// In finds a shortage in what another program printed about its failure at
// where: a line that ends with the system's words for it. nil when there is none.
func In(said, where string) error {
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n .)")
		for _, k := range kinds() {
			for _, words := range k.said {
				// The words for memory stand at the beginning of git's sentence.
				if strings.HasSuffix(line, words) || k.errno == syscall.ENOMEM && strings.HasPrefix(line, "fatal: "+words) {
					return &Told{Errno: k.errno, Where: where}
				}
			}
		}
	}
	return nil
}

// limitOf names a limit of this process, where it has one.
func limitOf(resource int) string {
	var l syscall.Rlimit
	if resource < 0 || syscall.Getrlimit(resource, &l) != nil || l.Cur > 1<<62 {
		return ""
	}
	return fmt.Sprintf(" (limit %d)", l.Cur)
}
