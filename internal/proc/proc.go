// Package proc runs a child process that is not trusted: with limits on its
// time, an environment that is given in full, a sandbox where the machine has
// one, and an end that reaches everything the child has started.
//
// # What is found and what is not
//
// A child is the leader of a session and a process group of its own, and every
// process that it starts inherits FORGE_LEASE=<mark> in its environment. When
// the child is ended, or has left processes behind, Linux is asked for all
// members of the tree: descendants by parent, members of the group and the
// session, holders of the child's output pipes, and every process whose
// environment carries the mark, in whatever session and under whatever parent.
//
// Without a sandbox a process escapes that search when it does all of this:
// it loses its parent before it is looked for, moves to a session of its own,
// clears its environment (or makes it unreadable by not being dumpable), and
// closes its output. In a bubblewrap sandbox nothing escapes: the tree lives
// in a pid namespace, which the kernel ends with its first process.
//
// Forge does not make itself a subreaper (PR_SET_CHILD_SUBREAPER). Orphans
// would become its own children, and to reap them without taking exits away
// from unrelated exec.Cmd calls it would have to know every child of every
// package; who started an orphan would still not be known.
//
// On other systems than Linux the process group is all that is ended.
package proc

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// MarkVariable is the environment variable that marks the processes of an
// attempt.
const MarkVariable = "FORGE_LEASE"

// QuietMarkVariable marks processes that must not learn who started them: what
// is proven could behave better while it is looked at. Service managers give
// the same variable to what they start.
const QuietMarkVariable = "INVOCATION_ID"

// Spec says what to start and how to hold it.
type Spec struct {
	// Path is the program. Without a slash it is looked up in the PATH of
	// Env; a relative one with a slash is taken from Dir.
	Path string
	Args []string // without argv[0]
	Dir  string   // absolute working folder
	Env  []string // the complete environment; nothing is inherited

	// Stdin is read until its end or the child's exit; nil is /dev/null. A
	// reader that blocks for ever keeps its goroutine.
	Stdin io.Reader

	// Stdout and Stderr are each written from one goroutine; nil discards.
	// The same writer may stand in both: the child then has one pipe for
	// both and their order is kept. After a write error the rest is read and
	// dropped, so that the child does not stall, and Result.Err says so.
	Stdout, Stderr io.Writer

	// Mark is the value of FORGE_LEASE in every process of the tree; "" is
	// a random one. Two children that run at the same time need different
	// marks: ending one ends all processes of its mark.
	Mark string
	// Quiet passes the mark on under QuietMarkVariable instead.
	Quiet bool

	Sandbox *Sandbox // nil = none
	Limits  Limits

	// Ending, unless nil, is called when a limit, a stop or the context is
	// about to end the child, so that it can be asked to end by itself. The
	// first signal is sent when it returns; it has to do so when ctx is
	// done, which is half a second later, or earlier when the child exits.
	Ending func(ctx context.Context)
}

// Limits are the time limits of a child. 0 means none, except that Drain 0 is
// DefaultDrain and Grace 0 is DefaultGrace.
type Limits struct {
	Start      time.Duration // until Process.Started
	Idle       time.Duration // between calls of Process.Touch; suspended while a tool runs, and after the result where PostResult is set
	Total      time.Duration // since Start
	PostResult time.Duration // between Process.GotResult and the exit
	Drain      time.Duration // how long pipes may stay open after the exit
	Grace      time.Duration // between SIGTERM and SIGKILL
}

// DefaultDrain and DefaultGrace stand in for a zero Limits.Drain and
// Limits.Grace.
const (
	DefaultDrain = 10 * time.Second
	DefaultGrace = 3 * time.Second
)

// End says why a child ended.
type End string

const (
	EndExited     End = "exited"      // by itself
	EndStart      End = "start"       // Limits.Start
	EndIdle       End = "idle"        // Limits.Idle
	EndTotal      End = "total"       // Limits.Total
	EndPostResult End = "post_result" // Limits.PostResult
	EndCancelled  End = "cancelled"   // the context
	EndStopped    End = "stopped"     // Process.Stop
)

// Result is what came of a child. That it failed is a result, not an error.
type Result struct {
	// ExitCode is nil when the child was ended by a signal. Bubblewrap
	// reports its command's signal as 128 plus its number.
	ExitCode *int
	Signal   string // the signal that ended it, such as "killed"; else ""
	End      End    // what happened first: the exit, a limit, or a stop

	// DrainExpired says that pipes were still open when Limits.Drain was
	// over, so that the output may be cut.
	DrainExpired bool

	// LeftBehind counts the processes that outlived the child, or SIGTERM,
	// and that Forge had to end itself. What dies with its pid namespace is
	// not counted.
	LeftBehind int

	Sandbox Level // the level that the child ran under

	// Err says what went wrong on Forge's side: the sandbox could not start
	// the command, output could not be written, or (ErrAlive) a process of
	// the tree could not be ended. nil when nothing did.
	Err error
}

