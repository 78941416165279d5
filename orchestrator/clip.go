package orchestrator

import (
	"encoding/json"
	"fmt"

	"forge/internal/text"
	"forge/internal/work"
)

// maxOutput is how much of a failing command's output an event carries; the
// whole is in the log file.
const maxOutput = 6 << 10

// maxWords is how much of a person's comment an event carries: all that doors
// let through (work.MaxFeedback), also where half of it takes two bytes each.
const maxWords = 12 << 10

// clipList is for people: what it leaves out, it says.
func clipList(list []string, most, each int) []string {
	var out []string
	for i, one := range list {
		if i == most {
			return append(out, fmt.Sprintf("… and %d more", len(list)-most))
		}
		out = append(out, text.ClipJSON(one, each))
	}
	return out
}

// clipSignals keeps an event within its size. Sub-phases are left out whole,
// never cut: a promise that lost its end would be another promise.
// mostHosts is how many hosts an iteration names.
const mostHosts = 12

// clipHosts is what an event has room for; what was refused comes first.
func clipHosts(uses []work.HostUse) []work.HostUse {
	var out []work.HostUse
	for _, u := range uses[:min(len(uses), mostHosts)] {
		u.Host = text.ClipJSON(u.Host, 100)
		out = append(out, u)
	}
	return out
}

func clipSignals(sig work.Signals) work.Signals {
	sig.Promises = clipList(sig.Promises, 3, 300)
	sig.Blockers = clipList(sig.Blockers, 5, maxBlocker)
	sig.Pivots = clipList(sig.Pivots, 3, 300)
	sig.Summaries = clipList(sig.Summaries[max(len(sig.Summaries)-1, 0):], 1, maxPastSummary)
	sig.Problems = clipList(sig.Problems, 5, 200)
	sig.Assumptions = clipList(sig.Assumptions, 5, maxAssumption)
	sig.Waiting = clipList(sig.Waiting, 3, 200)
	sig.Questions, sig.Lacks = clipAsks(&sig)
	sig.Replies = clipReplies(sig.Replies)
	sig.Checkpoints = clipStops(&sig)
	sig.Decompositions = clipSplit(&sig)
	sig.Lessons = clipLessons(&sig)
	sig.JobComplete = clipCompletion(&sig)
	if n := len(sig.Progress); n > 10 {
		sig.Progress = sig.Progress[n-10:]
	}
	var kept []work.SubPhaseRequest
	room, left := maxRequests, 0
	for _, r := range sig.SubPhases {
		size := text.JSONSize(r.Name) + text.JSONSize(r.Promise) + text.JSONSize(r.Reasoning)
		if size > room || len(kept) == maxSubPhases {
			left++
			continue
		}
		room -= size
		kept = append(kept, r)
	}
	if left > 0 {
		sig.Problems = append(sig.Problems, fmt.Sprintf("%s left out: at most %d at once, with texts of %d bytes together", text.Number(left, "sub-phase"), maxSubPhases, maxRequests))
	}
	sig.SubPhases = kept
	return sig
}

// clipSplit keeps the last proposal of how to split the phase. It is never cut:
// sub-phases asked for beside it are left out, and one that became too long when
// secrets were taken out of it is none.
func clipSplit(sig *work.Signals) []work.Decomposition {
	n := len(sig.Decompositions)
	if n == 0 {
		return nil
	}
	last := sig.Decompositions[n-1]
	if last.Size() > work.MaxSplitBytes {
		sig.Problems = append(sig.Problems, fmt.Sprintf("decomposition: its words have more than %d bytes together", work.MaxSplitBytes))
		return nil
	}
	if len(sig.SubPhases) > 0 {
		sig.Problems = append(sig.Problems, "sub-phases left out: the phase is to be split as a whole")
		sig.SubPhases = nil
	}
	return []work.Decomposition{last}
}

// What is kept of answers to threads, in bytes: of one, and together.
const (
	maxReply   = 1000
	maxReplies = 4 << 10
)

// clipReplies keeps the last answer to each thread, in the order of the threads
// first answered, as far as there is room.
func clipReplies(all []work.ThreadReply) []work.ThreadReply {
	last := map[string]string{}
	for _, r := range all {
		last[r.Thread] = r.Text
	}
	var out []work.ThreadReply
	room := maxReplies
	for _, r := range all {
		words, due := last[r.Thread]
		if !due {
			continue
		}
		delete(last, r.Thread)
		words = text.ClipJSON(words, maxReply)
		if room -= text.JSONSize(words) + len(r.Thread); room < 0 {
			break
		}
		out = append(out, work.ThreadReply{Thread: r.Thread, Text: words})
	}
	return out
}

