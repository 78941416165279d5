package agent

import (
	"time"

	"forge/internal/redact"
	"forge/internal/stuck"
	"forge/internal/work"
)

// tracer keeps what an agent did, from the same events that its conversation is
// read from: each call of a tool with what came back, by digests; which tests
// failed when they last ran; the longest silence.
type tracer struct {
	Steps
	red  *redact.Redactor
	open []work.Step // calls without a result so far
	seen map[stuck.Call]bool
	kept stuck.Trace

	now     func() time.Time
	last    time.Time
	silence time.Duration
}

// maxOpen bounds the calls that wait for their result.
const maxOpen = 100

// newTracer traces a kind of agent; nil for one that does not tell what it does.
func newTracer(kindName string, red *redact.Redactor, now func() time.Time) *tracer {
	k := kinds()[kindName]
	if k.fields == nil {
		return nil
	}
	t := &tracer{Steps: Steps{of: k.steps}, red: red, seen: map[stuck.Call]bool{}, now: now, last: now()}
	t.lines = newJSONLines(k.fields(), t)
	return t
}

// Write reads on; nil reads nothing. It never fails.
func (t *tracer) Write(p []byte) (int, error) {
	if t == nil {
		return len(p), nil
	}
	t.heardNow()
	return t.lines.Write(p)
}

func (t *tracer) heardNow() {
	now := t.now()
	t.silence = max(t.silence, now.Sub(t.last))
	t.last = now
}

// line takes the event of a line in.
func (t *tracer) line(ok bool) {
	if ok {
		for _, s := range t.of(t.heard) {
			t.step(s)
		}
	}
	t.heard = nil
}

func (t *tracer) step(s work.Step) {
	switch s.Kind {
	case work.StepCall:
		if len(t.open) < maxOpen {
			t.open = append(t.open, s)
		}
	case work.StepResult:
		call := t.callOf(s)
		said := t.red.String(s.Text)
		c := stuck.Called(call.Tool, t.red.String(call.About), said, s.Failed)
		if !c.Edit {
			if names, ran := stuck.Failing(said, s.Failed); ran {
				t.kept.Tested, t.kept.Failing = true, names
			}
		}
		if !t.seen[c] {
			t.seen[c] = true
			t.kept.Calls = append(t.kept.Calls, c)
		}
	}
}

// callOf is the call that a result belongs to, which is open no more: the one
// with its ID, else the last. What the result says itself counts as well.
func (t *tracer) callOf(result work.Step) work.Step {
	call := work.Step{Tool: result.Tool, About: result.About}
	for i := len(t.open) - 1; i >= 0; i-- {
		if o := t.open[i]; result.ID == "" || o.ID == result.ID {
			t.open = append(t.open[:i], t.open[i+1:]...)
			if call.Tool == "" {
				call.Tool = o.Tool
			}
			if call.About == "" {
				call.About = o.About
			}
			break
		}
	}
	return call
}

// trace is what was seen; nil where the kind does not tell.
func (t *tracer) trace() *stuck.Trace {
	if t == nil {
		return nil
	}
	t.lines.close()
	t.heardNow()
	t.kept.SilenceSecs = int(t.silence / time.Second)
	return t.kept.Clipped()
}
