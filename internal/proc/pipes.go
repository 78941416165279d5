package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync/atomic"
	"syscall"
	"time"
)

// copyBytes is the size of one read of a child's output.
const copyBytes = 32 << 10

// statusBytes bounds what a sandbox may say about its start.
const statusBytes = 16 << 10

// pipes are the child's descriptors and the goroutines that serve them.
type pipes struct {
	child  []*os.File // stdin, stdout, stderr, status as the child gets them
	opened []*os.File // what child is made of, each once
	stdin  *os.File   // our end; nil = /dev/null
	out    []*output
	status *os.File      // our end; nil = none
	said   []byte        // read from status
	fed    chan struct{} // closed when stdin is written
	copied chan struct{} // closed when every output has ended
}

// output is one pipe out of the child, served by one goroutine.
type output struct {
	r         *os.File
	w         io.Writer
	abandoned atomic.Bool
	err       error // of w; ordered by pipes.copied
}

func openPipes(s Spec, status bool) (_ *pipes, err error) {
	p := &pipes{fed: make(chan struct{}), copied: make(chan struct{})}
	defer func() {
		if err != nil {
			err = fmt.Errorf("open child's pipes: %w", err)
			p.closeAll()
		}
	}()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	p.opened = append(p.opened, null)
	p.child = []*os.File{null, null, null}
	if s.Stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		p.opened = append(p.opened, r)
		p.child[0], p.stdin = r, w
	}
	if p.child[1], err = p.output(s.Stdout, null); err != nil {
		return nil, err
	}
	if sameWriter(s.Stdout, s.Stderr) {
		p.child[2] = p.child[1]
	} else if p.child[2], err = p.output(s.Stderr, null); err != nil {
		return nil, err
	}
	if status {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		p.opened = append(p.opened, w)
		p.child, p.status = append(p.child, w), r
	}
	return p, nil
}

func (p *pipes) output(w io.Writer, null *os.File) (*os.File, error) {
	if w == nil {
		return null, nil
	}
	r, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	widen(end)
	p.opened = append(p.opened, end)
	p.out = append(p.out, &output{r: r, w: w})
	return end, nil
}

func sameWriter(a, b io.Writer) bool {
	return a != nil && reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

func (p *pipes) closeChildEnds() {
	for _, f := range p.opened {
		f.Close()
	}
}

func (p *pipes) closeAll() {
	p.closeChildEnds()
	if p.stdin != nil {
		p.stdin.Close()
	}
	if p.status != nil {
		p.status.Close()
	}
	for _, o := range p.out {
		o.r.Close()
	}
}

// run starts the goroutines: one for stdin, one for each output.
func (p *pipes) run(stdin io.Reader) {
	if p.stdin == nil {
		close(p.fed)
	} else {
		go func() {
			defer close(p.fed)
			// An error means that the child stopped reading, which is its
			// right.
			_, _ = io.Copy(p.stdin, stdin)
			p.stdin.Close()
		}()
	}
	var running atomic.Int32
	running.Store(int32(len(p.out)))
	if len(p.out) == 0 {
		close(p.copied)
	}
	for _, o := range p.out {
		go func() {
			o.copy()
			if running.Add(-1) == 0 {
				close(p.copied)
			}
		}()
	}
}

func (o *output) copy() {
	buf := make([]byte, copyBytes)
	for {
		n, err := o.r.Read(buf)
		if n > 0 && o.err == nil && !o.abandoned.Load() {
			if _, werr := o.w.Write(buf[:n]); werr != nil {
				o.err = fmt.Errorf("write child's output: %w", werr)
			}
		}
		if err != nil {
			return
		}
	}
}

// cut ends all reading at once: what is still in the pipes is lost.
func (p *pipes) cut() {
	for _, o := range p.out {
		_ = o.r.SetReadDeadline(time.Unix(1, 0))
	}
}

// waitCopied waits until every output has ended, at most for d.
func (p *pipes) waitCopied(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.copied:
		return true
	case <-t.C:
		return false
	}
}

// finish releases everything once the tree is gone and reports the first
// error of each writer. A writer that blocks even then is left with its
// goroutine, but gets no more calls.
func (p *pipes) finish() error {
	if p.stdin != nil {
		p.stdin.Close()
		select {
		case <-p.fed:
		case <-time.After(100 * time.Millisecond):
		}
	}
	copied := p.waitCopied(time.Second)
	var err error
	for _, o := range p.out {
		o.abandoned.Store(true)
		o.r.Close()
		if copied {
			err = errors.Join(err, o.err)
		}
	}
	if p.status != nil {
		p.poll()
		p.status.Close()
	}
	if !copied {
		err = errors.New("write child's output: the writer blocks")
	}
	return err
}

// poll takes what the sandbox has said by now, without waiting for more.
func (p *pipes) poll() []byte {
	if p.status == nil {
		return nil
	}
	c, err := p.status.SyscallConn()
	if err != nil {
		return p.said
	}
	_ = c.Read(func(fd uintptr) bool {
		for len(p.said) < statusBytes {
			var b [1 << 10]byte
			n, err := syscall.Read(int(fd), b[:])
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 || err != nil {
				break
			}
			p.said = append(p.said, b[:n]...)
		}
		return true
	})
	return p.said
}
