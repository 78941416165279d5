package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"forge/factory"
	"forge/internal/journal"
	"forge/internal/symphony"
	"forge/internal/text"
	"forge/internal/tracker/linear"
	"forge/internal/work"
)

// State is how the work stands, in the form that Symphony gives it. It is read from
// the journal each time: nothing is decided by it.
type State struct {
	At       time.Time    `json:"generated_at"`
	Counts   Counts       `json:"counts"`
	Running  []RunningRow `json:"running"`
	Retrying []RetryRow   `json:"retrying"`
	Totals   Totals       `json:"codex_totals"`
	// Limits are not known: the driver of codex keeps no figures of its provider's.
	Limits any `json:"rate_limits"`
	// Workflow says what is wrong with the file, beside Symphony's own fields.
	Workflow FileState `json:"workflow"`
}

// Counts are how many rows there are.
type Counts struct {
	Running  int `json:"running"`
	Retrying int `json:"retrying"`
}

// Tokens are those of agents.
type Tokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

// Totals are those of all issues that are begun.
type Totals struct {
	Tokens
	Seconds float64 `json:"seconds_running"`
}

// FileState is how the file stands.
type FileState struct {
	File  string `json:"file"`
	Error string `json:"error,omitempty"` // of the file as it is; the last good one is worked by
}

// RunningRow is an issue that is worked on.
type RunningRow struct {
	ID         string    `json:"issue_id"`
	Identifier string    `json:"issue_identifier"`
	State      string    `json:"state"`
	Session    string    `json:"session_id"`
	Turns      int       `json:"turn_count"`
	Last       string    `json:"last_event"`
	Message    string    `json:"last_message"`
	Started    time.Time `json:"started_at"`
	LastAt     time.Time `json:"last_event_at,omitzero"`
	Tokens     Tokens    `json:"tokens"`
}

// RetryRow is an issue that is tried again later.
type RetryRow struct {
	ID         string    `json:"issue_id"`
	Identifier string    `json:"issue_identifier"`
	Attempt    int       `json:"attempt"`
	Due        time.Time `json:"due_at"`
	Error      string    `json:"error"`
}

// IssueState is how one issue stands.
type IssueState struct {
	Identifier string `json:"issue_identifier"`
	ID         string `json:"issue_id"`
	Status     string `json:"status"` // running, retrying, or the column of the board
	Workspace  struct {
		Path string `json:"path"`
	} `json:"workspace"`
	Attempts struct {
		Restarts int `json:"restart_count"`
		Current  int `json:"current_retry_attempt"`
	} `json:"attempts"`
	Running *RunningRow `json:"running"`
	Retry   *RetryRow   `json:"retry"`
	Logs    struct {
		Sessions []SessionLog `json:"codex_session_logs"`
	} `json:"logs"`
	Recent    []Recent `json:"recent_events"`
	LastError *string  `json:"last_error"`
	Tracked   struct {
		Run   string `json:"run,omitempty"`
		Board int64  `json:"board_issue"`
		State string `json:"state,omitempty"`
	} `json:"tracked"`
}

// SessionLog is where what an agent said is read.
type SessionLog struct {
	Label string  `json:"label"`
	Path  string  `json:"path"`
	URL   *string `json:"url"`
}

// Recent is an event.
type Recent struct {
	At      time.Time `json:"at"`
	Event   string    `json:"event"`
	Message string    `json:"message"`
}

// counted is what the events of a run add up to.
type counted struct {
	seq     int64
	tokens  Tokens
	turns   int
	session string
	turn    int
	started time.Time
	seconds float64 // while a process drove it, but for the last stretch
	begun   time.Time
	last    work.Event
	message string
	recent  []Recent
}

// mostRecent is how many events are told of an issue.
const mostRecent = 20

// count adds one up. What an agent reports of one iteration is what that took, so
// that nothing is counted twice, however often the whole is reported.
func (c *counted) count(e work.Event) {
	if e.Seq <= c.seq {
		return
	}
	c.seq, c.last = e.Seq, e
	switch e.Kind {
	case work.RunStarted, work.RunResumed:
		if c.started.IsZero() {
			c.started = e.Time
		}
		c.begun = e.Time
	case work.RunFinished:
		if !c.begun.IsZero() {
			c.seconds += e.Time.Sub(c.begun).Seconds()
		}
		c.begun = time.Time{}
	case work.IterationStarted:
		c.turns++
		c.turn = e.Iteration
	case work.IterationFinished:
		var d work.IterationFinishedData
		if json.Unmarshal(e.Data, &d) == nil {
			in, out := amountOf(d.Usage.InputTokens), amountOf(d.Usage.OutputTokens)
			c.tokens = Tokens{c.tokens.Input + in, c.tokens.Output + out, c.tokens.Total + in + out}
			if d.Session != "" {
				c.session = d.Session
			}
			c.message = text.OneLine(d.Message, 200)
		}
	}
	c.recent = append(c.recent, Recent{e.Time, string(e.Kind), e.Phase})
	if len(c.recent) > mostRecent {
		c.recent = c.recent[1:]
	}
}

func amountOf(n *int64) int64 {
	if n == nil || *n < 0 {
		return 0
	}
	return *n
}

