package companion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"forge/factory/web"
	"forge/gates"
	"forge/internal/llm"
	"forge/internal/mcp"
	"forge/internal/refusal"
	"forge/internal/work"
)

// Threads keeps conversations.
type Threads interface {
	// Talk is a conversation, the oldest line first.
	Talk(ctx context.Context, about string) ([]work.TalkLine, error)
	// AddTalk adds a line after the one with that number: a work.ErrStale when there
	// is a newer one, and then nothing is added. It is durable when it returns.
	AddTalk(ctx context.Context, about string, after int64, at time.Time, data json.RawMessage) error
}

// Setup is what a question is asked with, as the configuration says it now.
type Setup struct {
	Model *llm.Client // nil = no service is named; closed after the question
	// MaxUSD bounds a conversation where both prices are known, MaxTokens always,
	// MaxCalls the tools of one question.
	MaxUSD        float64
	MaxTokens     int64
	MaxCalls      int
	USDIn, USDOut *float64 // of a million tokens; nil = unknown
	MaxOut        int      // tokens of an answer
	Levels        gates.Catalogue
	ContextTokens int
}

// Config is what a room is made of.
type Config struct {
	Project web.Project // whose own Companion is not used
	Threads Threads
	Setup   func(ctx context.Context) (Setup, error)
	Record  func(mcp.Call) error // keeps each call of a tool, beside the conversation; nil = nobody does
	Now     func() time.Time
	Log     *slog.Logger
	Version string
}

// Room is where one project is talked about. It may be used by many at once.
type Room struct{ Config }

var _ web.Companion = (*Room)(nil)

// New makes a room.
func New(c Config) *Room { return &Room{c} }

// turnTime is how long one question may take.
const turnTime = 10 * time.Minute

// How says how a model is configured.
const How = `name a model: base_url and model in [llm] of forge.toml, and where only the companion is to use another one roles = { companion = "…" }`

// Lacks says how a model is configured, where none is.
func (r *Room) Lacks(ctx context.Context) (string, error) {
	set, err := r.Setup(ctx)
	if err != nil {
		return "", err
	}
	if set.Model == nil {
		return How, nil
	}
	defer set.Model.Close()
	if set.Model.ModelFor(llm.RoleCompanion) == "" {
		return How, nil
	}
	return "", nil
}

// about is the name of a conversation.
func (r *Room) about(run string) string {
	if run == "" {
		return "board:" + r.Project.Board.Project
	}
	return run
}

// Talk is the conversation as it stands.
func (r *Room) Talk(ctx context.Context, run string) (work.Talk, error) {
	lines, err := r.Threads.Talk(ctx, r.about(run))
	if err != nil {
		return work.Talk{}, err
	}
	return work.TalkOf(run, lines)
}

// addTries is how often a line is added again after somebody else's.
const addTries = 50

// add adds a line, wherever the conversation ends by now.
func (r *Room) add(ctx context.Context, run string, e work.TalkEntry) (int64, error) {
	return r.addIf(ctx, run, e, func(work.Talk) error { return nil })
}

// addIf adds a line to a conversation of which may finds that it may be.
func (r *Room) addIf(ctx context.Context, run string, e work.TalkEntry, may func(work.Talk) error) (int64, error) {
	ctx = context.WithoutCancel(ctx) // what happened is written down, whoever went away
	data, err := json.Marshal(e)
	if err != nil {
		return 0, fmt.Errorf("write a line of a conversation: %w", err)
	}
	for range addTries {
		talk, err := r.Talk(ctx, run)
		if err != nil {
			return 0, err
		}
		if err := may(talk); err != nil {
			return 0, err
		}
		if talk.Head >= mostLines {
			return 0, refusal.New("read it; forge why says what was decided", "this conversation has %d lines, which is the most", talk.Head)
		}
		err = r.Threads.AddTalk(ctx, r.about(run), talk.Head, r.Now().UTC(), data)
		if err == nil {
			return talk.Head + 1, nil
		}
		if !errors.Is(err, work.ErrStale) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("add to a conversation: %w: others add to it all the time", work.ErrStale)
}
