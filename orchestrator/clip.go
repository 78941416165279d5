package orchestrator

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"forge/internal/work"
)

// maxOutput is how much of a failing command's output an event carries; the
// whole is in the log file.
const maxOutput = 6 << 10

// maxWords is how much of a person's comment an event carries: all that doors
// let through (work.MaxFeedback), also where half of it takes two bytes each.
const maxWords = 12 << 10

// encodedLen is how many bytes r takes up in an event: a control character is
// written as six.
func encodedLen(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == 0x7f, r == '\u2028', r == '\u2029':
		return 6
	}
	return utf8.RuneLen(r)
}

// fitting is how much of the beginning of valid text takes up at most n bytes
// in an event.
func fitting(text string, n int) int {
	for i, r := range text {
		if n -= encodedLen(r); n < 0 {
			return i
		}
	}
	return len(text)
}

// clipText keeps what of the beginning of text takes up n bytes in an event.
func clipText(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if cut := fitting(text, n); cut < len(text) {
		return text[:cut] + "…"
	}
	return text
}

// clipMiddle keeps the beginning and the end: the cause of a failure stands
// in one of them.
func clipMiddle(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if fitting(text, n) == len(text) {
		return text
	}
	head, tail := fitting(text, n/3), len(text)
	for left := n - n/3; tail > head; {
		r, size := utf8.DecodeLastRuneInString(text[:tail])
		if left -= encodedLen(r); left < 0 {
			break
		}
		tail -= size
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:head], tail-head, text[tail:])
}

// clipList is for people: what it leaves out, it says.
func clipList(list []string, most, each int) []string {
	var out []string
	for i, text := range list {
		if i == most {
			return append(out, fmt.Sprintf("… and %d more", len(list)-most))
		}
		out = append(out, clipText(text, each))
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
		size := encodedSize(r.Name) + encodedSize(r.Promise) + encodedSize(r.Reasoning)
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
		raw, err := encode(work.StopRequest{Type: clipText(r.Type, 60), Summary: clipText(r.Summary, 300), Paths: clipList(r.Paths, 5, 100)})
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
			sig.Problems = append(sig.Problems, clipText("job-complete: "+err.Error(), 200))
			return nil
		}
		c.Summary, c.Notes, c.Deliverables = clipText(c.Summary, 1000), clipText(c.Notes, 500), clipList(c.Deliverables, 10, 100)
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
func clipTitle(title string) string { return clipText(title, 40) }

// maxStops is how many checkpoints an agent may ask for in one iteration.
const maxStops = 3

// maxRequests is how many bytes the sub-phases of one iteration may take up in
// its event.
const maxRequests = 3 << 10

func encodedSize(text string) int {
	n := 0
	for _, r := range text {
		n += encodedLen(r)
	}
	return n
}

// happened adds a line to what the agent and people read of the phase so far.
func (p *Phase) happened(format string, args ...any) {
	p.History = append(p.History, fmt.Sprintf(format, args...))
	if most := 20; len(p.History) > most {
		p.History = p.History[len(p.History)-most:]
	}
}
