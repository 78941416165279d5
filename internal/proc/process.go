package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// After SIGKILL the kernel may take its time: a process in an uninterruptible
// state ends when its system call does. killPatience is how long Forge waits
// before it reports such a tree as alive instead of hanging with it.
const killPatience = 3 * time.Second

// leftoverGrace bounds the time between SIGTERM and SIGKILL for processes that
// outlived the child, whose work is over.
const leftoverGrace = time.Second

// goingPatience is how long processes that are seen after the child's exit may
// take to end by themselves before they count as left behind: the other half
// of a pipeline, a pid namespace that is being torn down.
const goingPatience = 100 * time.Millisecond

// Process is a running child. Its methods may be called from several
// goroutines.
type Process struct {
	child    *os.Process
	launched launching
	limits   Limits
	pipes    *pipes
	tree     *tree

	ending  func(ctx context.Context) // nil = nobody asks first
	begun   time.Time
	clock   clock
	wake    chan struct{} // the clock's limits changed
	stop    chan struct{}
	stopped sync.Once
	done    chan struct{}
	result  Result // ordered by done
}

// Started tells of the first sign of life: the start limit is over and the
// idle limit begins.
func (p *Process) Started() {
	p.clock.touched.Store(p.sinceStart())
	if p.clock.started.CompareAndSwap(false, true) {
		p.poke()
	}
}

// Touch tells of activity: the idle limit begins anew.
func (p *Process) Touch() { p.clock.touched.Store(p.sinceStart()) }

// Busy tells that delta tools have begun (+1) or ended (-1). The idle limit is
// suspended while any runs and begins anew when the last one ends.
func (p *Process) Busy(delta int) {
	p.Touch()
	for {
		old := p.clock.busy.Load()
		// An end that is told twice must not count against the next tool.
		if p.clock.busy.CompareAndSwap(old, max(old+int64(delta), 0)) {
			break
		}
	}
	p.poke()
}

// GotResult tells that the child has said its last word: the post-result limit
// begins. Only the first call counts.
func (p *Process) GotResult() {
	p.Started()
	if p.clock.result.CompareAndSwap(0, max(p.sinceStart(), 1)) {
		p.poke()
	}
}

// Stop ends the tree without waiting for it; Result.End is EndStopped unless
// something else came first.
func (p *Process) Stop() { p.stopped.Do(func() { close(p.stop) }) }

// Wait returns once the child has exited, its pipes are drained (at most
// Limits.Drain) and everything that it left behind is ended. It returns within
// about Grace and a few seconds of an expired limit even when a process cannot
// be ended; Result.Err is ErrAlive then.
func (p *Process) Wait() Result {
	<-p.done
	return p.result
}

// PID is the number of the child, or of the sandbox around it.
func (p *Process) PID() int { return p.child.Pid }

func (p *Process) sinceStart() int64 { return int64(time.Since(p.begun)) }

func (p *Process) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// supervise owns the child from its start to the last of its processes.
func (p *Process) supervise(ctx context.Context) {
	defer close(p.done)
	defer p.launched.cleanup()
	exited := make(chan struct{})
	var how exit // ordered by exited
	go func() {
		defer close(exited)
		how = awaitExit(p.child)
		if p.launched.box != nil {
			p.launched.box.over()
		}
	}()

	r := Result{Sandbox: p.launched.level}
	r.End = p.watch(ctx, exited)
	if r.End != EndExited && p.ending != nil {
		p.ask(exited)
	}
	p.tree.adopt(p.pipes.poll(), p.launched.box)
	var alive int
	if r.End == EndExited {
		r.DrainExpired = !p.drain(ctx)
		r.LeftBehind, alive = p.endLeftovers(exited)
	} else {
		r.LeftBehind, alive = p.end(exited, p.limits.Grace)
	}
	if !p.pipes.waitCopied(time.Second) {
		r.DrainExpired = true
		p.pipes.cut()
	}
	r.Err = p.pipes.finish()
	if isClosed(exited) {
		// Reaped last: until here the child's number, which is also that of
		// its group and session, could stand for nothing else.
		r.setExit(how.reap(p.child))
	} else {
		alive++
		go func() { // stays until the kernel lets the child go
			<-exited
			_, _ = how.reap(p.child)
		}()
	}
	if alive > 0 {
		r.Err = errors.Join(r.Err, fmt.Errorf("end process tree: %d %w", alive, ErrAlive))
	}
	if p.launched.box != nil {
		r.Err = errors.Join(r.Err, p.launched.box.finish(&r))
	}
	if p.launched.status != nil && r.End == EndExited {
		r.Err = errors.Join(r.Err, p.launched.status(p.pipes.said))
	}
	p.result = r
}

