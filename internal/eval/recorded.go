package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"forge/internal/text"
	"forge/internal/work"
	"forge/review"
)

// RecordedAnswer is one answer, or why there was none.
type RecordedAnswer struct {
	Answer json.RawMessage `json:"answer,omitempty"`
	None   string          `json:"none,omitempty"`
}

// recorded reads recorded.json.
func (l *loader) recorded(text []byte) *Recorded {
	r, top, ok := l.tree(recordedFile, text)
	if !ok {
		return nil
	}
	r.known(top, "reviewer", "answers", "same")
	if r.text(top, "reviewer", true) == "" {
		return nil
	}
	for _, n := range r.list(top, "answers") {
		answer, has := n.field("answer")
		none, hasNot := n.field("none")
		_, isText := none.value.(string)
		if !n.is('{') || has == hasNot || has && !answer.is('{') || hasNot && !isText {
			r.bad(n, "is no recorded answer", `write {"answer": {…}}, or {"none": "why"}`)
			return nil
		}
		r.known(n, "answer", "none")
	}
	if list, ok := top.field("same"); ok {
		for _, n := range list.items {
			if !n.is('{') {
				r.bad(n, "is no JSON object", "write expectation, file, line, issue and same")
				return nil
			}
			r.known(n, "case", "expectation", "file", "line", "issue", "same")
		}
	}
	var out Recorded
	if err := json.Unmarshal(text, &out); err != nil {
		r.bad(top, "is no record: "+err.Error(), "write it as forge eval --record does")
		return nil
	}
	return &out
}

// ReadRecorded reads a record from a folder that holds one for each case, such
// as was written by WriteRecorded; nil when there is none for that case.
func ReadRecorded(text []byte, name string) (*Recorded, error) {
	var problems Problems
	l := loader{name: name, problems: &problems}
	out := l.recorded(text)
	if len(problems.List) > 0 {
		return nil, &problems
	}
	return out, nil
}

// Player answers from a record, one question after the other. Nothing is asked
// and nothing spent.
type Player struct {
	record *Recorded // nil = there is none
	next   int
}

// NewPlayer plays the record of a case.
func NewPlayer(r *Recorded) *Player { return &Player{record: r} }

// Ask is the next answer of the record.
func (p *Player) Ask(_ context.Context, q review.Question) (review.Reply, error) {
	rep := review.Reply{Usage: nothing()}
	if p.record == nil {
		return rep, errors.New("no answer is on record")
	}
	rep.Model = p.record.Reviewer
	if p.next >= len(p.record.Answers) {
		return rep, fmt.Errorf("the record has %s, and one more is asked for", text.Number(len(p.record.Answers), "answer"))
	}
	a := p.record.Answers[p.next]
	p.next++
	if a.Answer == nil {
		return rep, errors.New(a.None)
	}
	rep.JSON, rep.Answer = a.Answer, a.Answer
	return rep, q.Check(a.Answer)
}

// nothing is known usage of nothing.
func nothing() work.Usage {
	var tokens int64
	var usd float64
	return work.Usage{InputTokens: &tokens, OutputTokens: &tokens, CostUSD: &usd}
}

// Recorder passes questions on and keeps what was answered.
type Recorder struct {
	to      review.Model
	mu      sync.Mutex
	answers []RecordedAnswer
	last    error
}

// NewRecorder keeps what m answers.
func NewRecorder(m review.Model) *Recorder { return &Recorder{to: m} }

// Ask asks the model behind it.
func (r *Recorder) Ask(ctx context.Context, q review.Question) (review.Reply, error) {
	rep, err := r.to.Ask(ctx, q)
	a := RecordedAnswer{Answer: rep.JSON}
	if err != nil || !json.Valid(rep.JSON) {
		a = RecordedAnswer{None: "no usable answer"}
		if err != nil {
			a.None = err.Error()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers, r.last = append(r.answers, a), err
	return rep, err
}

// Last is the error of the last question, nil after an answer.
func (r *Recorder) Last() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Record is what was answered so far, under a name.
func (r *Recorder) Record(reviewer string, same []Same) Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Recorded{Reviewer: reviewer, Answers: append([]RecordedAnswer{}, r.answers...), Same: same}
}
