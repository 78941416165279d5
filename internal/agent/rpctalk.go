package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// rpcTalk is a conversation by JSON-RPC with a program, over its standard input and
// output. The library gets requests and answers only: it queues what else comes, and
// hangs up when the queue is full, and reads no line of more than 10 MB.
type rpcTalk struct {
	begun  chan struct{} // closed when the fields below are set
	talked chan struct{} // closed when the conversation is over
	hangUp context.CancelFunc
	pipe   *io.PipeWriter
	conn   *acp.Connection
	unread atomic.Int64 // answers that have come and are not known to be read

	// Of the line being read.
	raw      []byte
	rawCut   bool
	requests int
}

const (
	// maxRPCLine bounds what is kept of one message for the library.
	maxRPCLine = 8 << 20
	// maxRPCRequests bounds the questions and answers of one iteration.
	maxRPCRequests = 20_000
)

func newRPCTalk() rpcTalk {
	return rpcTalk{begun: make(chan struct{}), talked: make(chan struct{})}
}

// start begins to talk in a goroutine that hungUp waits for. It is called once, when
// the program runs. answer answers what the program asks.
func (r *rpcTalk) start(ctx context.Context, to io.Writer, answer acp.MethodHandler, talk func(context.Context)) {
	// A run that is interrupted ends the program, and with it the conversation.
	ctx, r.hangUp = context.WithCancel(context.WithoutCancel(ctx))
	from, pipe := io.Pipe()
	r.pipe = pipe
	r.conn = acp.NewConnection(answer, to, from)
	r.conn.SetLogger(slog.New(slog.DiscardHandler))
	go func() {
		<-r.conn.Done()
		from.CloseWithError(io.ErrClosedPipe) // nobody reads any more, and nobody is to wait for it
	}()
	go func() {
		defer close(r.talked)
		talk(ctx)
	}()
	close(r.begun)
}

// request asks the program and waits for its answer. What the answer holds is
// read leniently: programs are older and newer than the protocol's types.
func (r *rpcTalk) request(ctx context.Context, method string, params, result any) error {
	raw, err := acp.SendRequest[json.RawMessage](r.conn, ctx, method, params)
	r.unread.Add(-1)
	if err == nil && result != nil {
		err = json.Unmarshal(raw, result)
	}
	return err
}

// read keeps each line for the library while lines reads it.
func (r *rpcTalk) read(p []byte, lines io.Writer) {
	<-r.begun
	for len(p) > 0 {
		line := p
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			line = p[:i+1]
		}
		if room := maxRPCLine - len(r.raw); len(line) <= room {
			r.raw = append(r.raw, line...)
		} else {
			r.rawCut = true
		}
		_, _ = lines.Write(line)
		p = p[len(line):]
		if line[len(line)-1] == '\n' {
			r.raw, r.rawCut = r.raw[:0], false
		}
	}
}

// pass hands the request or the answer that was read to the library; false = it is
// longer, or one more, than the protocol needs.
func (r *rpcTalk) pass(answer bool) bool {
	if r.requests++; r.requests > maxRPCRequests || r.rawCut {
		return false
	}
	if answer {
		r.unread.Add(1)
	}
	_, _ = r.pipe.Write(r.raw) // fails when the conversation is over
	return true
}

// unreadPatience is how long an answer that has come may take to be noticed.
const unreadPatience = time.Second

// hungUp ends the conversation when the program has ended, and waits for it.
func (r *rpcTalk) hungUp(input *agentInput) {
	<-r.begun
	// The library could take the end of the stream for that of a request
	// which has been answered just before.
	for wait := time.Millisecond; r.unread.Load() > 0 && wait < unreadPatience; wait *= 2 {
		select {
		case <-r.talked:
		case <-time.After(wait):
		}
	}
	input.Close()
	_ = r.pipe.Close() // of a pipe: never fails
	<-r.conn.Done()
	r.hangUp()
	<-r.talked
}
