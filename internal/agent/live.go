package agent

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

// live is the running iteration as the reader of the agent's output sees it:
// signs of life go to the process's limits and to whoever watches, and
// spending goes against the caps. Its methods may be called from several
// goroutines.
type live struct {
	req   work.IterationRequest
	red   *redact.Redactor
	ready chan struct{}
	p     *proc.Process // nil when it could not be started; set once ready is closed

	mu      sync.Mutex // also makes calls of watch one at a time
	watch   func(work.Activity)
	stopped *stop
}

// stop is why the reader ended the agent.
type stop struct {
	outcome work.Outcome
	detail  string
	resetAt *time.Time
}

func newLive(req work.IterationRequest, red *redact.Redactor, watch func(work.Activity)) *live {
	return &live{req: req, red: red, watch: watch, ready: make(chan struct{})}
}

// started tells the waiting readers which process is theirs.
func (l *live) started(p *proc.Process, atOnce bool) {
	l.p = p
	if p != nil && atOnce {
		p.Started()
	}
	close(l.ready)
}

func (l *live) process(do func(*proc.Process)) {
	<-l.ready
	if l.p != nil {
		do(l.p)
	}
}

func (l *live) touch()     { l.process((*proc.Process).Touch) }
func (l *live) firstSign() { l.process((*proc.Process).Started) }
func (l *live) gotResult() { l.process((*proc.Process).GotResult) }
func (l *live) busy(delta int) {
	l.process(func(p *proc.Process) { p.Busy(delta) })
}

// stop ends the agent. The first reason counts.
func (l *live) stop(s stop) {
	l.mu.Lock()
	first := l.stopped == nil
	if first {
		l.stopped = &s
	}
	l.mu.Unlock()
	if first {
		l.process((*proc.Process).Stop)
	}
}

// show tells whoever watches what the agent is doing.
func (l *live) show(kind, text string) {
	if l.watch == nil {
		return
	}
	// A message that says something to Forge alone is a sign of life all the same;
	// what a tool is called with is shown to the letter.
	if kind == "text" {
		text = cmp.Or(work.WithoutSignals(text), text)
	}
	if text = oneLine(text, l.red); text != "" {
		l.tell(work.Activity{Kind: kind, Text: text})
	}
}

func (l *live) tell(a work.Activity) {
	if l.watch == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.Phase, a.Iteration = l.req.Phase, l.req.Iteration
	l.watch(a)
}

// spent shows what the iteration has used so far and ends it beyond a cap.
func (l *live) spent(u work.Usage) {
	u = l.priced(u.Clean())
	l.tell(work.Activity{Kind: "usage", Usage: u})
	if limit := l.req.CostUSD; limit != nil && u.CostUSD != nil && *u.CostUSD > *limit {
		l.stop(stop{outcome: work.OutcomeCostLimit, detail: fmt.Sprintf("the iteration has used %s of %s", text.USD(*u.CostUSD), text.USD(*limit))})
	}
	if limit := l.req.Tokens; limit != nil {
		if n, ok := u.Tokens(); ok && n > *limit {
			l.stop(stop{outcome: work.OutcomeCostLimit, detail: fmt.Sprintf("the iteration has used %d of %d tokens", n, *limit)})
		}
	}
}

// priced computes money from tokens when the agent names none and the
// settings have both prices.
func (l *live) priced(u work.Usage) work.Usage {
	a := l.req.Agent
	if u.CostUSD == nil && u.InputTokens != nil && u.OutputTokens != nil && a.USDPerMTokIn != nil && a.USDPerMTokOut != nil {
		usd := (float64(*u.InputTokens)**a.USDPerMTokIn + float64(*u.OutputTokens)**a.USDPerMTokOut) / 1e6
		u.CostUSD = &usd
	}
	return u.Clean()
}

// judge overrules the kind's word where Forge ended the process.
func (l *live) judge(end proc.End, r *work.IterationReport) {
	set := func(o work.Outcome, detail string) { r.Outcome, r.Detail = o, detail }
	limits := l.req.Limits
	l.mu.Lock()
	stopped := l.stopped
	l.mu.Unlock()
	if end == proc.EndExited && stopped != nil {
		end = proc.EndStopped // the agent was faster, which changes nothing
	}
	switch end {
	case proc.EndExited:
	case proc.EndPostResult:
		if r.Outcome == work.OutcomeOK {
			set(work.OutcomePostResult, "the agent gave its result but did not exit")
		}
	case proc.EndStart:
		set(work.OutcomeStartTimeout, fmt.Sprintf("no sign of life in %d s", limits.StartSecs))
	case proc.EndIdle:
		set(work.OutcomeIdleTimeout, fmt.Sprintf("no sign of life for %d s", limits.IdleSecs))
	case proc.EndTotal:
		set(work.OutcomeIterationTimeout, fmt.Sprintf("not done in %d s", limits.IterationSecs))
	case proc.EndCancelled:
		set(work.OutcomeInterrupted, "ended by Forge before it was done")
	case proc.EndStopped:
		if stopped == nil {
			set(work.OutcomeAgentFailed, "stopped for no known reason")
			return
		}
		set(stopped.outcome, stopped.detail)
		if stopped.resetAt != nil {
			r.ResetAt = stopped.resetAt
		}
	default:
		set(work.OutcomeAgentFailed, fmt.Sprintf("the process ended in an unknown way: %q", end))
	}
}

// lineBytes bounds a line for the live view.
const lineBytes = 200

// oneLine is the first line of s that holds anything, fit to be shown: without
// secrets, escape sequences and other characters that do not print, at most
// lineBytes long.
func oneLine(s string, red *redact.Redactor) string {
	const enough = 4 << 10 // to find a secret as a whole before the cut
	s = red.String(text.Cut(s[:min(len(s), enough)], enough))
	for line := range strings.SplitSeq(s, "\n") {
		if line = text.ClipLine(line, lineBytes); line != "" {
			return line
		}
	}
	return ""
}

func exitText(code int) string { return fmt.Sprintf("the agent exited with code %d", code) }

// withLastLine adds the last line of an output to what is said.
func withLastLine(said, output string) string {
	output = strings.TrimSpace(output)
	if i := strings.LastIndexByte(output, '\n'); i >= 0 {
		output = output[i+1:]
	}
	if output == "" {
		return said
	}
	return said + ": " + output
}
