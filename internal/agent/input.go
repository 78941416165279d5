package agent

import (
	"io"
	"sync"
)

// agentInput is what an agent is still to read: whoever writes never waits for
// the agent. It is a reader for one goroutine and a writer for several.
type agentInput struct {
	mu     sync.Mutex
	more   sync.Cond
	b      []byte
	closed bool
}

// maxInput bounds what waits for an agent that does not read, beyond one
// message of any size.
const maxInput = 16 << 20

func newAgentInput() *agentInput {
	i := &agentInput{}
	i.more.L = &i.mu
	return i
}

// Write takes all of p, or nothing of it: io.ErrClosedPipe after Close, and
// io.ErrShortWrite when too much waits already.
func (i *agentInput) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.closed:
		return 0, io.ErrClosedPipe
	case len(i.b) > maxInput:
		return 0, io.ErrShortWrite
	}
	i.b = append(i.b, p...)
	i.more.Signal()
	return len(p), nil
}

// Read waits for something to read. After Close it gives what is left.
func (i *agentInput) Read(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.b) == 0 && !i.closed {
		i.more.Wait()
	}
	if len(i.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, i.b)
	if i.b = i.b[n:]; len(i.b) == 0 {
		i.b = nil
	}
	return n, nil
}

// Close ends the input behind what has been written.
func (i *agentInput) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.more.Broadcast()
}
