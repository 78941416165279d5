package tracker

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"forge/factory"
	"forge/internal/text"
	"forge/internal/work"
)

// callCounts are how calls ended since the process began.
type callCounts struct {
	mu  sync.Mutex
	all map[string]int
}

// The ends of calls.
const (
	callTaken   = "taken"
	callRefused = "refused"
	callIgnored = "ignored" // of who may not write
)

func (c *callCounts) count(end string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]int{}
	}
	c.all[end]++
}

// Heard counts the calls of this tracker since the process began, by their end.
func (s *Sync) Heard() map[string]int {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	out := map[string]int{callTaken: 0, callRefused: 0, callIgnored: 0}
	for end, n := range s.calls.all {
		out[end] = n
	}
	return out
}

// saidBefore is the last comment that was there before an issue got its label; all
// of them where nobody knows when that was.
func saidBefore(r Reading, b Bound) (last int64) {
	for _, c := range r.Comments {
		if b.At.IsZero() || c.At.Before(b.At) {
			last = max(last, c.ID)
		}
	}
	return last
}

// hear acts on the calls in comments that nobody heard yet, the oldest first.
// What a call makes of the board's issue and that it was heard are stored
// together, so it is acted on once, however often and late it is read.
func (s *Sync) hear(ctx context.Context, r Reading, bound Bound) error {
	if s.Rules.Called == "" {
		return nil
	}
	for _, c := range r.Comments {
		calls := Calls(c.Body, s.Rules.Called)
		if c.ID == 0 || len(calls) == 0 || c.Own || Ours(c.Body) {
			continue
		}
		row, known, err := s.Store.TrackerIssue(ctx, s.Host.Name(), r.Number)
		if err != nil || !known || row.Issue == 0 || row.Project != s.Board.Project {
			return err
		}
		if c.ID <= row.Heard {
			continue
		}
		row.Heard = c.ID
		if !r.Writers[c.By] {
			// Nothing is said: who may not write learns nothing by calling.
			if err := s.Store.HearTracker(ctx, row, nil); err != nil {
				return err
			}
			s.calls.count(callIgnored)
			continue
		}
		if err := s.called(ctx, r, row, c, calls, bound); err != nil {
			return err
		}
	}
	return nil
}

// called acts on the calls of one comment of somebody who may write.
func (s *Sync) called(ctx context.Context, r Reading, row work.TrackerIssue, c Comment, calls []Call, bound Bound) error {
	was, err := s.Store.Issue(ctx, row.Project, row.Issue)
	if err != nil {
		return err
	}
	held := ""
	if bound.Hold != "" {
		held = bound.Line(was)
	}
	now, words, refused := was, []text.Markdown{}, 0
	for _, call := range calls {
		after := Act(call, now, c.By, held, s.Rules.Level)
		switch {
		case after.Refused != "":
			refused++
			words = append(words, text.Format("Not done, %s: %s", text.Code(call.Command), text.OneLine(after.Refused, 500)))
		case after.Explain:
			more, err := s.explains(ctx, after.Is)
			if err != nil {
				return err
			}
			words = append(words, more)
		case after.Said != "":
			words = append(words, text.Format("%s", after.Said))
		}
		now = after.Is
	}
	by := factory.By{Name: text.Clip(work.OneLine(c.By), 60) + " (tracker " + s.Rules.Name + ")", Door: "tracker", Note: "called: " + told(calls)}
	var change *work.BoardChange
	if len(factory.Changes(was, now)) > 0 {
		planned, err := s.Board.PlanEdit(ctx, was, now, by)
		if rule, ok := factory.Refused(err); ok {
			now, err = was, nil
			refused++
			words = append(words, text.Format("Not done: %s", text.OneLine(rule.Error(), 500)))
		} else if err == nil {
			change = &planned
		}
		if err != nil {
			return err
		}
	}
	// Words come first: by their key they stand there once, whatever dies.
	if len(words) > 0 {
		key := digest(s.key(row) + " call " + strconv.FormatInt(c.ID, 10))
		err := s.Host.Post(ctx, r.Number, Report{Key: key, Body: text.Join("\n\n", words...)})
		if err != nil && !OfIssue(err) {
			return err
		}
		if err != nil {
			s.say(was.ID, "the call was heard, and cannot be answered: "+err.Error())
		}
	}
	if err := s.Store.HearTracker(ctx, row, change); err != nil {
		return err
	}
	if refused > 0 {
		s.calls.count(callRefused)
	} else {
		s.calls.count(callTaken)
	}
	s.say(was.ID, fmt.Sprintf("%s called on the tracker: %s", c.By, told(calls)))
	if now.State == work.IssueCancelled && was.State != work.IssueCancelled && s.Ends != nil {
		if err := s.Ends(ctx, now, by); err != nil {
			s.say(was.ID, "what still ran is not all ended: "+err.Error())
		}
	}
	if err := s.Host.Acknowledge(ctx, r.Number, c); err != nil {
		s.say(was.ID, "the call was heard, and no sign of it could be left: "+err.Error())
	}
	return nil
}

func told(calls []Call) string {
	out := ""
	for n, c := range calls {
		if n > 0 {
			out += ", "
		}
		out += text.OneLine(c.Command+" "+c.Given, 100)
	}
	return out
}

// LinesExplained is how much of an issue's history explains it.
const LinesExplained = 5

// explains says how an issue stands, with the last lines of its history.
func (s *Sync) explains(ctx context.Context, i work.Issue) (text.Markdown, error) {
	if s.History == nil {
		return Explain(i, nil), nil
	}
	lines, err := s.History(ctx, i, LinesExplained)
	return Explain(i, lines), err
}

// Explain says how an issue stands, with lines of its history.
func Explain(i work.Issue, lines []string) text.Markdown {
	report, _ := Tell("", i)
	var items []text.Markdown
	for _, l := range lines {
		items = append(items, text.Item(text.Format("%s", text.OneLine(l, 300))))
	}
	if len(items) == 0 {
		return report.Body
	}
	return text.Join("\n\n", report.Body, text.Join("", items...))
}
