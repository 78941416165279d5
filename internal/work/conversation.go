package work

import (
	"cmp"
	"strings"
	"time"

	"forge/internal/text"
)

// StepKind says what one step of an agent's conversation is.
type StepKind string

const (
	StepSaid    StepKind = "said"    // words of the agent
	StepThought StepKind = "thought" // what it thinks, which are no words of its own
	StepCall    StepKind = "call"    // a tool begins
	StepResult  StepKind = "result"  // a tool ended
	StepNotice  StepKind = "notice"  // what the program says for people: an error, another try
	StepSpent   StepKind = "spent"   // what was used
	StepOther   StepKind = "other"   // an event that means nothing to a reader, or is not known
	StepPrinted StepKind = "printed" // a line that is no event: what the program logs, what is broken
)

// Step is what one line of an agent's output tells of the conversation. Its
// texts are the agent's: whoever shows them makes them harmless.
type Step struct {
	Kind   StepKind
	ID     string // of a call; its result has the same, "" = it is not said
	Tool   string // of a call or result
	About  string // what the tool is called with: a command, a file
	Text   string // words, result, notice; its beginning where it is long
	Lines  int    // lines of the whole text
	Part   bool   // the text goes on in the next step of the kind; what was spent adds to what was said before
	Failed bool   // of a result
	Aside  bool   // of a subagent
	Took   time.Duration
	At     time.Time // zero = nobody knows
	Usage  Usage
}

// TurnKind says what one turn of a conversation is.
type TurnKind string

const (
	TurnSaid    TurnKind = "said"
	TurnThought TurnKind = "thought"
	TurnTool    TurnKind = "tool"
	TurnNotice  TurnKind = "notice"
	TurnOther   TurnKind = "other" // lines without meaning for a reader
)

// Turn is one thing that is shown of a conversation: words as a whole, a tool
// with its result, or how many lines say nothing to a reader.
type Turn struct {
	Kind   TurnKind
	Tool   string
	About  string // what the tool is called with; of other: the last line that is no event
	Text   string // words, or what a tool answered; the beginning where it is long
	Lines  int    // of the whole text; of other: how many
	Ended  bool   // a tool has answered
	Failed bool
	Aside  bool
	Took   time.Duration // of a tool; 0 = nobody knows
}

// failedRunes is how much is said of what a failed tool answered.
const failedRunes = 160

// Result is how a tool ended, how much it answered and how long it took.
func (t Turn) Result() string {
	if !t.Ended {
		return "no result"
	}
	parts := []string{"ok"}
	if said := text.OneLine(t.Text, failedRunes); t.Failed {
		parts[0] = "failed"
		if said != "" {
			parts[0] += ": " + said
		}
	}
	if t.Lines > 0 {
		parts = append(parts, text.Number(t.Lines, "line"))
	}
	if t.Took > 0 {
		parts = append(parts, text.Took(t.Took))
	}
	return strings.Join(parts, ", ")
}

const (
	// turnBytes bounds the text of a turn.
	turnBytes = 256 << 10
	// maxOpenCalls bounds the calls that wait for their results; the oldest are
	// shown without.
	maxOpenCalls = 256
)

// Conversation folds steps into turns, in order: parts of a text become one, a
// result joins its call. The zero value is ready.
type Conversation struct {
	Usage Usage // what was used so far, as far as it was told

	words  *Turn // that may go on
	others *Turn
	open   []openCall
	ready  []Turn
}

type openCall struct {
	id   string
	at   time.Time
	turn Turn
}

// Take adds a step and returns the turns that it completes.
func (c *Conversation) Take(s Step) []Turn {
	switch s.Kind {
	case StepSaid, StepThought:
		c.say(s)
	case StepCall:
		c.call(s)
	case StepResult:
		c.result(s)
	case StepNotice:
		c.pause()
		c.ready = append(c.ready, Turn{Kind: TurnNotice, Text: s.Text, Lines: s.Lines})
	case StepSpent:
		c.spend(s)
	default:
		c.other(s)
	}
	return c.turns()
}

