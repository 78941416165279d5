package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"forge/internal/text"
)

// CheckpointStatus is the state of a checkpoint. Everything but pending is final.
type CheckpointStatus string

const (
	CheckpointPending          CheckpointStatus = "pending"
	CheckpointApproved         CheckpointStatus = "approved"
	CheckpointChangesRequested CheckpointStatus = "changes_requested"
	CheckpointRejected         CheckpointStatus = "rejected"
	CheckpointExpired          CheckpointStatus = "expired" // held, never yes
)

// Checkpoint is a gate that waits for a person: one durable record, answered once.
type Checkpoint struct {
	ID       string   `json:"id"`
	Run      string   `json:"run"`
	Phase    string   `json:"phase,omitempty"`
	Kind     string   `json:"kind"`             // the gate: phase.start, stale, final, …
	Points   []string `json:"points,omitempty"` // all gates that this one answer answers
	Revision int      `json:"revision"`         // of what is judged, from 1
	Hash     string   `json:"hash"`             // content hash of what is judged
	Question string   `json:"question"`         // one line for a person
	Facts    string   `json:"facts,omitempty"`  // what the answer is judged on, as text
	Choices  []Choice `json:"choices,omitempty"`
	Policy   string   `json:"policy"` // version (hash) of the policy that asked
	// Who may answer: a role, "" = owner.
	Who string `json:"who,omitempty"`
	// ReasonDue says that approving takes a reason: critical findings are
	// accepted with one or not at all.
	ReasonDue bool `json:"reason_due,omitempty"`
	// AnswerDue says that approving takes a choice or a comment: an agent asks
	// what it does not know, and yes alone says nothing.
	AnswerDue bool `json:"answer_due,omitempty"`

	// Verdicts on single files of the change, in the order in which they were
	// first given.
	Verdicts []FileVerdict `json:"verdicts,omitempty"`
	// Comments are on single lines of the change; CommentsGiven is the highest
	// number that one ever had.
	Comments      []LineComment `json:"comments,omitempty"`
	CommentsGiven int           `json:"comments_given,omitempty"`
	// Edits are files of the change as people want them.
	Edits []FileEdit `json:"edits,omitempty"`

	Status     CheckpointStatus `json:"status"`
	Comment    string           `json:"comment,omitempty"`
	Choice     string           `json:"choice,omitempty"`
	AnsweredBy string           `json:"answered_by,omitempty"`
	Door       string           `json:"door,omitempty"` // terminal, cli, web, api, pull request, slack
	OpenedAt   time.Time        `json:"opened_at"`
	ExpiresAt  *time.Time       `json:"expires_at,omitempty"`
	AnsweredAt *time.Time       `json:"answered_at,omitempty"`
}

// Wordless says that an answer is refused because it lacks the words that it is
// due: what has to change, the reason, or what the agent asks for.
func (c Checkpoint) Wordless(status CheckpointStatus, choice, comment string) bool {
	if !text.Blank(comment) {
		return false
	}
	switch status {
	case CheckpointChangesRequested:
		return true
	case CheckpointApproved:
		return c.ReasonDue || c.AnswerDue && choice == ""
	}
	return false
}

// Choice is one way to answer that the three answers alone do not name
// (stale: continue, pivot, stop, abort).
type Choice struct {
	Name   string           `json:"name"`
	Answer CheckpointStatus `json:"answer"`
	Label  string           `json:"label"`
}

// Answer is what a door writes; the owner of the run turns it into events.
type Answer struct {
	Checkpoint string           `json:"checkpoint"`
	Revision   int              `json:"revision"` // 0 = whatever is current
	Status     CheckpointStatus `json:"status"`
	Comment    string           `json:"comment,omitempty"`
	Choice     string           `json:"choice,omitempty"`
	By         string           `json:"by"`
	Role       string           `json:"role,omitempty"` // of By, as the door knows it; "" = owner
	Door       string           `json:"door"`
	At         time.Time        `json:"at"`
	// Head is the commit that By looked at, where the door knows it: a pull
	// request's.
	Head string `json:"head,omitempty"`
	// Heard are the reviews and comments of a pull request that the answer rests
	// on or passes on, where it is about a run's result: they are not taken again.
	Heard []string `json:"heard,omitempty"`
	// FollowUps are comments on lines of what is approved: left for later.
	FollowUps []string `json:"follow_ups,omitempty"`
	// Threads are those of Heard that the agent owes an answer to.
	Threads []string `json:"threads,omitempty"`
	// Checks is the head whose failed checks on the code host the answer sends
	// back, "" = a person answers.
	Checks string `json:"checks,omitempty"`
	// Edited holds the checkpoint's edits, where changes are requested.
	Edited *Edited `json:"edited,omitempty"`
	// Policy is the run's policy from now on, as JSON; empty = as it is. An
	// answer without a checkpoint does nothing else.
	Policy json.RawMessage `json:"policy,omitempty"`
	// Message is for the agent of a phase. An answer with one answers nothing.
	Message *Message `json:"message,omitempty"`
	// Rewind sets a phase back. An answer with it answers nothing.
	Rewind *Rewind `json:"rewind,omitempty"`
}

// Refused answers. Each one is exit code 2 at the command line.
var (
	ErrAlreadyResolved = errors.New("already_resolved")
	ErrConflict        = errors.New("conflict")
	ErrEmptyFeedback   = errors.New("empty_feedback")
	ErrUnknown         = errors.New("unknown_checkpoint")
	ErrExpired         = errors.New("expired")
)

// unknownError is ErrUnknown in words.
type unknownError string

func (e unknownError) Error() string { return string(e) }

// Is makes every unknownError an ErrUnknown.
func (e unknownError) Is(target error) bool { return target == ErrUnknown }

// NoCheckpoint is an ErrUnknown that says only what the words say.
func NoCheckpoint(format string, args ...any) error {
	return unknownError(fmt.Sprintf(format, args...))
}
