package companion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"forge/factory/web"
	"forge/factory/web/diff"
	"forge/internal/llm"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// proposePrefix begins the names of the tools that propose something.
const proposePrefix = "propose_"

// way is one kind of change: who may have it carried out, what the model is to say
// of it, and the one way in which it is done.
type way struct {
	kind  work.ProposalKind
	about string
	least web.Role

	run bool // only where it is talked about a run
	in  func() (*jsonschema.Schema, error)
	// make checks what the model said and makes a proposal of it. It changes nothing.
	make func(ctx context.Context, t *turn, input json.RawMessage) (work.Proposal, error)
	// do carries a confirmed proposal out, by the way in which pages do, and says
	// what came of it.
	do func(ctx context.Context, r *Room, p work.Proposal, by web.Asker) (string, error)
}

// ways are all kinds of changes, in the order in which the model is told of them.
func ways() []way {
	return []way{tellWay(), commentWay(), editWay(), todosWay(), issueWay(), levelWay(), settingsWay()}
}

// wayOf is the way of a kind.
func wayOf(kind work.ProposalKind) (way, bool) {
	all := ways()
	n := slices.IndexFunc(all, func(w way) bool { return w.kind == kind })
	if n < 0 {
		return way{}, false
	}
	return all[n], true
}

// Least is the role that confirming a kind of proposal takes.
func Least(kind work.ProposalKind) (web.Role, bool) {
	w, ok := wayOf(kind)
	return w.least, ok
}

// define is a way whose proposals are made of an In.
func define[In any](w way, build func(context.Context, *turn, In) (work.Proposal, error)) way {
	w.in = func() (*jsonschema.Schema, error) { return jsonschema.For[In](nil) }
	w.make = func(ctx context.Context, t *turn, input json.RawMessage) (work.Proposal, error) {
		var in In
		d := json.NewDecoder(bytes.NewReader(input))
		d.DisallowUnknownFields()
		if err := d.Decode(&in); err != nil {
			return work.Proposal{}, refusal.New("read what the tool takes", "the input cannot be read: %s", text.OneLine(err.Error(), 200))
		}
		return build(ctx, t, in)
	}
	return w
}

// offer is the way as the model is told of it.
func (w way) offer() (llm.Tool, error) {
	schema, err := w.in()
	if err != nil {
		return llm.Tool{}, fmt.Errorf("describe proposals of kind %s: %w", w.kind, err)
	}
	data, err := json.Marshal(schema)
	if err != nil {
		return llm.Tool{}, fmt.Errorf("describe proposals of kind %s: %w", w.kind, err)
	}
	return llm.Tool{Name: proposePrefix + string(w.kind), About: w.about + " The person confirms it, or not.", Schema: data}, nil
}

// may are the ways that can be proposed now, to who asks: what they could not
// confirm is not offered.
func (t *turn) may() (out []way) {
	for _, w := range ways() {
		if w.fits(t.stage, t.run, t.asker.Role, t.room.Project) == nil {
			out = append(out, w)
		}
	}
	return out
}

// fits says why a way has no place at a stage, for a role.
func (w way) fits(s Stage, run string, role web.Role, p web.Project) error {
	switch {
	case !slices.Contains(s.row().May, w.kind), w.run && run == "", w.kind == work.ProposeSettings && p.Settings == nil:
		return refusal.New("ask what can be done now", "a change of kind %s has no place while the stage is %q", w.kind, s)
	case role < w.least:
		return refusal.New("ask an admin of this server for it", "a change of kind %s takes the role %s; you are %s", w.kind, w.least, role)
	}
	return nil
}

// propose makes a proposal of what the model said.
func (t *turn) propose(ctx context.Context, kind string, input json.RawMessage) (work.Proposal, error) {
	w, ok := wayOf(work.ProposalKind(kind))
	if !ok {
		return work.Proposal{}, refusal.New("use one of the tools that you were told of", "there is no change of kind %s", text.Label(text.OneLine(kind, 40)))
	}
	if err := w.fits(t.stage, t.run, t.asker.Role, t.room.Project); err != nil {
		return work.Proposal{}, err
	}
	if t.proposals >= mostProposals {
		return work.Proposal{}, refusal.New("let the person settle those first", "there are %d proposals of this question", t.proposals)
	}
	if len(input) > mostInput {
		return work.Proposal{}, refusal.New("propose less at once", "a proposal has at most %d bytes", mostInput)
	}
	p, err := w.make(ctx, t, input)
	if err != nil {
		return p, err
	}
	p.Kind, p.Run, p.Takes, p.Why = w.kind, t.run, w.least.String(), text.Clip(p.Why, 2000)
	t.proposals++
	return p, nil
}

// changed is how a text would change, for a person.
func changed(before, after string) []work.DiffLine {
	const most = 400
	var out []work.DiffLine
	for _, l := range diff.Lines(before, after) {
		if len(out) == most {
			return append(out, work.DiffLine{What: "gap"})
		}
		out = append(out, work.DiffLine{What: l.What, Text: text.Clip(l.Text, 500)})
	}
	return out
}

// added is what a person is shown of words, as lines that come anew.
func added(words string) (out []work.DiffLine) {
	for _, l := range strings.Split(strings.TrimRight(words, "\n"), "\n") {
		out = append(out, work.DiffLine{What: "ins", Text: l})
	}
	return out
}

// words are what a model wrote for people to read: without what is not seen.
func words(s string, most int) (string, error) {
	s = strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n"))
	switch {
	case text.Blank(s):
		return "", refusal.New("write it", "there is nothing said")
	case len(s) > most:
		return "", refusal.New("say less", "that has %d bytes, at most %d are taken", len(s), most)
	case text.Hides(s):
		return "", refusal.New("leave them out", "the text holds characters that nobody sees")
	}
	return s, nil
}
