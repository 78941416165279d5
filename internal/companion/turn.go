package companion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"forge/factory/web"
	"forge/internal/llm"
	"forge/internal/mcp"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/token"
	"forge/internal/work"
	"forge/orchestrator"
)

// Bounds of one question.
const (
	mostQuestion  = 8 << 10  // bytes
	mostAnswer    = 64 << 10 // bytes that are kept
	mostInput     = 64 << 10 // bytes of what a tool is given; a file that is edited is in it
	mostProposals = 8
	mostLines     = 10_000 // of a conversation
	// bytesPerToken is what a token has at least, for what nobody counted.
	bytesPerToken = 2
)

// turn is one question on its way.
type turn struct {
	room     *Room
	set      Setup
	asker    web.Asker
	run      string
	question string
	hear     func(web.CompanionNow)

	row   web.Run // the zero value = about the whole project
	st    *orchestrator.State
	waits []work.Checkpoint
	stage Stage
	n     int64 // number of the question's line

	tools     *mcp.Server
	call      mcp.Call // the last one, as it was recorded
	calls     int
	proposals int
}

// Ask lets the model answer a question.
func (r *Room) Ask(ctx context.Context, run, question string, by web.Asker, hear func(web.CompanionNow)) (work.TalkTurn, error) {
	question = strings.TrimSpace(strings.ToValidUTF8(question, "\uFFFD"))
	switch {
	case text.Blank(question):
		return work.TalkTurn{}, refusal.New("write what you want to know", "nothing is asked")
	case len(question) > mostQuestion:
		return work.TalkTurn{}, refusal.New("put it shorter", "the question has %d bytes, at most %d are taken", len(question), mostQuestion)
	}
	ctx, cancel := context.WithTimeout(ctx, turnTime)
	defer cancel()
	set, err := r.Setup(ctx)
	if err != nil {
		return work.TalkTurn{}, err
	}
	if set.Model == nil {
		return work.TalkTurn{}, refusal.New(How, "the companion has no model")
	}
	defer set.Model.Close()
	if set.Model.ModelFor(llm.RoleCompanion) == "" {
		return work.TalkTurn{}, refusal.New(How, "the companion has no model")
	}
	if hear == nil {
		hear = func(web.CompanionNow) {}
	}
	t := &turn{room: r, set: set, asker: by, run: run, question: question, hear: hear}
	if err := t.look(ctx); err != nil {
		return work.TalkTurn{}, err
	}
	if err := t.open(); err != nil {
		return work.TalkTurn{}, err
	}
	defer t.tools.Close()

	t.n, err = r.addIf(ctx, run, work.TalkEntry{Kind: work.TalkAsked, By: by.Name, Door: by.Door, Stage: string(t.stage), Text: question}, t.affords(0))
	if err != nil {
		return work.TalkTurn{}, err
	}
	t.hear(web.CompanionNow{Turn: t.n, Line: true})
	end := work.TalkEntry{Kind: work.TalkAnswered, Of: t.n}
	if end.Text, err = t.answer(ctx); err != nil {
		end.Kind, end.Text = work.TalkFailed, r.failed(err)
	}
	if _, err := r.add(ctx, run, end); err != nil {
		return work.TalkTurn{}, err
	}
	t.hear(web.CompanionNow{Turn: t.n, Line: true})
	talk, err := r.Talk(context.WithoutCancel(ctx), run)
	if err != nil {
		return work.TalkTurn{}, err
	}
	for _, one := range talk.Turns {
		if one.N == t.n {
			return one, nil
		}
	}
	return work.TalkTurn{}, fmt.Errorf("read question %d again: it is gone", t.n)
}

// failed is why there is no answer, as a person is told it.
func (r *Room) failed(err error) string {
	var own *refusal.Error
	var trouble *llm.Trouble
	switch {
	case errors.As(err, &own):
		return own.Error()
	case errors.Is(err, context.Canceled):
		return "it was stopped before there was an answer"
	case errors.As(err, &trouble):
		if trouble.Fix != "" {
			return trouble.What + " (" + trouble.Fix + ")"
		}
		return trouble.What
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("there was no answer within %s", turnTime)
	}
	r.Log.Error("the companion could not answer", "err", err)
	return "Forge could not do that; its log says why"
}