// ErrAlive is in Result.Err, and comes from KillMarked, when processes were
// still there after SIGKILL.
var ErrAlive = errors.New("processes are still alive")

// Start starts the child. The error says that nothing runs: an unknown
// program, a sandbox that cannot be built, a context that is already done. A
// context that is cancelled later ends the tree (EndCancelled). Whoever starts
// a child waits for it.
func Start(ctx context.Context, s Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	p, err := start(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	return p, nil
}

// Run starts the child, counts it as started at once, and waits for it. The
// error is Start's, or Result.Err.
func Run(ctx context.Context, s Spec) (Result, error) {
	p, err := Start(ctx, s)
	if err != nil {
		return Result{}, err
	}
	p.Started()
	r := p.Wait()
	return r, r.Err
}

func start(ctx context.Context, s Spec) (*Process, error) {
	if s.Limits.Drain <= 0 {
		s.Limits.Drain = DefaultDrain
	}
	if s.Limits.Grace <= 0 {
		s.Limits.Grace = DefaultGrace
	}
	if s.Mark == "" {
		s.Mark = randomMark()
	}
	variable := MarkVariable
	if s.Quiet {
		variable = QuietMarkVariable
	}
	s.Env = marked(s.Env, variable, s.Mark)
	path, err := s.Path, error(nil)
	// A container finds a program by its name in its own folders.
	if s.Sandbox == nil || s.Sandbox.Level != LevelContainer || path == "" || strings.Contains(path, "/") {
		path, err = lookPath(s.Path, s.Dir, s.Env)
	}
	if err != nil {
		return nil, err
	}
	l, err := prepare(s, path)
	if err != nil {
		return nil, err
	}
	p, err := launch(s, l)
	if err != nil {
		l.cleanup()
		return nil, err
	}
	go p.supervise(ctx)
	return p, nil
}

// launching is a command line that is ready to be executed: the child's own,
// or that of the sandbox around it.
type launching struct {
	path    string
	argv    []string
	env     []string
	level   Level
	status  func(said []byte) error // judges what the sandbox wrote to descriptor 3; nil = no such descriptor
	cleanup func()                  // after the end
	sys     *syscall.SysProcAttr    // nil = a session of its own and no more
	box     box                     // nil = the child is started by Forge
}

// box is a sandbox in which somebody else starts the child: a container. What Forge
// starts is the client of its runtime, and the child's files are handed in.
type box interface {
	// files are those of the client.
	files() []*os.File
	// hand gives the child its files as soon as it is there, and calls release once
	// nothing of them is held here any more.
	hand(files []*os.File, release func())
	// first is the process that the child's pid namespace lives with, 0 = not known.
	first() int
	// over is told that the client has exited.
	over()
	// finish corrects how the child ended by what the box said of it. The error says
	// that it never began, or that something of it may be left.
	finish(r *Result) error
}

func launch(s Spec, l launching) (*Process, error) {
	keepInherited()
	pipes, err := openPipes(s, l.status != nil)
	if err != nil {
		return nil, err
	}
	sys := l.sys
	if sys == nil {
		sys = &syscall.SysProcAttr{Setsid: true}
	}
	attr := &os.ProcAttr{Dir: s.Dir, Env: l.env, Files: pipes.child, Sys: sys}
	if l.box != nil {
		attr.Dir, attr.Files = "/", l.box.files()
	}
	child, err := startProcess(l.path, l.argv, attr)
	if err != nil {
		pipes.closeAll()
		return nil, err
	}
	if l.box != nil {
		l.box.hand(pipes.child, pipes.closeChildEnds)
	} else {
		pipes.closeChildEnds()
	}
	p := &Process{
		child: child, launched: l, limits: s.Limits, pipes: pipes,
		tree: newTree(child.Pid, s.Mark, l.level, pipes.out),
		done: make(chan struct{}), stop: make(chan struct{}), wake: make(chan struct{}, 1),
		begun: time.Now(), ending: s.Ending,
	}
	pipes.run(s.Stdin)
	return p, nil
}

// startProcess tries again for a moment when the program's file is busy: one
// that was just written is so while another goroutine's fork still holds the
// writer's descriptor.
func startProcess(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	for wait := time.Millisecond; ; wait *= 2 {
		child, err := os.StartProcess(path, argv, attr)
		if err == nil {
			return child, nil
		}
		if !errors.Is(err, syscall.ETXTBSY) || wait > 64*time.Millisecond {
			return nil, bare(err)
		}
		time.Sleep(wait)
	}
}

// bare takes the operation off an error of os, since the caller names it.
func bare(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("execute %s: %w", pe.Path, pe.Err)
	}
	return err
}

func randomMark() string {
	var b [12]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}