// End returns what is left: words that were not ended, calls that were not
// answered.
func (c *Conversation) End() []Turn {
	c.pause()
	for _, call := range c.open {
		c.ready = append(c.ready, call.turn)
	}
	c.open = nil
	return c.turns()
}

func (c *Conversation) turns() []Turn {
	out := c.ready
	c.ready = nil
	return out
}

// pause ends what may go on.
func (c *Conversation) pause() {
	c.endText()
	if c.others != nil {
		c.ready = append(c.ready, *c.others)
		c.others = nil
	}
}

func (c *Conversation) other(s Step) {
	c.endText()
	if c.others == nil {
		c.others = &Turn{Kind: TurnOther}
	}
	c.others.Lines++
	if s.Kind == StepPrinted {
		c.others.About = s.Text
	}
	if room := turnBytes - len(c.others.Text) - 1; room > 0 && s.Text != "" {
		c.others.Text += s.Text[:min(room, len(s.Text))] + "\n"
	}
}

func (c *Conversation) endText() {
	if c.words != nil && strings.TrimSpace(c.words.Text) != "" {
		c.ready = append(c.ready, *c.words)
	}
	c.words = nil
}

func (c *Conversation) say(s Step) {
	kind := TurnSaid
	if s.Kind == StepThought {
		kind = TurnThought
	}
	if c.others != nil || c.words != nil && (c.words.Kind != kind || c.words.Aside != s.Aside) {
		c.pause()
	}
	if c.words == nil {
		c.words = &Turn{Kind: kind, Aside: s.Aside, Lines: 1}
	}
	if room := turnBytes - len(c.words.Text); room > 0 {
		c.words.Text += s.Text[:min(room, len(s.Text))]
	}
	c.words.Lines += max(s.Lines-1, 0)
	if !s.Part {
		c.endText()
	}
}

func (c *Conversation) call(s Step) {
	c.pause()
	turn := Turn{Kind: TurnTool, Tool: s.Tool, About: s.About, Aside: s.Aside}
	for i, call := range c.open {
		if s.ID != "" && call.id == s.ID { // told again, with more
			c.open[i].turn.Tool = cmp.Or(s.Tool, call.turn.Tool)
			c.open[i].turn.About = cmp.Or(s.About, call.turn.About)
			return
		}
	}
	if len(c.open) >= maxOpenCalls {
		c.ready = append(c.ready, c.open[0].turn)
		c.open = c.open[1:]
	}
	c.open = append(c.open, openCall{id: s.ID, at: s.At, turn: turn})
}

// result joins a result with its call. One that says not whose it is is that of
// the oldest call that says no more.
func (c *Conversation) result(s Step) {
	c.pause()
	turn, began := Turn{Kind: TurnTool, Tool: s.Tool, About: s.About, Aside: s.Aside}, time.Time{}
	for i, call := range c.open {
		if call.id == s.ID {
			turn, began = call.turn, call.at
			c.open = append(c.open[:i:i], c.open[i+1:]...)
			break
		}
	}
	turn.Text, turn.Lines, turn.Ended, turn.Failed = s.Text, s.Lines, true, s.Failed
	turn.Took = s.Took
	if turn.Took == 0 && !began.IsZero() && s.At.After(began) {
		turn.Took = s.At.Sub(began)
	}
	if turn.Tool == "" {
		turn.Tool = "a tool"
	}
	c.ready = append(c.ready, turn)
}

func (c *Conversation) spend(s Step) {
	u := s.Usage
	if s.Part {
		u.InputTokens, u.OutputTokens = sum(c.Usage.InputTokens, u.InputTokens), sum(c.Usage.OutputTokens, u.OutputTokens)
		u.CostUSD = sum(c.Usage.CostUSD, u.CostUSD)
	}
	c.Usage = u.Clean()
}

// sum adds what is known.
func sum[N int64 | float64](a, b *N) *N {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	n := *a + *b
	return &n
}
