package work

import (
	"encoding/json"
	"fmt"
	"time"
)

// TalkLine is a line of a conversation with the companion as it is kept. Lines
// are only ever added.
type TalkLine struct {
	N    int64           `json:"n"` // within its conversation, from 1
	At   time.Time       `json:"at"`
	Data json.RawMessage `json:"data"`
}

// TalkKind says what a line of a conversation is.
type TalkKind string

// Kinds of lines.
const (
	TalkAsked    TalkKind = "asked"    // a person's question; begins a turn
	TalkPaid     TalkKind = "paid"     // the model was asked, and what that took
	TalkCalled   TalkKind = "called"   // the model called a tool
	TalkProposed TalkKind = "proposed" // the model proposed a change
	TalkAnswered TalkKind = "answered" // the model's answer; ends the turn
	TalkFailed   TalkKind = "failed"   // there is none; ends the turn
	TalkSettling TalkKind = "settling" // a person confirmed a proposal, which is carried out now
	TalkSettled  TalkKind = "settled"  // what became of a proposal
)

// TalkEntry is what a line says.
type TalkEntry struct {
	Kind TalkKind `json:"kind"`
	// Of is the number of the question's line, for what settles a proposal that of
	// the proposal.
	Of    int64  `json:"of,omitempty"`
	By    string `json:"by,omitempty"`
	Door  string `json:"door,omitempty"`
	Stage string `json:"stage,omitempty"` // of the work, when it was asked
	Text  string `json:"text,omitempty"`  // question, answer, why there is none, what became of it

	Tool    string `json:"tool,omitempty"`
	Input   string `json:"input,omitempty"`
	Output  string `json:"output,omitempty"`
	Refused string `json:"refused,omitempty"`
	TookMS  int64  `json:"took_ms,omitempty"`

	Model   string   `json:"model,omitempty"`
	USD     *float64 `json:"usd,omitempty"` // nil = nobody knows
	Tokens  int64    `json:"tokens,omitempty"`
	Guessed bool     `json:"guessed,omitempty"` // the service did not say: counted by its bytes

	Proposal *Proposal     `json:"proposal,omitempty"`
	State    ProposalState `json:"state,omitempty"`
}

// ProposalKind says what a proposal would change.
type ProposalKind string

// Kinds of proposals.
const (
	ProposeTell     ProposalKind = "tell"     // say something to the agent of a phase
	ProposeComment  ProposalKind = "comment"  // comment on a line at a checkpoint
	ProposeEdit     ProposalKind = "edit"     // edit a file at a checkpoint
	ProposeTodos    ProposalKind = "todos"    // change a job's list of todos at a checkpoint
	ProposeIssue    ProposalKind = "issue"    // put an issue on the board
	ProposeLevel    ProposalKind = "level"    // who decides in a run from its next boundary on
	ProposeSettings ProposalKind = "settings" // the project's configuration
)

// Proposal is a change that the companion's model proposes. Nothing of it is done
// before a person confirms it. What it says of itself in Says, Diff and Command is
// Forge's.
type Proposal struct {
	Kind    ProposalKind `json:"kind"`
	Says    string       `json:"says"`
	Why     string       `json:"why,omitempty"` // the model's words
	Diff    []DiffLine   `json:"diff,omitempty"`
	Command string       `json:"command,omitempty"` // that does the same; "" = none does
	Takes   string       `json:"takes"`             // role of who may confirm it

	Run        string   `json:"run,omitempty"`
	Phase      string   `json:"phase,omitempty"`
	Checkpoint string   `json:"checkpoint,omitempty"`
	Revision   int      `json:"revision,omitempty"`
	Path       string   `json:"path,omitempty"`
	Side       string   `json:"side,omitempty"`
	Line       int      `json:"line,omitempty"`
	Hunk       string   `json:"hunk,omitempty"`
	What       string   `json:"what,omitempty"` // edit or add
	Base       string   `json:"base,omitempty"` // the commit that was looked at
	Seen       string   `json:"seen,omitempty"` // sum of what stood there
	Title      string   `json:"title,omitempty"`
	Text       string   `json:"text,omitempty"` // what is said, or what the file is to hold
	Criteria   []string `json:"criteria,omitempty"`
	Column     string   `json:"column,omitempty"`
	Level      string   `json:"level,omitempty"`
}

// DiffLine is a line of how a text would change.
type DiffLine struct {
	What string `json:"what,omitempty"` // "" = as before, ins, del, gap = lines are left out
	Text string `json:"text,omitempty"`
}

// Sign is how the line begins in a patch.
func (l DiffLine) Sign() string {
	switch l.What {
	case "ins":
		return "+"
	case "del":
		return "-"
	case "gap":
		return "…"
	}
	return " "
}

