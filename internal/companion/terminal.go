package companion

import (
	"context"
	"fmt"
	"io"
	"strings"

	"forge/factory/web"
	"forge/internal/text"
	"forge/internal/work"
)

// Terminal is where somebody asks who sits at one: it shows an answer as it comes,
// and nothing in it acts there.
type Terminal struct {
	Out   io.Writer
	Of    web.Companion
	Run   string // "" = the whole project
	By    web.Asker
	Quiet bool // nothing is shown
	// Confirm asks the person yes or no; nil = nobody can be asked, and nothing is
	// settled.
	Confirm func(ctx context.Context, title, description, yes string) (bool, error)

	turn  int64
	text  string // as far as it was shown
	calls int    // that were shown
}

// Ask puts a question and shows what comes of it. What is proposed is carried out
// where the person says yes, dismissed where they say no.
func (t *Terminal) Ask(ctx context.Context, question string) (work.TalkTurn, error) {
	turn, err := t.Of.Ask(ctx, t.Run, question, t.By, func(now web.CompanionNow) { t.heard(ctx, now) })
	if err != nil || t.Quiet {
		return turn, err
	}
	if turn.Answer != "" {
		t.say(turn.Answer + "\n")
	}
	if turn.Failed != "" {
		t.show("No answer: " + turn.Failed + "\n")
	}
	for i, p := range turn.Proposals {
		t.show(shown(p))
		if t.Confirm == nil {
			continue
		}
		settle := t.Of.Dismiss
		yes, err := t.Confirm(ctx, text.OneLine(p.Says, 200)+"?", fmt.Sprintf("proposal %d", p.N), "yes")
		if err != nil {
			return turn, err
		}
		if yes {
			settle = t.Of.Confirm
		}
		if turn.Proposals[i], err = settle(ctx, t.Run, p.N, t.By); err != nil {
			return turn, err
		}
		p = turn.Proposals[i]
		t.show(strings.TrimSuffix(fmt.Sprintf("  %s: %s", p.State, p.Result), ": ") + "\n")
	}
	return turn, nil
}

// show shows what may hold anything.
func (t *Terminal) show(words string) {
	_, _ = io.WriteString(t.Out, text.Harmless(text.Plain(words))) // who went away reads nothing
}

func (t *Terminal) heard(ctx context.Context, now web.CompanionNow) {
	switch t.turn = now.Turn; {
	case t.Quiet:
	case now.Line:
		t.called(ctx)
	default:
		t.say(now.Text)
	}
}

// say shows the words that came. A line is shown when it is whole: what acts on a
// terminal may come in two pieces.
func (t *Terminal) say(words string) {
	if !strings.HasPrefix(words, t.text) {
		t.text = "" // they begin anew
	}
	end := strings.LastIndexByte(words, '\n') + 1
	if end <= len(t.text) {
		return
	}
	t.show(words[len(t.text):end])
	t.text = words[:end]
}

// called shows the tools that were called since.
func (t *Terminal) called(ctx context.Context) {
	talk, err := t.Of.Talk(context.WithoutCancel(ctx), t.Run)
	if err != nil {
		return // the end says it
	}
	for _, one := range talk.Turns {
		if one.N != t.turn {
			continue
		}
		for _, c := range one.Calls[min(t.calls, len(one.Calls)):] {
			line := fmt.Sprintf("· %s %s", c.Tool, c.Input)
			if c.Refused != "" {
				line += ": refused: " + c.Refused
			}
			t.show(text.OneLine(line, 160) + "\n")
		}
		t.calls = len(one.Calls)
	}
}

// shown is a proposal for a terminal.
func shown(p work.TalkProposal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nProposal %d: %s\n", p.N, p.Says)
	if p.Why != "" {
		fmt.Fprintf(&b, "  why: %s\n", p.Why)
	}
	for _, l := range p.Diff {
		fmt.Fprintf(&b, "  %s %s\n", l.Sign(), l.Text)
	}
	if p.Command != "" {
		fmt.Fprintf(&b, "  to do it yourself: %s\n", p.Command)
	} else {
		b.WriteString("  to do it: confirm it on its page, or here at a terminal\n")
	}
	return b.String()
}