// clipAsks keeps the first questions and needs of an agent. What is left out is
// a problem; what was too long before secrets were taken out is refused already.
func clipAsks(sig *work.Signals) ([]work.Question, []work.Lack) {
	var questions []work.Question
	for i, q := range sig.Questions {
		if i == work.MaxAskedAtOnce {
			sig.Problems = append(sig.Problems, fmt.Sprintf("%s left out: at most %d at once", text.Number(len(sig.Questions)-i, "question"), work.MaxAskedAtOnce))
			break
		}
		questions = append(questions, work.Question{
			Text: text.ClipJSON(q.Text, work.MaxQuestionBytes), Why: text.ClipJSON(q.Why, work.MaxQuestionBytes),
			Choices: clipList(q.Choices[:min(len(q.Choices), work.MaxChoices)], work.MaxChoices, work.MaxChoiceBytes),
		})
	}
	var lacks []work.Lack
	for _, l := range sig.Lacks[:min(len(sig.Lacks), work.MaxAskedAtOnce)] {
		lacks = append(lacks, work.Lack{Text: text.ClipJSON(l.Text, maxBlocker), Needs: l.Needs})
	}
	return questions, lacks
}

// maxBlocker is how much of a blocker is kept, in bytes.
const maxBlocker = 300

// clipStops keeps the first checkpoints that an agent asks for, each small
// enough for an event; what cannot be used becomes a problem.
func clipStops(sig *work.Signals) []json.RawMessage {
	stops, problems := parseStops(*sig)
	sig.Problems = append(sig.Problems, clipList(problems, 3, 200)...)
	var out []json.RawMessage
	for i, r := range stops {
		if i == maxStops {
			sig.Problems = append(sig.Problems, fmt.Sprintf("%s left out: at most %d at once", text.Number(len(stops)-i, "checkpoint"), maxStops))
			break
		}
		raw, err := encode(work.StopRequest{Type: text.ClipJSON(r.Type, 60), Summary: text.ClipJSON(r.Summary, 300), Paths: clipList(r.Paths, 5, 100)})
		if err == nil {
			out = append(out, raw)
		}
	}
	return out
}

// clipCompletion keeps the one claim that a job is complete; two different ones
// are none.
func clipCompletion(sig *work.Signals) []json.RawMessage {
	var out []json.RawMessage
	for _, raw := range sig.JobComplete {
		c, err := work.ParseCompletion(raw)
		if err != nil {
			sig.Problems = append(sig.Problems, text.ClipJSON("job-complete: "+err.Error(), 200))
			return nil
		}
		c.Summary, c.Notes, c.Deliverables = text.ClipJSON(c.Summary, 1000), text.ClipJSON(c.Notes, 500), clipList(c.Deliverables, 10, 100)
		short, err := encode(c)
		switch {
		case err != nil:
			return nil
		case len(out) == 0:
			out = append(out, short)
		case string(out[0]) != string(short):
			sig.Problems = append(sig.Problems, "job-complete: said twice, and differently")
			return nil
		}
	}
	return out
}

// checked is what is recorded of the todos after an iteration of p: titles are
// short, their number is what counts; of a tactical phase, what became of the
// todos that were staged for it.
func (p *Phase) checked(c *work.TodoCheck) *work.TodoCheck {
	if c == nil {
		return nil
	}
	out := work.TodoCheck{Total: c.Total, Problems: clipList(c.Problems, 5, 150)}
	switch {
	case p.Plan.Kind != work.KindTactical:
		for _, name := range c.Open[:min(len(c.Open), work.MaxTodos)] {
			out.Open = append(out.Open, ClipTitle(name))
		}
	case len(c.Problems) > 0:
		out.Open = p.Staged // nobody knows yet
	default:
		listed, open := map[string]int{}, map[string]int{}
		for _, name := range c.Listed {
			listed[ClipTitle(name)]++
		}
		for _, name := range c.Open {
			open[ClipTitle(name)]++
		}
		// By their number, so that of two that begin alike none goes unnoticed.
		for _, name := range p.Staged {
			switch {
			case listed[name] == 0:
				out.Lost = append(out.Lost, name)
			case open[name] > 0:
				open[name]--
				out.Open = append(out.Open, name)
			}
			listed[name]--
		}
	}
	for _, title := range c.Done[:min(len(c.Done), 2*work.MaxTodos)] {
		out.Done = append(out.Done, ClipTitle(title))
	}
	return &out
}

// ClipTitle is how an event names a todo.
func ClipTitle(title string) string { return text.ClipJSON(title, 40) }

// maxStops is how many checkpoints an agent may ask for in one iteration.
const maxStops = 3

// maxRequests is how many bytes the sub-phases of one iteration may take up in
// its event.
const maxRequests = 3 << 10

// maxHistory is how many lines of what happened a phase keeps.
const maxHistory = 20

// happened adds a line to what the agent and people read of the phase so far.
func (p *Phase) happened(format string, args ...any) {
	p.History = append(p.History, fmt.Sprintf(format, args...))
	if over := len(p.History) - maxHistory; over > 0 {
		p.History = p.History[over:]
		p.Past.Left += over
	}
}
