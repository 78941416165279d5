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
func clipSignals(sig work.Signals) work.Signals {
	sig.Promises = clipList(sig.Promises, 3, 300)
	sig.Blockers = clipList(sig.Blockers, 5, 300)
	sig.Pivots = clipList(sig.Pivots, 3, 300)
	sig.Problems = clipList(sig.Problems, 5, 200)
	sig.Checkpoints = clipStops(&sig)
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
		sig.Problems = append(sig.Problems, fmt.Sprintf("%d sub-phase(s) left out: at most %d at once, with texts of %d bytes together", left, maxSubPhases, maxRequests))
	}
	sig.SubPhases = kept
	return sig
}

// clipStops keeps the first checkpoints that an agent asks for, each small
// enough for an event; what cannot be used becomes a problem.
func clipStops(sig *work.Signals) []json.RawMessage {
	stops, problems := parseStops(*sig)
	sig.Problems = append(sig.Problems, clipList(problems, 3, 200)...)
	var out []json.RawMessage
	for i, r := range stops {
		if i == maxStops {
			sig.Problems = append(sig.Problems, fmt.Sprintf("%d checkpoint(s) left out: at most %d at once", len(stops)-i, maxStops))
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
			out.Open = append(out.Open, clipTitle(name))
		}
	case len(c.Problems) > 0:
		out.Open = p.Staged // nobody knows yet
	default:
		listed, open := map[string]int{}, map[string]int{}
		for _, name := range c.Listed {
			listed[clipTitle(name)]++
		}
		for _, name := range c.Open {
			open[clipTitle(name)]++
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
		out.Done = append(out.Done, clipTitle(title))
	}
	return &out
}

// clipTitle is how an event names a todo.
func clipTitle(title string) string { return text.ClipJSON(title, 40) }

// maxStops is how many checkpoints an agent may ask for in one iteration.
const maxStops = 3

// maxRequests is how many bytes the sub-phases of one iteration may take up in
// its event.
const maxRequests = 3 << 10

// happened adds a line to what the agent and people read of the phase so far.
func (p *Phase) happened(format string, args ...any) {
	p.History = append(p.History, fmt.Sprintf(format, args...))
	if most := 20; len(p.History) > most {
		p.History = p.History[len(p.History)-most:]
	}
}
