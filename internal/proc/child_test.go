package proc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the child under test: called with an argument
// "child:<name>" it behaves as childs says.
func TestMain(m *testing.M) {
	SandboxChild()
	if len(os.Args) > 1 {
		if name, ok := strings.CutPrefix(os.Args[1], "child:"); ok {
			childs()[name](os.Args[2:])
			os.Exit(0)
		}
	}
	done := setUpContainers()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(max(code, done())) }))
}

func childs() map[string]func(args []string) {
	return map[string]func([]string){
		// exit ends with a code.
		"exit": func(a []string) { n, _ := strconv.Atoi(a[0]); os.Exit(n) },
		"signal": func([]string) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			sleep()
		},
		"cat": func([]string) { _, _ = io.Copy(os.Stdout, os.Stdin) },
		"env": func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },
		// both writes to stdout and stderr by turns.
		"both": func([]string) {
			for i := range 5 {
				fmt.Fprintf(os.Stdout, "out%d\n", i)
				fmt.Fprintf(os.Stderr, "err%d\n", i)
			}
		},
		"flood": func(a []string) {
			n, _ := strconv.Atoi(a[0])
			w := bufio.NewWriterSize(os.Stdout, 1<<16)
			for range n {
				_, _ = w.Write(bytes.Repeat([]byte{'x'}, 1<<20))
			}
			_ = w.Flush()
		},
		// fds tells which of its descriptors are the file.
		"fds": func(a []string) {
			entries, _ := os.ReadDir("/proc/self/fd")
			for _, e := range entries {
				if link, _ := os.Readlink("/proc/self/fd/" + e.Name()); link == a[0] {
					fmt.Println(e.Name())
				}
			}
		},
		"sleep": func([]string) { fmt.Println("ready"); sleep() },
		// hold takes the lock and lives on.
		"hold": func(a []string) { hold(a[0]); sleep() },
		"hold-deaf": func(a []string) {
			signal.Ignore(syscall.SIGTERM)
			hold(a[0])
			sleep()
		},
		"hold-stopped": func(a []string) {
			hold(a[0])
			syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			sleep()
		},
		// polite ends on SIGTERM with a code of its own.
		"polite": func([]string) {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGTERM)
			fmt.Println("ready")
			<-c
			time.Sleep(50 * time.Millisecond)
			fmt.Println("tidied up")
			os.Exit(7)
		},
		// newborn answers SIGTERM by starting one more process.
		"newborn": func(a []string) {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGTERM)
			fmt.Println("ready")
			<-c
			spawn(how{session: true, closed: true}, "hold-deaf", a[0])
			fmt.Println("born")
		},
		// leave starts a holder in the way that a[0] names and exits.
		"leave": func(a []string) {
			spawn(ways()[a[0]], "hold", a[1])
			waitHeld(a[1])
			fmt.Println("left")
		},
		// keep does the same and stays.
		"keep": func(a []string) {
			spawn(ways()[a[0]], a[2], a[1])
			waitHeld(a[1])
			fmt.Println("ready")
			sleep()
		},
		// twice starts the holder through a process that exits.
		"twice": func(a []string) {
			c := spawn(ways()[a[0]], "leave", a[0], a[1])
			c.Wait()
			waitHeld(a[1])
		},
		// twice-deaf: the same, and stays, deaf to SIGTERM.
		"twice-deaf": func(a []string) {
			signal.Ignore(syscall.SIGTERM)
			spawn(ways()[a[0]], "leave", a[0], a[1]).Wait()
			fmt.Println("ready")
			sleep()
		},
		// breed starts a tree of processes, each in a session of its own and
		// none with an environment, all alive.
		"breed": func(a []string) {
			depth, _ := strconv.Atoi(a[1])
			lock := a[0] + "." + strconv.Itoa(os.Getpid())
			if depth > 0 {
				for range 3 {
					spawn(how{session: true, cleared: true, closed: true}, "breed", a[0], strconv.Itoa(depth-1))
				}
			}
			signal.Ignore(syscall.SIGTERM)
			hold(lock)
			sleep()
		},
		// spawner starts processes that nothing but their parent gives away,
		// one after another; all of them share a lock with it.
		"spawner": func(a []string) {
			signal.Ignore(syscall.SIGTERM)
			lock, _ := os.OpenFile(a[0], os.O_CREATE|os.O_RDWR, 0o600)
			_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH)
			for i := range 500 {
				c := exec.Command("/bin/sleep", "600")
				c.Env, c.SysProcAttr, c.ExtraFiles = []string{"NOTHING=1"}, &syscall.SysProcAttr{Setsid: true}, []*os.File{lock}
				if err := c.Start(); err != nil {
					break
				}
				if i == 20 {
					fmt.Println("ready")
				}
			}
			sleep()
		},
		// over starts another child in the way that a[0] names and stays.
		"over": func(a []string) {
			signal.Ignore(syscall.SIGTERM)
			spawn(ways()[a[0]], a[1], a[2:]...)
			sleep()
		},
		// bomb forks without end: each process starts its successor in a new
		// session and goes, a moment later.
		"bomb": func(a []string) {
			lock, _ := os.OpenFile(a[0], os.O_CREATE|os.O_RDWR, 0o600)
			_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH)
			_ = os.WriteFile(a[0]+".held", nil, 0o600)
			time.Sleep(3 * time.Millisecond)
			spawn(how{session: true, closed: true}, "bomb", a[0])
			time.Sleep(3 * time.Millisecond)
		},
		// forge is a Forge: it starts a child with the mark and waits.
		"forge": func(a []string) {
			p, err := Start(context.Background(), Spec{
				Path: self(), Args: []string{"child:keep", "plain", a[1], "hold-deaf"}, Dir: filepath.Dir(a[1]), Mark: a[2],
				Env:     []string{"PATH=/usr/bin:/bin"},
				Sandbox: &Sandbox{Level: Level(a[0]), Container: tested(), Write: []string{filepath.Dir(a[1])}}, Stdout: os.Stdout, Stderr: os.Stderr,
			})
			if err != nil {
				fmt.Println(err)
				return
			}
			p.Wait()
		},
		// probe does one thing per argument and says how it went.
		"probe": func(a []string) {
			for _, what := range a {
				fmt.Println(what, probe(what))
			}
		},
	}
}