// look finds out how far the work is.
func (t *turn) look(ctx context.Context) (err error) {
	p := t.room.Project
	if t.run == "" {
		t.stage = stageOf(nil, nil)
		return nil
	}
	if t.row, err = p.Runs.Run(ctx, t.run); err != nil {
		return err
	}
	if t.st, err = p.Runs.State(ctx, t.run); err != nil {
		return err
	}
	if t.waits, err = p.Questions.Checkpoints(ctx, t.run, work.CheckpointPending, 100, ""); err != nil {
		return err
	}
	t.stage = stageOf(t.st, t.waits)
	return nil
}

// open makes the tools: those of MCP that only read, of this run alone.
func (t *turn) open() (err error) {
	r := t.room
	t.tools, err = mcp.New(mcp.Config{
		Project: func(context.Context) (web.Project, error) { return r.Project, nil },
		Grant:   token.Grant{Name: "companion", By: t.asker.Name, Project: r.Project.Root, Run: t.run, Tier: token.Read},
		Record: func(c mcp.Call) error {
			t.call = c
			if r.Record == nil {
				return nil
			}
			return r.Record(c)
		},
		Door: "companion", Now: r.Now, Log: r.Log, Version: r.Version,
	})
	return err
}

// answer lets the model go on until it answers, or a bound is met: then it has to
// answer with what it knows.
func (t *turn) answer(ctx context.Context) (string, error) {
	talk, err := t.room.Talk(ctx, t.run)
	if err != nil {
		return "", err
	}
	chat := llm.Chat{Role: llm.RoleCompanion, System: system(t.stage, t.run), Hear: func(words string) { t.hear(web.CompanionNow{Turn: t.n, Text: words}) }}
	if chat.Messages, err = t.messages(ctx, talk); err != nil {
		return "", err
	}
	tools, err := t.offers()
	if err != nil {
		return "", err
	}
	for {
		chat.Tools = tools
		if t.calls >= t.set.MaxCalls || t.full(chat, tools) {
			chat.Tools = nil
		}
		said, err := t.ask(ctx, chat)
		if err != nil {
			return "", err
		}
		if len(said.Calls) == 0 || chat.Tools == nil {
			if text.Blank(said.Text) {
				return "", refusal.New("ask again, or for less at once", "the model only called tools, and there are no more for this question")
			}
			return text.Clip(said.Text, mostAnswer), nil
		}
		chat.Messages = append(chat.Messages, llm.Message{From: llm.FromModel, Text: said.Text, Calls: named(said.Calls)})
		for _, call := range chat.Messages[len(chat.Messages)-1].Calls {
			out, err := t.use(ctx, call)
			if err != nil {
				return "", err
			}
			chat.Messages = append(chat.Messages, llm.Message{From: llm.FromTool, Of: call.ID, Text: out})
		}
	}
}

// named gives each call an id, by which its answer is told apart.
func named(calls []llm.Call) []llm.Call {
	seen := map[string]bool{"": true}
	for i := range calls {
		if seen[calls[i].ID] {
			calls[i].ID = fmt.Sprintf("call-%d", i+1)
		}
		seen[calls[i].ID] = true
		if !json.Valid(calls[i].Input) {
			calls[i].Input = json.RawMessage(`{}`) // services refuse to be sent it again
		}
	}
	return calls
}

// offers are the tools as the model is told of them.
func (t *turn) offers() (out []llm.Tool, err error) {
	reads, err := t.tools.Offers()
	if err != nil {
		return nil, err
	}
	for _, o := range reads {
		out = append(out, llm.Tool{Name: o.Name, About: o.About, Schema: o.Schema})
	}
	for _, w := range t.may() {
		one, err := w.offer()
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// full says that no further answer of a tool fits into what the model can read.
func (t *turn) full(chat llm.Chat, tools []llm.Tool) bool {
	const room = 64 << 10 // of one more answer of a tool, with its call
	chat.Tools = tools
	return size(chat)+room > t.set.ContextTokens*bytesPerToken
}

// size is how many bytes a chat has.
func size(chat llm.Chat) int {
	n := len(chat.System)
	for _, m := range chat.Messages {
		n += len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Tool) + len(c.Input)
		}
	}
	for _, tool := range chat.Tools {
		n += len(tool.Name) + len(tool.About) + len(tool.Schema)
	}
	return n
}

