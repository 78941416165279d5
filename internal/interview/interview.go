// Package interview has an agent ask what a wish leaves open, one question at a
// time, until what it hands over can be proven: a spec, or the parts of a design.
package interview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// FileName is the file that the agent writes, in its folder.
const FileName = "forge-interview.json"

// Bounds of what is asked and kept.
const (
	MaxQuestions   = 20
	MaxAnswerBytes = 4 << 10
	maxWords       = 1000 // bytes of one line of a result
	maxList        = 50
)

// Kind says what an interview comes to.
type Kind string

// The kinds.
const (
	OfSpec   Kind = "spec"
	OfDesign Kind = "design"
)

// Record is an interview so far: what outlives the program that asks.
type Record struct {
	Kind    Kind      `json:"kind"`
	Wish    string    `json:"wish"`           // the text that it is about
	From    string    `json:"from,omitempty"` // where that is from, for people
	Began   time.Time `json:"began"`
	Turns   []Turn    `json:"turns"`
	Enough  bool      `json:"enough,omitempty"` // a person asks for the result now
	Spec    *Spec     `json:"spec,omitempty"`
	Design  *Design   `json:"design,omitempty"`
	Refused []string  `json:"refused,omitempty"` // what was wrong with the last result
	Problem string    `json:"problem,omitempty"` // why the agent could not go on beside who answered
}

// Turn is one question and its answer.
type Turn struct {
	work.Question
	Answered bool   `json:"answered,omitempty"`
	Answer   string `json:"answer,omitempty"` // "" = the agent decides
}

// Open is the question that waits for an answer, nil for none.
func (r *Record) Open() *Turn {
	if n := len(r.Turns); n > 0 && !r.Turns[n-1].Answered {
		return &r.Turns[n-1]
	}
	return nil
}

// Done says that the interview came to its result.
func (r *Record) Done() bool { return r.Spec != nil || r.Design != nil }

// Answer takes the words of a person: a number is that choice, nothing lets the
// agent decide.
func (r *Record) Answer(words string) error {
	turn := r.Open()
	words = strings.TrimSpace(words)
	switch {
	case turn == nil:
		return errors.New("nothing is asked")
	case len(words) > MaxAnswerBytes:
		return fmt.Errorf("the answer has %d bytes, more than %d", len(words), MaxAnswerBytes)
	}
	for i, c := range turn.Choices {
		if words == fmt.Sprint(i+1) {
			words = c
			break
		}
	}
	turn.Answered, turn.Answer = true, words
	return nil
}

// Author asks: an agent that has read prompt writes its file, whose text is
// returned.
type Author interface {
	Draft(ctx context.Context, prompt string) ([]byte, error)
}

// Step has the author ask the next question, or hand over the result. What it
// writes is repaired once. keep is called whenever the record must not be lost.
func Step(ctx context.Context, a Author, r *Record, keep func() error) error {
	if r.Done() || r.Open() != nil {
		return nil
	}
	prompt := Prompt(*r)
	for try := 0; ; try++ {
		body, err := a.Draft(ctx, prompt)
		if err != nil {
			return err
		}
		problems := r.take(body)
		if len(problems) == 0 {
			r.Refused = nil
			return keep()
		}
		if r.Refused = problems; try == 1 {
			return errors.Join(keep(), &ReplyError{Problems: problems})
		}
		prompt = repair(problems)
	}
}

// ReplyError is what the agent wrote and could not be used even after a repair.
type ReplyError struct{ Problems []string }

func (e *ReplyError) Error() string {
	return "what the agent wrote cannot be used after one repair:\n  " + strings.Join(e.Problems, "\n  ")
}

// reply is the file that the author writes.
type reply struct {
	Question *work.Question `json:"question"`
	Spec     *Spec          `json:"spec"`
	Design   *Design        `json:"design"`
}

// take reads what the author wrote, and returns everything that is wrong with it.
func (r *Record) take(body []byte) []string {
	var got reply
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		return []string{"it is not the JSON that was asked for: " + text.Clip(err.Error(), 200)}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return []string{"there is text after the JSON object"}
	}
	result := got.Spec != nil && r.Kind == OfSpec || got.Design != nil && r.Kind == OfDesign
	switch {
	case (got.Question != nil) == result:
		return []string{"write either a question or the " + string(r.Kind)}
	case got.Question != nil && r.last():
		return []string{fmt.Sprintf("no more questions: write the %s now, and put what is still open into \"open\"", r.Kind)}
	case got.Question != nil:
		return r.ask(*got.Question)
	case got.Spec != nil:
		if problems := got.Spec.check(); len(problems) > 0 {
			return problems
		}
		r.Spec = got.Spec
	default:
		if problems := got.Design.check(); len(problems) > 0 {
			return problems
		}
		r.Design = got.Design
	}
	return nil
}

// last says that the result is due, whatever is still open.
func (r *Record) last() bool { return r.Enough || len(r.Turns) >= MaxQuestions }

func (r *Record) ask(q work.Question) []string {
	body, err := json.Marshal(q)
	if err == nil {
		q, err = work.ParseQuestion(string(body))
	}
	if err != nil {
		return []string{"the question: " + err.Error()}
	}
	for _, t := range r.Turns {
		if strings.EqualFold(t.Text, q.Text) {
			return []string{fmt.Sprintf("%q was asked before; the answer was %q", text.Clip(q.Text, 100), text.Clip(t.said(), 100))}
		}
	}
	r.Turns = append(r.Turns, Turn{Question: q})
	return nil
}

func (t Turn) said() string {
	if t.Answer == "" {
		return "decide yourself, and write down what you assumed"
	}
	return t.Answer
}
