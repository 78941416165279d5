package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// The protocol has no message to a turn that is under way, and does not say what a
// second prompt means during one. Servers differ. claude-agent-acp says that it
// queues it, and gives it to the model between two tool calls; opencode does so
// without a word. gemini ends the turn and the command that it runs, and begins
// with the other prompt before that has ended. A server that is not known may do
// either, or refuse it.
//
// So a word goes as a prompt to servers of which it is known that they queue it. To
// any other it comes with the next prompt, and that is said. Cancelling the turn to
// ask anew would reach every server, and would end a build or a commit half-way for
// a word that was to end nothing. Whoever wants that says so: an urgent message
// cancels the turn, keeps its work, and goes on in the same session.

// acpTakesNothing is why a word waits for the next prompt.
const acpTakesNothing = "its server does not say that it takes a prompt while it works"

// queues says that a prompt during a turn reaches the turn's model, or follows it.
func (s acpServer) queues() bool {
	if s.Agent.Name == acpOpencode { // measured
		return true
	}
	var own map[string]json.RawMessage
	_ = json.Unmarshal(s.Capabilities.Meta, &own) // of another form: it says nothing
	for _, raw := range own {
		var of struct {
			Queues bool `json:"promptQueueing"`
		}
		if json.Unmarshal(raw, &of) == nil && of.Queues {
			return true
		}
	}
	return false
}

// acpWord is what a person says, or with no id what Forge asks.
type acpWord struct{ id, words string }

// acpTurn is a prompt that was sent, and its answer.
type acpTurn struct {
	acpWord
	number int
	result json.RawMessage
	err    error
}

// acpOutput writes to the server, and tells of each prompt once it is written.
type acpOutput struct {
	to      io.Writer
	prompts chan struct{}
}

const acpPromptMethod = `"method":"` + acp.AgentMethodSessionPrompt + `"`

func (o acpOutput) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if method, _, _ := strings.Cut(string(p[:min(len(p), 200)]), `"params"`); err == nil && strings.Contains(method, acpPromptMethod) {
		o.prompts <- struct{}{}
	}
	return n, err
}

// hand keeps a word until the conversation is so far that it can be sent, or is
// known not to be.
func (c *acpStream) hand(id, words string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" && !c.server.queues() {
		return errors.New(acpTakesNothing)
	}
	c.waiting = append(c.waiting, acpWord{id, words})
	select {
	case c.said <- struct{}{}:
	default: // it is known that there is something
	}
	return nil
}

// turns asks the server, gives it what people say meanwhile, and waits until all of
// it is answered. The last answer counts.
func (c *acpStream) turns(ctx context.Context, end acpEnd) acpEnd {
	var reading sync.WaitGroup
	defer reading.Wait()
	ctx, over := context.WithCancel(ctx)
	defer over()

	answers := make(chan acpTurn)
	open := []acpTurn{c.ask(ctx, 0, acpWord{words: c.req.Prompt}, answers)}
	last := acpTurn{number: -1}
	for asked := 1; len(open) > 0; {
		select {
		case <-c.said:
		case t := <-answers:
			open = c.answered(open, t)
			if t.number < last.number {
				t, last = last, t
			}
			if last.number >= 0 {
				end.earlier = append(end.earlier, last.result)
			}
			last = t
			if len(open) == 0 {
				c.told.close() // behind it nothing comes to those that wait
			}
		}
		for _, w := range c.toAsk(end.server) {
			open = append(open, c.ask(ctx, asked, w, answers))
			asked++
			reading.Go(func() { c.taken(ctx, w) })
		}
	}
	if end.result, end.err = last.result, last.err; last.err != nil {
		end.step = "ask the agent"
	}
	return end
}

// toAsk are the words that are to be sent now; those that the server does not take
// are refused.
func (c *acpStream) toAsk(server acpServer) []acpWord {
	c.mu.Lock()
	words := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	if server.queues() {
		return words
	}
	for _, w := range words {
		c.told.refuse(w.id, acpTakesNothing)
	}
	return nil
}

// ask sends a prompt, whose answer comes to answers, and returns once it is written.
func (c *acpStream) ask(ctx context.Context, number int, w acpWord, answers chan<- acpTurn) acpTurn {
	t := acpTurn{acpWord: w, number: number}
	c.mu.Lock()
	c.asked = append(c.asked, w.id)
	c.mu.Unlock()
	failed := make(chan struct{})
	go func(t acpTurn) {
		t.err = c.request(ctx, acp.AgentMethodSessionPrompt, acp.PromptRequest{
			SessionId: acp.SessionId(c.session), Prompt: []acp.ContentBlock{acp.TextBlock(w.words)},
		}, &t.result)
		close(failed)
		answers <- t // turns waits for all of them
	}(t)
	select {
	case <-c.output.prompts:
	case <-failed:
		select { // it may have been written and answered at once
		case <-c.output.prompts:
		default:
		}
	}
	return t
}

// taken waits until the server has read a word: it reads one line after the other,
// so that its answer to anything that stands behind the word says so, also where it
// is that the method is unknown.
func (c *acpStream) taken(ctx context.Context, w acpWord) {
	err := c.request(ctx, "_forge/read", struct{}{}, nil)
	if refused := (*acp.RequestError)(nil); err == nil || errors.As(err, &refused) && !acpGone(err) {
		c.told.took(w.id)
	}
}

// acpGone says that there was no answer, since the server has ended.
func acpGone(err error) bool { return strings.Contains(err.Error(), "peer disconnected") }

// answered takes out a turn that is over, whose word its model was given, then.
func (c *acpStream) answered(open []acpTurn, t acpTurn) (still []acpTurn) {
	var result struct {
		Reason string `json:"stopReason"`
	}
	_ = json.Unmarshal(t.result, &result) // of another form: not known
	if t.id != "" && t.err == nil && result.Reason != "" && result.Reason != string(acp.StopReasonCancelled) {
		c.told.gave(t.id)
	}
	return slices.DeleteFunc(open, func(o acpTurn) bool { return o.number == t.number })
}

// turnOver notes, as the answer to a prompt comes by, which word the model is given
// next. Servers that queue prompts answer them in their order.
func (c *acpStream) turnOver() {
	c.parted, c.called = true, true // what follows is another message
	if c.is(acpStopReason, string(acp.StopReasonCancelled)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.overs++; c.overs < len(c.asked) {
		c.following = c.asked[c.overs]
	}
}

// works notes that the agent says or does something: when the turn before a word is
// over, that is what follows from it.
func (c *acpStream) works() {
	c.mu.Lock()
	id := c.following
	c.following = ""
	c.mu.Unlock()
	if id != "" {
		c.told.gave(id)
	}
}