// affords says why a conversation may not take so many more bytes and an answer.
func (t *turn) affords(bytes int) func(work.Talk) error {
	return func(talk work.Talk) error {
		in, out := int64(bytes/bytesPerToken), int64(t.set.MaxOut)
		if bytes == 0 {
			in, out = 0, 0 // whether there is anything left at all
		}
		if talk.Tokens+in+out > t.set.MaxTokens || talk.Tokens >= t.set.MaxTokens {
			return refusal.New("raise companion.max_tokens", "this conversation took %s tokens of %s, and the next answer may take more than is left", text.Count(talk.Tokens), text.Count(t.set.MaxTokens))
		}
		if t.set.USDIn == nil || t.set.USDOut == nil {
			return nil
		}
		if next := t.usd(in, out); talk.USD+next > t.set.MaxUSD || talk.USD >= t.set.MaxUSD {
			return refusal.New("raise companion.max_usd", "this conversation cost %s of %s, and the next answer may cost more than is left", text.USD(talk.USD), text.USD(t.set.MaxUSD))
		}
		return nil
	}
}

func (t *turn) usd(in, out int64) float64 {
	return (float64(in)**t.set.USDIn + float64(out)**t.set.USDOut) / 1e6
}

// ask asks the model once, within what the conversation may still take, and writes
// down what that took: also where nothing came of it.
func (t *turn) ask(ctx context.Context, chat llm.Chat) (llm.Said, error) {
	talk, err := t.room.Talk(ctx, t.run)
	if err != nil {
		return llm.Said{}, err
	}
	bytes := size(chat)
	if err := t.affords(bytes)(talk); err != nil {
		return llm.Said{}, err
	}
	said, asked := t.set.Model.Chat(ctx, chat)
	paid := work.TalkEntry{Kind: work.TalkPaid, Of: t.n, Model: said.Model, USD: said.Usage.CostUSD}
	if in, out := said.Usage.InputTokens, said.Usage.OutputTokens; in != nil && out != nil {
		paid.Tokens = *in + *out
	} else {
		// What nobody counted is not nothing.
		guess := int64((bytes + len(said.Text)) / bytesPerToken)
		paid.Tokens, paid.Guessed = guess, true
		if t.set.USDIn != nil && t.set.USDOut != nil {
			usd := t.usd(guess, int64(t.set.MaxOut))
			paid.USD = &usd
		}
	}
	if _, err := t.room.add(ctx, t.run, paid); err != nil {
		return llm.Said{}, err
	}
	return said, asked
}

// use calls a tool for the model, and writes the call down before it hears what
// came of it.
func (t *turn) use(ctx context.Context, call llm.Call) (string, error) {
	t.calls++
	if t.calls > t.set.MaxCalls {
		return "There are no more calls for this question. Answer with what you know.", nil
	}
	e := work.TalkEntry{Kind: work.TalkCalled, Of: t.n, Tool: text.OneLine(call.Tool, 80), Input: text.Clip(string(call.Input), mostInput)}
	began := t.room.Now()
	var told error
	if kind, ok := strings.CutPrefix(call.Tool, proposePrefix); ok {
		var made work.Proposal
		if made, told = t.propose(ctx, kind, call.Input); told == nil {
			n, err := t.room.add(ctx, t.run, work.TalkEntry{Kind: work.TalkProposed, Of: t.n, Proposal: &made})
			if err != nil {
				return "", err
			}
			t.hear(web.CompanionNow{Turn: t.n, Line: true})
			return fmt.Sprintf("The person sees it as proposal %d. Nothing is changed unless they confirm it.", n), nil
		}
	} else {
		t.call = mcp.Call{}
		e.Output, told = t.tools.Call(ctx, call.Tool, call.Input)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	e.TookMS = t.room.Now().Sub(began).Milliseconds()
	out := e.Output
	if told != nil {
		e.Refused = told.Error()
		var b strings.Builder
		b.WriteString("That was refused.\n")
		text.Fence(&b, "Why", text.Clip(e.Refused, 2000)) // it may repeat what the model was told to write
		out = b.String()
	}
	if _, err := t.room.add(ctx, t.run, e); err != nil {
		return "", err
	}
	t.hear(web.CompanionNow{Turn: t.n, Line: true})
	return out, nil
}