// countRun is what the events of a run add up to by now.
func (r *Runner) countRun(ctx context.Context, run string) (counted, error) {
	r.mu.Lock()
	c := r.spent[run]
	r.mu.Unlock()
	events, err := r.Board.Journal.Events(ctx, run, c.seq)
	if errors.Is(err, journal.ErrNoRun) {
		return c, nil // a card names its run before that begins
	}
	if err != nil {
		return c, err
	}
	for _, e := range events {
		c.count(e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spent[run].seq < c.seq {
		r.spent[run] = c
	}
	return c, nil
}

// one is an issue of the board with what there is to know of it.
type one struct {
	card    work.Issue
	is      symphony.Issue
	claim   work.IssueClaim
	row     counted
	running bool
	retry   *symphony.Retry
}

// sessionOf names a session as Symphony does: the conversation, and the turn in it.
func sessionOf(c counted) string {
	if c.session == "" {
		return ""
	}
	return c.session + "-" + strconv.Itoa(c.turn)
}

// all are the issues that came by the file and are begun or tried again.
func (r *Runner) all(ctx context.Context) (out []one, err error) {
	b := r.Board
	claims, err := b.Journal.Claims(ctx, b.Project)
	if err != nil {
		return nil, err
	}
	rows, err := b.Journal.TrackerIssues(ctx, b.Project, r.Project.Name())
	if err != nil {
		return nil, err
	}
	now := b.Checkout.Now()
	for _, row := range rows {
		if row.Issue == 0 {
			continue
		}
		card, err := b.Journal.Issue(ctx, b.Project, row.Issue)
		if err != nil {
			return nil, err
		}
		o := one{card: card, claim: claims[row.Issue]}
		if o.is, _ = r.Project.Seen(row.Remote); o.is.Identifier == "" {
			o.is.Identifier = linear.Identifier(row.Remote)
		}
		o.running = o.claim.Owner != "" && !o.claim.Dead && now.Sub(o.claim.Heartbeat) <= factory.LeaseTimeout
		if again, ok := symphony.ReadRetry(card.Reason); ok && !o.running {
			o.retry = &again
		}
		if card.Run != "" {
			if o.row, err = r.countRun(ctx, card.Run); err != nil {
				return nil, err
			}
		}
		out = append(out, o)
	}
	return out, nil
}

func (o one) runningRow() RunningRow {
	return RunningRow{
		ID: o.is.ID, Identifier: o.is.Identifier, State: o.is.State, Session: sessionOf(o.row), Turns: o.row.turns,
		Last: string(o.row.last.Kind), Message: o.row.message, Started: o.row.started, LastAt: o.row.last.Time, Tokens: o.row.tokens,
	}
}

func (o one) retryRow(now time.Time) RetryRow {
	row := RetryRow{o.is.ID, o.is.Identifier, o.retry.Attempt, o.retry.Due, o.retry.Why}
	if now.Sub(o.retry.Due) > slotPause {
		row.Error = symphony.NoSlot
	}
	return row
}

// slotPause is how long after it is due an issue is taken, where there is room.
const slotPause = 10 * time.Second

// State is how the work stands.
func (r *Runner) State(ctx context.Context) (State, error) {
	now := r.Board.Checkout.Now()
	s := State{At: now.UTC(), Running: []RunningRow{}, Retrying: []RetryRow{}, Workflow: FileState{r.Kept.Name(), r.Kept.Wrong()}}
	all, err := r.all(ctx)
	if err != nil {
		return s, err
	}
	for _, o := range all {
		if o.running {
			s.Running = append(s.Running, o.runningRow())
		}
		if o.retry != nil {
			s.Retrying = append(s.Retrying, o.retryRow(now))
		}
		s.Totals.Input += o.row.tokens.Input
		s.Totals.Output += o.row.tokens.Output
		s.Totals.Total += o.row.tokens.Total
		s.Totals.Seconds += o.row.seconds
		if o.running && !o.row.begun.IsZero() {
			s.Totals.Seconds += now.Sub(o.row.begun).Seconds()
		}
	}
	s.Counts = Counts{len(s.Running), len(s.Retrying)}
	return s, nil
}

// Issue is how one issue stands; ok is false where it is not known.
func (r *Runner) Issue(ctx context.Context, identifier string) (s IssueState, ok bool, err error) {
	all, err := r.all(ctx)
	for _, o := range all {
		if o.is.Identifier != identifier {
			continue
		}
		s.Identifier, s.ID, s.Status = o.is.Identifier, o.is.ID, string(o.card.Column)
		if o.card.State != "" {
			s.Status = string(o.card.State)
		}
		if o.running {
			row := o.runningRow()
			s.Running, s.Status = &row, "running"
		}
		if o.retry != nil {
			row := o.retryRow(r.Board.Checkout.Now())
			s.Retry, s.Status = &row, "retrying"
			s.LastError = &row.Error
		} else if o.card.State == work.IssueFailed {
			s.LastError = &o.card.Reason
		}
		past, _, err := r.attempts(ctx, o.card)
		if err != nil {
			return s, false, err
		}
		s.Attempts.Current, s.Attempts.Restarts = past, past
		if dir, err := symphony.Path(r.Kept.Settings().Root, identifier); err == nil {
			s.Workspace.Path = dir
		}
		s.Logs.Sessions = []SessionLog{}
		if o.card.Run != "" && o.row.turn > 0 {
			s.Logs.Sessions = append(s.Logs.Sessions, SessionLog{Label: "latest", Path: r.Board.Layout().IterationLog(o.card.Run, "1", o.row.turn, 1)})
		}
		if s.Recent = o.row.recent; s.Recent == nil {
			s.Recent = []Recent{}
		}
		s.Tracked.Run, s.Tracked.Board, s.Tracked.State = o.card.Run, o.card.ID, o.is.State
		return s, true, nil
	}
	return s, false, err
}
