package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"forge/internal/engine"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/tui"
	"forge/internal/work"
	"forge/orchestrator"
)

// watcher is how this call shows the run: a live view on a terminal, JSON lines
// on request, else plain log lines. asks says that a person is asked in it, so
// that the run waits for answers. done is called when the run has ended, and
// may be called again.
func (p *checkout) watcher(ctx context.Context, e *project.Machine, s *orchestrator.State, o runOptions) (w engine.Watcher, asks bool, done func()) {
	plain := &narrate.LogWatcher{Log: p.Log}
	if o.output == "json" {
		return &jsonStream{out: p.app.Stdout, plain: plain}, false, func() {}
	}
	if p.app.terminal() && !p.app.logJSON {
		on := tui.Terminal{In: p.app.Stdin, Out: p.app.Stderr, Quiet: p.app.quiet, LogInto: func(w io.Writer) { p.app.logInto(plain.Log, w) }}
		if v := tui.Open(ctx, p.Checkout, e, s, plain, on); v != nil {
			return v, true, v.End
		}
	}
	return plain, false, func() {}
}

// jsonStream prints the journal, one event per line.
type jsonStream struct {
	out   io.Writer
	plain *narrate.LogWatcher
}

func (j *jsonStream) Events(evs []work.Event, s *orchestrator.State) {
	for _, e := range evs {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = fmt.Fprintf(j.out, "%s\n", line)
		}
		if err != nil {
			j.plain.Log.Error("print an event; the journal has it", "seq", e.Seq, "err", err)
		}
	}
	j.plain.Events(evs, s)
}

// Activity is for the log: the stream is the journal alone.
func (j *jsonStream) Activity(a work.Activity) { j.plain.Activity(a) }
