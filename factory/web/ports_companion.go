package web

import (
	"context"

	"forge/internal/work"
)

// Companion is talked to about a run, or with run "" about the whole project. It
// may be used by many at once.
type Companion interface {
	// Lacks says how a model is configured, where none is; "" = one is.
	Lacks(ctx context.Context) (string, error)
	// Talk is the conversation as it stands.
	Talk(ctx context.Context, run string) (work.Talk, error)
	// Ask lets the model answer a question, which takes as long as it takes; hear
	// hears meanwhile how far it is. Why there is no answer stands in the
	// conversation, and is no error; a question that cannot be put is one.
	Ask(ctx context.Context, run, question string, by Asker, hear func(CompanionNow)) (work.TalkTurn, error)
	// Confirm carries a proposal out for a person who may do that, once.
	Confirm(ctx context.Context, run string, proposal int64, by Asker) (work.TalkProposal, error)
	// Dismiss ends a proposal; nothing is done.
	Dismiss(ctx context.Context, run string, proposal int64, by Asker) (work.TalkProposal, error)
}

// Asker is who talks to the companion, and what they may do in the project.
type Asker struct {
	Name string
	Role Role
	Door string // through what, for records
}

// CompanionNow is how far an answer is.
type CompanionNow struct {
	Turn int64  // number of the question's line
	Text string // the words so far; they may begin anew
	Line bool   // the conversation has a line more
}
