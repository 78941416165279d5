package shortage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestOf(t *testing.T) {
	at := func(op, path string, err error) error {
		return fmt.Errorf("do it: %w", &fs.PathError{Op: op, Path: path, Err: err})
	}
	for _, c := range []struct {
		name string
		err  error
		want string // "" = no shortage
	}{
		{"full", at("write", "/s/x", syscall.ENOSPC), "the disk that holds /s/x is full"},
		{"full, somewhere", syscall.ENOSPC, "the disk is full"},
		{"full, renaming", &os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: syscall.ENOSPC}, "the disk that holds /b is full"},
		{"quota", at("write", "/s", syscall.EDQUOT), "your quota on the disk that holds /s is used up"},
		{"descriptors", at("open", "/s", syscall.EMFILE), "too many open files (limit "},
		{"descriptors of all", at("open", "/s", syscall.ENFILE), "too many open files on this machine"},
		{"memory", os.NewSyscallError("mmap", syscall.ENOMEM), "out of memory"},
		{"processes", at("fork/exec", "/bin/git", syscall.EAGAIN), "no more processes can be started"},
		{"a busy pipe", at("read", "/p", syscall.EAGAIN), ""},
		{"size of files", at("write", "/s", syscall.EFBIG), "a file would become larger than this process may write"},
		{"disk error", at("read", "/s", syscall.EIO), "the disk that holds /s cannot be read or written"},
		{"not there", at("open", "/s", syscall.ENOENT), ""},
		{"something else", errors.New("no space for opinions"), ""},
		{"nothing", nil, ""},
		{"told", fmt.Errorf("git: %w", In("x\nerror: unable to write file a: No space left on device\n", "/u")), "the disk that holds /u is full"},
		{"told by git of its index", In("fatal: sha1 file '/u/index.lock' write error. Out of diskspace", "/u"), "the disk that holds /u is full"},
		{"told of processes", In("error: cannot fork() for y: Resource temporarily unavailable", ""), "no more processes can be started"},
		{"told of memory", In("fatal: Out of memory, malloc failed (tried to allocate 9 bytes)", ""), "out of memory"},
		{"too little", &NoRoom{Path: "/u", Need: 4096, Have: 1024}, "the disk that holds /u is full"},
	} {
		got := Of(c.err)
		if c.want == "" && got != "" || c.want != "" && !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: Of(%v) = %q, want %q", c.name, c.err, got, c.want)
		}
	}
	if err := In("error: open(\"No space left on device.txt\"): Permission denied", ""); err != nil {
		t.Errorf("a name that says so is taken for a shortage: %v", err)
	}
}

func TestLacks(t *testing.T) {
	dir := t.TempDir()
	if err := Lacks(dir+"/not/there/yet", 1, 1); err != nil {
		t.Errorf("no room for one byte: %v", err)
	}
	err := Lacks(dir, 1<<62, 1)
	if Of(err) == "" || !strings.Contains(err.Error(), "the disk that holds "+dir+" is full: it takes ") {
		t.Errorf("room for 2^62 bytes: %v", err)
	}
}
