package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// keptOfLarge is how much of an answer that is too large is kept.
const keptOfLarge = 64 << 10

var (
	errSilent   = errors.New("nothing came for too long")
	errTooLarge = fmt.Errorf("the answer has more than %d bytes", MaxAnswerBytes)
	errNotJSON  = errors.New("the answer is not JSON")
)

// exchange is one request and its answer. It stands between the library and
// the network to see what the library does not give: the bytes themselves, the
// difference between no usage and none consumed, and when nothing comes.
type exchange struct {
	http    *http.Client
	silence time.Duration
	stream  *stream // asks for the answer in parts as it is made; nil = in one

	sent   []byte      // the body of the request
	got    []byte      // the body of the answer, as far as it came
	status int         // 0 = no answer
	header http.Header // nil = no answer
	usage  tokens      // zero where nothing can have been consumed
	fault  *serviceError
}

// serviceError is what a service says in an answer instead of choices.
type serviceError struct {
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
}

// Do sends the request, reads the whole answer and hands it on, without the
// usage, whose types differ between services.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, fmt.Errorf("read the question: %w", err)
		}
		if x.sent, err = io.ReadAll(body); err != nil {
			return nil, fmt.Errorf("read the question: %w", err)
		}
		if x.stream != nil {
			if x.sent, err = x.stream.wanted(x.sent); err != nil {
				return nil, err
			}
			req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(x.sent)), int64(len(x.sent))
		}
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	quiet := time.AfterFunc(x.silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	var asked atomic.Bool // the hook runs beside this goroutine
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { asked.Store(true) }})
	res, err := x.http.Do(req.WithContext(traced))
	if err == nil || asked.Load() {
		x.usage = unknownTokens // the service may have worked, and be paid
	}
	if err != nil {
		return nil, why(ctx, err)
	}
	defer res.Body.Close()
	x.status, x.header = res.StatusCode, res.Header
	var in io.Reader = &lively{in: io.LimitReader(res.Body, MaxAnswerBytes+1), quiet: quiet, silence: x.silence}
	parted := x.stream != nil && res.StatusCode < 300 && isEventStream(res.Header)
	if parted {
		in = io.TeeReader(in, x.stream)
	}
	x.got, err = io.ReadAll(in)
	switch {
	case err != nil:
		return nil, why(ctx, fmt.Errorf("read the answer: %w", err))
	case len(x.got) > MaxAnswerBytes:
		x.got = x.got[:keptOfLarge]
		return nil, errTooLarge
	}
	body := x.got
	if parted {
		if body, err = x.stream.whole(); err != nil {
			return nil, err
		}
	}
	if res.StatusCode >= 300 {
		x.usage = tokens{} // an answer that was not given is not paid
	} else if body, err = x.open(body); err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// open takes usage and error out of an answer.
func (x *exchange) open(body []byte) ([]byte, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(body, &parts); err != nil || parts == nil {
		return nil, errNotJSON
	}
	x.usage = readTokens(parts["usage"])
	delete(parts, "usage")
	if said, ok := parts["error"]; ok {
		var fault serviceError
		if json.Unmarshal(said, &fault) == nil && (fault.Message != "" || len(fault.Code) > 0) {
			x.fault = &fault
		}
	}
	out, err := json.Marshal(parts)
	if err != nil {
		return nil, errNotJSON
	}
	return out, nil
}

// why puts the cause of a context's end in the place of its error.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		return errSilent
	}
	return err
}

// lively restarts the clock of silence with every byte.
type lively struct {
	in      io.Reader
	quiet   *time.Timer
	silence time.Duration
}

func (l *lively) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if n > 0 {
		l.quiet.Reset(l.silence)
	}
	return n, err
}
