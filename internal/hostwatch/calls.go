package hostwatch

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"forge/factory/tracker"
	"forge/internal/approval"
	"forge/internal/host"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// calls are those by name on pull requests: how they ended since the process began.
type calls struct {
	mu      sync.Mutex
	ended   map[string]int
	counted map[string]bool // comments whose end is counted
}

// The ends of calls, in the words of those on trackers.
const (
	callTaken   = "taken"
	callRefused = "refused"
	callIgnored = "ignored" // of who may not write
)

// count counts the end of the calls of one comment, once.
func (c *calls) count(comment, end string) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended, c.counted = map[string]int{}, map[string]bool{}
	}
	if c.counted[comment] {
		return false
	}
	if len(c.counted) >= mostCounted {
		clear(c.counted)
	}
	c.counted[comment] = true
	c.ended[end]++
	return true
}

// mostCounted bounds which comments are remembered; what is said of one stands on
// the host once, whether or not it is.
const mostCounted = 10_000

// Calls counts the calls on pull requests since the process began, by their end.
func (w *Watch) Calls() map[string]int {
	w.calls.mu.Lock()
	defer w.calls.mu.Unlock()
	return maps.Clone(w.calls.ended)
}

// heardCall is what follows from the calls in one comment on a pull request.
type heardCall struct {
	comment work.PullComment
	answer  *work.Answer // what it says to the question, nil = nothing
	level   string       // that the run is to have from its next boundary on, "" = its own
	words   []text.Markdown
	heard   []text.Markdown // that it was heard, where no sign can be left at it
	end     string
}

// callsOn are the calls on a pull request that nobody acted on yet, the oldest
// first: what each says to the question that the pull request shows, and what is
// said to it. A comment counts as heard when the agent was told it, so a call is
// acted on once, whatever dies in between; for a level, see leveled. level says
// why a run cannot have one.
func callsOn(look work.PullLook, q Question, name, held string, level func(name string) error) (out []heardCall) {
	for _, c := range look.Comments {
		all := tracker.Calls(c.Body, name)
		if len(all) == 0 || c.Own || slices.Contains(q.Pull.Heard, "c"+c.ID) {
			continue
		}
		one := heardCall{comment: c, end: callTaken}
		if !slices.Contains(look.Writers, c.By) {
			one.end = callIgnored
			out = append(out, one)
			continue
		}
		for _, call := range all {
			one.act(call, look, q, held, level)
		}
		out = append(out, one)
	}
	return out
}

// act adds what follows from one call.
func (h *heardCall) act(call tracker.Call, look work.PullLook, q Question, held string, level func(name string) error) {
	say := func(words text.Markdown) { h.words = append(h.words, words) }
	heard := func(words text.Markdown) { h.heard = append(h.heard, words) }
	refuse := func(why string) {
		h.end = callRefused
		say(text.Format("Not done, %s: %s", text.Code(call.Command), text.OneLine(why, 500)))
	}
	switch call.Command {
	case "fix", "do", "retry":
		h.answer = pullrequest.Called(look, q.Checkpoint, work.CheckpointChangesRequested, h.comment, call.Command)
		heard(text.Own("Heard: the agent is told what stands here."))
	case "stop":
		h.answer = pullrequest.Called(look, q.Checkpoint, work.CheckpointRejected, h.comment, "stop")
		heard(text.Own("Heard: this is not gone on with."))
	case "explain":
		say(text.Format("It asks: %s", text.OneLine(q.Checkpoint.Question, 500)))
		if held != "" {
			say(text.Format("It waits: %s", text.OneLine(held, 500)))
		}
	case "review":
		say(text.Own("Forge does not review its own pull request once more: where reviewers are set up, each head is reviewed before it is shown, and what they found stands here."))
	case "ignore":
		refuse("what `forge review --pull` found is let stand, and that hears it when it is run again. What else stands here, fix mends")
	case "plan":
		refuse("its work is done and shown here: fix has it changed; plan is for an issue that nobody works on")
	case "level":
		err := level(call.Given)
		switch {
		case call.Given == "":
			refuse("level takes NAME")
		case q.Issue != nil:
			refuse(fmt.Sprintf("its run is over. For the next one, write it below issue %d on the tracker, or use forge issue edit %d --level NAME", q.Issue.ID, q.Issue.ID))
		case err != nil:
			refuse(err.Error())
		default:
			h.level = call.Given
			heard(text.Format("Heard: level %s from the next boundary on.", text.Code(call.Given)))
		}
	case "budget":
		if q.Issue != nil {
			refuse(fmt.Sprintf("its run is over. For the next one, write it below issue %d on the tracker, or use forge issue edit %d --budget N", q.Issue.ID, q.Issue.ID))
			return
		}
		refuse(fmt.Sprintf("phase %[1]s has begun; forge resume %[2]s --budget %[1]s=N widens its budget", q.Checkpoint.Phase, q.Checkpoint.Run))
	default:
		refuse("there is no such command: on a pull request of Forge's there are fix (do and retry are the same), review, stop, explain and level NAME; plan and budget N are for issues")
	}
}

