package llm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind says what kept a question from its answer.
type Kind string

const (
	Timeout      Kind = "timeout"       // the service was silent for too long, or the context's time was up
	RateLimited  Kind = "rate_limited"  // 429 after all tries, or a wait that is too long; also a spent quota
	Unauthorized Kind = "unauthorized"  // the key is missing or not accepted
	Unreachable  Kind = "unreachable"   // nothing answers there, or something that is no such service
	UnknownModel Kind = "unknown_model" // the service does not have the model
	Refused      Kind = "refused"       // the model will not answer, or a filter stopped it
	Empty        Kind = "empty"         // an answer without content
	BadAnswer    Kind = "bad_answer"    // not JSON, or not what was asked for, also after one repair
	TooLarge     Kind = "too_large"     // an answer above MaxAnswerBytes
	Truncated    Kind = "truncated"     // the answer reached MaxOutputTokens
	ToolCall     Kind = "tool_call"     // the model called a tool that it does not have
	Server       Kind = "server"        // 5xx, or an answer that broke off, after all tries
	Rejected     Kind = "rejected"      // the service does not accept the question (4xx)
	Cancelled    Kind = "cancelled"     // the context was cancelled
)

// Trouble is the error of a question without an answer that can be used. It
// holds no secret that the client knows.
type Trouble struct {
	Kind   Kind
	What   string        // for people, one line
	Fix    string        // the way out, "" = none is known
	Status int           // of the service, 0 = none
	After  time.Duration // what the service asks to wait, 0 = it does not say
	err    error
	spent  bool   // the account's quota is
	words  string // of the service, whole; never shown
}

// Error is one line.
func (t *Trouble) Error() string { return "ask the model: " + t.What }

// Unwrap is what the trouble came from, such as the context's error.
func (t *Trouble) Unwrap() error { return t.err }

// KindOf is the kind of the trouble in err; "" when there is none.
func KindOf(err error) Kind {
	var t *Trouble
	if errors.As(err, &t) {
		return t.Kind
	}
	return ""
}

// Passes says that the same question may be answered a while later, without
// anybody mending anything.
func (t *Trouble) Passes() bool {
	return t.Kind == Server || t.Kind == Unreachable && t.Status == 0 || t.Kind == RateLimited && !t.spent
}

// ended is the trouble of a context that is over.
func ended(ctx context.Context) *Trouble {
	err := ctx.Err()
	if errors.Is(err, context.DeadlineExceeded) {
		return &Trouble{Kind: Timeout, What: "the time for the answer was up", Fix: "check that the service answers at all", err: err}
	}
	return &Trouble{Kind: Cancelled, What: "the question was cancelled", err: err}
}

func badAnswer(format string, args ...any) *Trouble {
	return &Trouble{Kind: BadAnswer, What: fmt.Sprintf(format, args...)}
}
