package tui

import (
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"github.com/charmbracelet/x/ansi"

	"forge/internal/approval"
	"forge/internal/text"
	"forge/internal/work"
)

// readyAfter is how long a question is shown before keys count, so that what
// was typed for the one before, or for nothing, does not answer it.
const readyAfter = 400 * time.Millisecond

// asking is a question on the screen: first the choice, then what belongs to it.
type asking struct {
	q     question
	opts  []option
	ready bool
	step  step
	theme huh.Theme
	form  *huh.Form
	// What the form's fields hold.
	pick    int
	comment string
	sure    bool
	picked  bool // by its key, past the form
}

type step int

const (
	stepChoose step = iota
	stepSay
	stepConfirm
)

func newAsking(q question) *asking {
	return &asking{q: q, opts: OptionsOf(q), theme: doorTheme()}
}

func (a *asking) begin(width int) tea.Cmd {
	a.pick = 0
	return a.choose(width)
}

// choose shows the options.
func (a *asking) choose(width int) tea.Cmd {
	list := make([]huh.Option[int], 0, len(a.opts))
	for i, o := range a.opts {
		list = append(list, huh.NewOption(Fit(o.key+"  "+o.Label, width-6), i))
	}
	return a.enter(stepChoose, width, huh.NewSelect[int]().Options(list...).Filtering(false).Value(&a.pick))
}

// say asks for a comment.
func (a *asking) say(width int) tea.Cmd {
	o := a.opts[a.pick]
	field := huh.NewText().Lines(3).ExternalEditor(false).CharLimit(approval.MaxComment).Value(&a.comment).
		Validate(func(text string) error {
			switch {
			case o.comment == mustComment && strings.TrimSpace(text) == "" && o.status == work.CheckpointApproved:
				return errors.New("say why it may go on all the same")
			case o.comment == mustComment && strings.TrimSpace(text) == "":
				return errors.New("say what is to change")
			case len(text) > approval.MaxComment:
				return fmt.Errorf("%d bytes; at most %d", len(text), approval.MaxComment)
			}
			return nil
		})
	return a.enter(stepSay, width, field)
}

// confirm asks whether the person is sure.
func (a *asking) confirm(width int) tea.Cmd {
	a.sure = false
	return a.enter(stepConfirm, width, huh.NewConfirm().Affirmative("abort it").Negative("no, back").Inline(true).WithButtonAlignment(0).Value(&a.sure))
}

func (a *asking) enter(s step, width int, field huh.Field) tea.Cmd {
	a.step, a.picked = s, false
	a.form = huh.NewForm(huh.NewGroup(field)).WithShowHelp(false).WithShowErrors(true).WithTheme(a.theme)
	return tea.Batch(a.form.Init(), a.measure(width))
}

// measure gives the form its width. Its height is its own: lines cuts.
func (a *asking) measure(width int) tea.Cmd {
	return a.update(tea.WindowSizeMsg{Width: max(width-3, 10), Height: 1000})
}

func (a *asking) resize(width int) tea.Cmd {
	if a.step == stepChoose {
		return a.choose(width) // the options are cut anew
	}
	return a.measure(width)
}

func (a *asking) update(msg tea.Msg) tea.Cmd {
	model, cmd := a.form.Update(msg)
	if f, ok := model.(*huh.Form); ok {
		a.form = f
	}
	return cmd
}

// pressed passes a key on; that of an option chooses it.
func (a *asking) pressed(key tea.KeyPressMsg) tea.Cmd {
	if a.step == stepChoose {
		for i, o := range a.opts {
			if key.String() == o.key {
				a.pick, a.picked = i, true
				return nil
			}
		}
	}
	return a.update(key)
}

func (a *asking) complete() bool { return a.picked || a.form.State == huh.StateCompleted }
func (a *asking) aborted() bool  { return a.form.State == huh.StateAborted }

// lines shows the question on at most height lines: what is judged is cut
// first, and can be read as a whole on its page.
func (a *asking) lines(width, height, number, of int) []string {
	title := text.OneLine(a.q.Checkpoint.Question, 300)
	if of > 1 {
		title = fmt.Sprintf("%s  (%d of %d)", title, number, of)
	}
	out := strings.Split(ansi.Wrap(styled(styleStrong, "? "+title), width-1, ""), "\n")
	if len(out) > 2 {
		out = []string{out[0], Fit(out[1], width-3) + "…"}
	}
	var below []string
	if o := a.opts[a.pick]; a.step != stepChoose {
		ask := o.Label
		switch {
		case a.step == stepConfirm:
			ask = "Abort the run? What is under way is ended, and it cannot be resumed."
		case o.comment == mayComment:
			ask += " – why? (may stay empty)"
		}
		below = append(below, Fit("  "+ask, width-1))
	}
	for line := range strings.SplitSeq(a.form.View(), "\n") {
		below = append(below, "  "+strings.TrimRight(line, " "))
	}
	below = append(below, Fit("  "+styled(styleFaint, a.help()), width-1))
	facts := textLines(a.q.Checkpoint.Facts, width-3)
	if room := height - len(out) - len(below); len(facts) > room {
		facts = facts[:max(room-1, 0)]
		if room > 0 {
			facts = append(facts, "…")
		}
	}
	for _, f := range facts {
		out = append(out, "  "+styled(styleFaint, f))
	}
	return append(out, below...)
}

func (a *asking) help() string {
	switch {
	case !a.ready:
		return "…"
	case a.step == stepSay:
		return "enter: send · ctrl+j: new line · esc: back"
	case a.step == stepConfirm:
		return "←/→: choose · enter · esc: back"
	}
	return "↑/↓ enter, or its letter · esc: later · ctrl+c: stop the run"
}

// textLines is text from elsewhere as lines of at most width cells.
func textLines(body string, width int) []string {
	body = strings.TrimRight(text.Harmless(body), "\n")
	if body == "" {
		return nil
	}
	return strings.Split(ansi.Hardwrap(strings.ReplaceAll(body, "\t", "    "), max(width, 1), true), "\n")
}

// doorTheme is the terminal's own colours, without a frame. They are the same
// on any background, and made once, since a form asks for them at every turn.
func doorTheme() huh.Theme {
	t := huh.ThemeBase(true)
	for _, f := range []*huh.FieldStyles{&t.Focused, &t.Blurred} {
		f.Base = t.Form.Base
		f.SelectSelector = f.SelectSelector.Foreground(ansi.Cyan).Bold(true)
		f.SelectedOption = f.SelectedOption.Foreground(ansi.Cyan).Bold(true)
		f.ErrorIndicator = f.ErrorIndicator.Foreground(ansi.Red)
		f.ErrorMessage = f.ErrorMessage.Foreground(ansi.Red)
		f.TextInput.Placeholder = t.Form.Base.Faint(true)
		f.FocusedButton = t.Form.Base.Padding(0, 1).MarginRight(1).Reverse(true)
		f.BlurredButton = t.Form.Base.Padding(0, 1).MarginRight(1)
	}
	return huh.ThemeFunc(func(bool) *huh.Styles { return t })
}