// how says in what way a process is started.
type how struct{ session, cleared, closed bool }

func ways() map[string]how {
	return map[string]how{
		"plain":   {closed: true},
		"session": {session: true, closed: true},
		"holding": {session: true},                              // keeps stdout open
		"cleared": {cleared: true, closed: true},                // same session, no environment
		"pipe":    {session: true, cleared: true},               // only its stdout gives it away
		"ghost":   {session: true, cleared: true, closed: true}, // nothing does
	}
}

func self() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

func spawn(h how, name string, args ...string) *exec.Cmd {
	c := exec.Command(self(), append([]string{"child:" + name}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: h.session}
	if h.cleared {
		c.Env = []string{"NOTHING=1"}
	}
	if !h.closed {
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
	}
	if err := c.Start(); err != nil {
		fmt.Println("spawn:", err)
		os.Exit(99)
	}
	return c
}

// sleep outlasts every test, but not the machine.
func sleep() { time.Sleep(10 * time.Minute) }

// hold locks the file for as long as the process lives.
func hold(path string) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		err = os.WriteFile(path+".held", nil, 0o600)
	}
	if err != nil {
		fmt.Println("hold:", err)
		os.Exit(98)
	}
	// Forgetting f would close it.
	_, _ = syscall.Dup(int(f.Fd()))
}

func waitHeld(path string) {
	for range 2000 {
		if _, err := os.Stat(path + ".held"); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("nobody holds", path)
	os.Exit(97)
}

// free says whether nobody holds the lock.
func free(path string) bool {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func probe(what string) string {
	verb, arg, _ := strings.Cut(what, ":")
	answer := func(ok string, err error) string {
		if err != nil {
			return "refused"
		}
		return ok
	}
	switch verb {
	case "read":
		b, err := os.ReadFile(arg)
		return answer("ok "+strings.TrimSpace(string(b)), err)
	case "write":
		return answer("ok", os.WriteFile(arg, []byte("written by the child"), 0o600))
	case "truncate":
		return answer("ok", os.Truncate(arg, 0))
	case "remove":
		return answer("ok", os.Remove(arg))
	case "rename":
		from, to, _ := strings.Cut(arg, ":")
		return answer("ok", os.Rename(from, to))
	case "list":
		if arg == "~" {
			arg = os.Getenv("HOME")
		}
		entries, err := os.ReadDir(arg)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return answer(fmt.Sprint("ok ", names), err)
	case "home":
		return probe("read:" + filepath.Join(os.Getenv("HOME"), arg))
	case "write-home":
		return probe("write:" + filepath.Join(os.Getenv("HOME"), arg))
	case "temp":
		return probe("write:" + filepath.Join(os.TempDir(), arg))
	case "run":
		out, err := exec.Command("sh", "-c", arg).Output()
		return answer("ok "+strings.TrimSpace(string(out)), err)
	case "dial":
		c, err := net.DialTimeout("tcp", arg, 5*time.Second)
		if err == nil {
			c.Close()
		}
		return answer("ok", err)
	case "resolve":
		b, err := os.ReadFile("/etc/resolv.conf")
		return answer("ok "+strconv.Itoa(len(b)), err)
	case "kill":
		pid, _ := strconv.Atoi(arg)
		return answer("ok", syscall.Kill(pid, 0))
	case "env":
		return "ok " + os.Getenv(arg)
	case "cwd":
		dir, err := os.Getwd()
		return answer("ok "+dir, err)
	}
	return "unknown probe"
}
