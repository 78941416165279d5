package review

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	texts "forge/internal/text"
	"forge/internal/work"
)

// VoteInput is what a worker judges: changes that others made for one task.
type VoteInput struct {
	PhaseName string
	Summary   string // what the phase was to do
	Changes   []Change
	// Keep stores what was asked and answered, and returns its name. nil = nothing
	// is kept.
	Keep func(data []byte) string
}

// mostVoted is how many bytes of changes one voter is shown, of all together.
const mostVoted = 160 << 10

// Vote asks a worker for points for each change. An answer that does not judge each
// of them, once, is none: the report has no scores and says why.
func Vote(ctx context.Context, m Model, in VoteInput) work.VoteReport {
	n := len(in.Changes)
	check := func(answer []byte) error { _, err := readVote(answer, n); return err }
	reply, err := Reply{}, ctx.Err()
	if err == nil {
		reply, err = m.Ask(ctx, Question{System: promptFile("vote"), User: voteText(in), Schema: voteSchema(n), Name: "vote", Check: check})
	}
	var rep work.VoteReport
	if err == nil {
		rep.Scores, err = readVote(reply.JSON, n)
	}
	if err != nil {
		rep.Scores, rep.Why = nil, "no usable answer: "+reason(err)
	}
	rep.Model, rep.Usage = texts.Clip(reply.Model, 200), reply.Usage.Clean()
	if in.Keep != nil && len(reply.Request) > 0 {
		rep.Request = in.Keep(reply.Request)
	}
	if in.Keep != nil && len(reply.Answer) > 0 {
		rep.Answer = in.Keep(reply.Answer)
	}
	return rep
}

// voteText shows the changes by letters alone.
func voteText(in VoteInput) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Judge %s, each on its own: %s. All were made for the same task, and all pass its commands.\n", texts.Number(len(in.Changes), "change"), strings.Join(changeLabels(len(in.Changes)), ", "))
	nameOf(&b, in.PhaseName)
	if in.Summary != "" {
		fence(&b, "What the phase was to do", []byte(summary(in.Summary)))
	}
	for at, c := range in.Changes {
		fence(&b, "Change "+work.ChangeLabel(at), []byte(Shown(c, mostVoted/len(in.Changes))))
	}
	return b.String()
}

// Shown is a change as text of about most bytes, whole files first come first
// served; it ends with what had no room.
func Shown(c Change, most int) string {
	list, left := parts(c, Tokens(most), 1)
	var b strings.Builder
	for _, p := range list {
		b.Write(p.text)
	}
	if len(left) > 0 {
		fmt.Fprintf(&b, "\n(%s not shown for want of room)\n", texts.Number(len(left), "file"))
	}
	if len(c.Files) == 0 {
		b.WriteString("(it changes nothing)\n")
	}
	return b.String()
}

func changeLabels(n int) []string {
	var out []string
	for at := range n {
		out = append(out, work.ChangeLabel(at))
	}
	return out
}

// voteSchema is the JSON schema of an answer about n changes.
func voteSchema(n int) json.RawMessage {
	properties := map[string]any{}
	for _, label := range changeLabels(n) {
		properties[label] = map[string]any{
			"type": "object", "additionalProperties": false, "required": []string{"score", "critique"}, "properties": map[string]any{
				"score":    map[string]any{"type": "integer", "minimum": 0, "maximum": work.MostScore, "description": "how good it is, 10 is the best"},
				"critique": map[string]any{"type": "string", "description": "what is right and what is wrong with it, in at most five sentences"},
			},
		}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "required": changeLabels(n), "properties": properties})
	if err != nil {
		return nil // of strings and numbers there always is one
	}
	return schema
}

// readVote reads points and critiques of n changes, in their order.
func readVote(data []byte, n int) ([]work.Score, error) {
	if len(data) > maxAnswerBytes {
		return nil, fmt.Errorf("the answer has %d bytes, more than %d", len(data), maxAnswerBytes)
	}
	o, err := parseObject(data, "")
	if err != nil {
		return nil, err
	}
	if len(o.names) > n {
		return nil, valueError(CodeUnknownField, "the answer has %d fields, and %d changes were shown", len(o.names), n)
	}
	out := make([]work.Score, 0, n)
	for _, label := range changeLabels(n) {
		raw, err := o.need(label)
		if err != nil {
			return nil, err
		}
		one, err := parseObject(raw, label)
		if err != nil {
			return nil, err
		}
		score, err := one.whole("score", 0)
		if err != nil {
			return nil, err
		}
		if len(one.names) > 2 {
			return nil, valueError(CodeUnknownField, "%s has more than score and critique", label)
		}
		if score > work.MostScore {
			return nil, one.bad("score", fmt.Sprintf("a whole number from 0 to %d", work.MostScore))
		}
		critique, err := one.text("critique")
		if err != nil {
			return nil, err
		}
		out = append(out, work.Score{Score: score, Critique: texts.Clip(texts.Visible(strings.TrimSpace(critique)), 2000)})
	}
	return out, nil
}