// ProposalState is what became of a proposal.
type ProposalState string

// States of a proposal. All but open are final.
const (
	ProposalOpen      ProposalState = "open"
	ProposalSettling  ProposalState = "settling"  // confirmed, and nobody wrote what came of it: it may be done or not
	ProposalDone      ProposalState = "done"      // confirmed and carried out
	ProposalRefused   ProposalState = "refused"   // confirmed, and it could not be: nothing was done
	ProposalDismissed ProposalState = "dismissed" // a person said no
)

// Talk is a conversation with the companion.
type Talk struct {
	About string     `json:"about"` // the run; "" = the project
	Head  int64      `json:"head"`  // number of its last line
	Turns []TalkTurn `json:"turns"`
	// USD and Tokens are what all of it took; USD is too low where Unknown calls
	// have no price.
	USD     float64 `json:"usd"`
	Tokens  int64   `json:"tokens"`
	Unknown int     `json:"unknown,omitempty"`
}

// TalkTurn is a question with what came of it.
type TalkTurn struct {
	N         int64          `json:"n"`
	At        time.Time      `json:"at"`
	By        string         `json:"by"`
	Stage     string         `json:"stage"`
	Question  string         `json:"question"`
	Calls     []TalkCall     `json:"calls,omitempty"`
	Proposals []TalkProposal `json:"proposals,omitempty"`
	Answer    string         `json:"answer,omitempty"`
	Failed    string         `json:"failed,omitempty"` // why there is no answer
	Over      bool           `json:"over"`
}

// TalkCall is a tool that was called.
type TalkCall struct {
	N       int64  `json:"n"`
	Tool    string `json:"tool"`
	Input   string `json:"input"`
	Output  string `json:"output,omitempty"`
	Refused string `json:"refused,omitempty"`
	TookMS  int64  `json:"took_ms"`
}

// TalkProposal is a proposal with what became of it.
type TalkProposal struct {
	N int64 `json:"n"`
	Proposal
	State  ProposalState `json:"state"`
	By     string        `json:"by,omitempty"`     // who settled it
	Result string        `json:"result,omitempty"` // in words
}

// TalkOf is the conversation that lines tell, in their order.
func TalkOf(about string, lines []TalkLine) (Talk, error) {
	t := Talk{About: about, Turns: []TalkTurn{}}
	turn := func(n int64) *TalkTurn {
		for i := range t.Turns {
			if t.Turns[i].N == n {
				return &t.Turns[i]
			}
		}
		return nil
	}
	for _, l := range lines {
		var e TalkEntry
		if err := json.Unmarshal(l.Data, &e); err != nil {
			return t, fmt.Errorf("read line %d of a conversation: %w", l.N, err)
		}
		t.Head = l.N
		switch e.Kind {
		case TalkAsked:
			t.Turns = append(t.Turns, TalkTurn{N: l.N, At: l.At, By: e.By, Stage: e.Stage, Question: e.Text})
		case TalkPaid:
			t.Tokens += e.Tokens
			if e.USD != nil {
				t.USD += *e.USD
			} else {
				t.Unknown++
			}
		case TalkSettling, TalkSettled:
			if p := t.Proposal(e.Of); p != nil && (p.State == ProposalOpen || p.State == ProposalSettling) {
				p.By, p.Result = e.By, e.Text
				if p.State = e.State; e.Kind == TalkSettling {
					p.State = ProposalSettling
				}
			}
		default:
			if one := turn(e.Of); one != nil {
				one.take(l.N, e)
			}
		}
	}
	return t, nil
}

// take adds to a turn what a line says of it.
func (t *TalkTurn) take(n int64, e TalkEntry) {
	switch e.Kind {
	case TalkCalled:
		t.Calls = append(t.Calls, TalkCall{N: n, Tool: e.Tool, Input: e.Input, Output: e.Output, Refused: e.Refused, TookMS: e.TookMS})
	case TalkProposed:
		if e.Proposal != nil {
			t.Proposals = append(t.Proposals, TalkProposal{N: n, Proposal: *e.Proposal, State: ProposalOpen})
		}
	case TalkAnswered:
		t.Answer, t.Over = e.Text, true
	case TalkFailed:
		t.Failed, t.Over = e.Text, true
	}
}

// Proposal is the proposal with a number; nil where there is none. It is the
// conversation's own.
func (t *Talk) Proposal(n int64) *TalkProposal {
	for i := range t.Turns {
		for j := range t.Turns[i].Proposals {
			if t.Turns[i].Proposals[j].N == n {
				return &t.Turns[i].Proposals[j]
			}
		}
	}
	return nil
}
