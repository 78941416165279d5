package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
)

// The bounds of a question, in bytes as JSON writes them.
const (
	MaxQuestionBytes = 400 // of the text, and of why it is asked
	MaxChoices       = 6
	MaxChoiceBytes   = 60
	// MaxAskedAtOnce is how many questions, and how many things that it lacks, an
	// agent may name in one iteration.
	MaxAskedAtOnce = 2
)

// Question is the body of <question>: what the agent has to know before it can
// go on.
type Question struct {
	Text    string   `json:"text"`
	Choices []string `json:"choices,omitempty"` // answers that it offers; none = any
	Why     string   `json:"why,omitempty"`
}

// ParseQuestion reads the body of <question>. What is too long is an error: a
// question that lost its end would be another question.
func ParseQuestion(body string) (Question, error) {
	var q Question
	if err := readFields(body, map[string]any{"text": &q.Text, "choices": &q.Choices, "why": &q.Why}); err != nil {
		return Question{}, err
	}
	return q.fitting()
}

// OwnQuestion is a question that an agent asked by a tool of its own program, which
// knows no bounds of ours. Choices that cannot be shown are left out, so that any
// answer will do; a text that is too long is an error all the same.
func OwnQuestion(question, why string, choices []string) (Question, error) {
	q, err := Question{Text: question, Choices: slices.Clone(choices), Why: why}.fitting()
	if err == nil {
		return q, nil
	}
	return Question{Text: question}.fitting()
}

// fitting is q as it is asked, or what of it is out of bounds.
func (q Question) fitting() (Question, error) {
	q.Text, q.Why = strings.TrimSpace(q.Text), strings.TrimSpace(q.Why)
	switch {
	case text.Blank(q.Text):
		return Question{}, errors.New("it has no text")
	case text.JSONSize(q.Text) > MaxQuestionBytes:
		return Question{}, fmt.Errorf("its text has more than %d bytes; put what is behind it into a file and ask shortly", MaxQuestionBytes)
	case text.JSONSize(q.Why) > MaxQuestionBytes:
		return Question{}, fmt.Errorf("its why has more than %d bytes", MaxQuestionBytes)
	case len(q.Choices) > MaxChoices:
		return Question{}, fmt.Errorf("it has %d choices; at most %d are shown", len(q.Choices), MaxChoices)
	}
	for i, c := range q.Choices {
		c = strings.TrimSpace(c)
		switch {
		case text.Blank(c):
			return Question{}, errors.New("one of its choices is empty")
		case text.JSONSize(c) > MaxChoiceBytes:
			return Question{}, fmt.Errorf("its choice %s has more than %d bytes", quoted(c), MaxChoiceBytes)
		case slices.Contains(q.Choices[:i], c):
			return Question{}, fmt.Errorf("its choice %s stands twice", quoted(c))
		}
		q.Choices[i] = c
	}
	return q, nil
}

// Lack is a <blocker> that says what kind of thing would remove it.
type Lack struct {
	Text  string `json:"text"`
	Needs string `json:"needs"` // one of NeedWords
}

// NeedWords are what a blocker may say that it needs.
func NeedWords() []string { return []string{"person", "credential", "access", "decision"} }

// parseLack reads the JSON form of a blocker; ok is false for plain words,
// which is the other form.
func parseLack(body string) (_ Lack, ok bool, err error) {
	if !strings.HasPrefix(body, "{") || !json.Valid([]byte(body)) {
		return Lack{}, false, nil
	}
	var l Lack // not before: it is on the heap, and most blockers are plain words
	if err := readFields(body, map[string]any{"text": &l.Text, "needs": &l.Needs}); err != nil {
		return Lack{}, true, err
	}
	l.Text = strings.TrimSpace(l.Text)
	switch {
	case text.Blank(l.Text):
		return Lack{}, true, errors.New("it has no text")
	case !slices.Contains(NeedWords(), l.Needs):
		return Lack{}, true, fmt.Errorf("it needs %s; use one of %s", quoted(l.Needs), strings.Join(NeedWords(), ", "))
	}
	return l, true, nil
}

// readFields reads one JSON object whose fields are all known.
func readFields(body string, into map[string]any) error {
	fields, err := objectFields(body)
	if err != nil {
		return err
	}
	for _, f := range fields {
		target, ok := into[f.name]
		if !ok {
			return fmt.Errorf("unknown field %s", quoted(f.name))
		}
		if json.Unmarshal(f.value, target) != nil {
			return fmt.Errorf("%s cannot be %s", f.name, quoted(string(f.value)))
		}
	}
	return nil
}