// called acts on the calls on the pull request of a question, and returns the
// answer that the newest of them gives, nil = none does. What is said to a call is
// said before that answer is taken: by its key it stands there once. Where a review
// has decided already, calls that answer are left to it.
func (w *Watch) called(ctx context.Context, q Question, look work.PullLook, held string, decided bool) (*work.Answer, error) {
	if w.Call == "" || q.Over || look.State != work.PullOpen {
		return nil, nil
	}
	var answer *work.Answer
	check := func(name string) error { return w.mayLevel(ctx, q.Checkpoint.Run, name) }
	for _, one := range callsOn(look, q, w.Call, held, check) {
		if decided && one.answer != nil {
			continue
		}
		if err := w.leveled(ctx, q.Checkpoint.Run, one); err != nil {
			return nil, err
		}
		if key := "call " + one.comment.ID; one.end != callIgnored && !w.told[key] {
			words, err := host.Heard(ctx, w.host, look.Number, one.comment, one.heard, one.words)
			if err == nil && len(words) > 0 {
				err = w.host.Comment(ctx, look.Number, key, text.Join("\n\n", words...))
			}
			if err != nil {
				return nil, err
			}
			w.told[key] = true
		}
		if w.calls.count(one.comment.ID, one.end) && one.end != callIgnored {
			w.p.Log.Info("called on a pull request", "pull", look.Number, "by", text.Harmless(one.comment.By), "end", one.end)
		}
		if one.answer != nil {
			one.answer.At = w.p.Now()
			answer = one.answer
		}
	}
	return answer, nil
}

// mayLevel says why a run cannot have a level.
func (w *Watch) mayLevel(ctx context.Context, run, name string) error {
	s, _, err := w.p.LoadRun(ctx, run)
	if err == nil {
		_, err = approval.LevelFor(w.p, s, name)
	}
	return err
}

// leveled gives a run the level that was called for, once: the door that it came in
// by names the comment, in the inbox and then in the run's record.
func (w *Watch) leveled(ctx context.Context, run string, one heardCall) error {
	door := pullrequest.Channel + " " + one.comment.ID
	if one.level == "" || w.told[door] {
		return nil
	}
	told, err := w.toldBy(ctx, run, door)
	if err == nil && !told {
		_, _, err = approval.SetLevel(ctx, w.p, run, one.level, one.comment.By, door)
	}
	if err == nil {
		w.told[door] = true
	}
	return err
}

// toldBy says that something came in for a run by a door. The inbox is read first:
// what leaves it then is in the record.
func (w *Watch) toldBy(ctx context.Context, run, door string) (bool, error) {
	rows, err := w.p.Journal.Inbox(ctx, run)
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		if r.Answer.Door == door {
			return true, nil
		}
	}
	events, err := w.p.Journal.Events(ctx, run, 0)
	if err != nil {
		return false, err
	}
	for _, e := range events {
		if e.Kind != work.PolicyChanged {
			continue
		}
		var d orchestrator.PolicyChangedData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return false, fmt.Errorf("read a change of level of run %s: %w", run, err)
		}
		if d.Door == door {
			return true, nil
		}
	}
	return false, nil
}