// askPatience is how long a child may take to end when it is asked to.
const askPatience = 500 * time.Millisecond

// ask lets the child be asked to end, until it does or the time is over.
func (p *Process) ask(exited <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), askPatience)
	told := make(chan struct{})
	go func() {
		defer close(told)
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	p.ending(ctx)
	cancel()
	<-told
}

// watch waits for the exit, the first limit, or a stop.
func (p *Process) watch(ctx context.Context, exited <-chan struct{}) End {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		end, wait := p.limits.due(p.clock.read(), time.Since(p.begun))
		if end != "" {
			select {
			case <-exited: // it was faster
				return EndExited
			default:
				return end
			}
		}
		timer.Reset(wait)
		select {
		case <-exited:
			return EndExited
		case <-ctx.Done():
			return EndCancelled
		case <-p.stop:
			return EndStopped
		case <-p.wake:
		case <-timer.C:
		}
	}
}

// drain lets the pipes run dry after the exit. A stop cuts the wait short, not
// what is already in the pipes.
func (p *Process) drain(ctx context.Context) bool {
	timer := time.NewTimer(p.limits.Drain)
	defer timer.Stop()
	select {
	case <-p.pipes.copied:
		return true
	case <-timer.C:
	case <-ctx.Done():
	case <-p.stop:
	}
	return false
}

// end ends the whole tree: SIGTERM, SIGKILL after grace. It returns how many
// processes beside the child needed SIGKILL, and how many survived even that.
func (p *Process) end(exited <-chan struct{}, grace time.Duration) (killed, alive int) {
	deadline := time.Now().Add(grace)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		// In this order: a child that exits after the search may have left
		// one more process just before.
		gone := isClosed(exited)
		if p.tree.terminate(p.pipesOpen()) == 0 && gone {
			return 0, 0
		}
		now := time.Now()
		if !now.Before(deadline) {
			break
		}
		time.Sleep(min(wait, deadline.Sub(now)))
	}
	return p.tree.kill(p.pipesOpen, func() bool { return isClosed(exited) }, killPatience)
}

// endLeftovers ends what outlived the child; it returns how many that were and
// how many could not be ended.
func (p *Process) endLeftovers(exited <-chan struct{}) (left, alive int) {
	left = p.tree.count(p.pipesOpen())
	for wait := time.Millisecond; left > 0 && wait < goingPatience; wait *= 2 {
		time.Sleep(wait)
		left = p.tree.count(p.pipesOpen())
	}
	if left > 0 {
		_, alive = p.end(exited, min(p.limits.Grace, leftoverGrace))
	}
	return left, alive
}

func (p *Process) pipesOpen() bool { return !isClosed(p.pipes.copied) }

func (r *Result) setExit(state *os.ProcessState, err error) {
	if err != nil {
		r.Err = errors.Join(r.Err, fmt.Errorf("wait for child: %w", err))
		return
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal = ws.Signal().String()
		return
	}
	code := state.ExitCode()
	r.ExitCode = &code
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// clock is what the limits are measured on; times are nanoseconds since the
// start.
type clock struct {
	started atomic.Bool
	touched atomic.Int64
	busy    atomic.Int64
	result  atomic.Int64 // 0 = none yet
}

// how tells the end in a word or two.
func (r Result) how() string {
	if r.ExitCode != nil {
		return fmt.Sprintf("exit code %d", *r.ExitCode)
	}
	return "signal " + r.Signal
}
