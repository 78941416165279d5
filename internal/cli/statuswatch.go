package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"forge/internal/project"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/tui"
	"forge/orchestrator"
)

const (
	lookEvery  = 200 * time.Millisecond // for what was written to the journal
	aliveEvery = time.Second            // for a driver that died, and for the clocks
)

// watchStatus shows where a run stands until no process drives it any more:
// on a terminal the same lines drawn anew, elsewhere what has changed.
func (p *checkout) watchStatus(ctx context.Context, run, output string) error {
	show := p.printChanges()
	switch {
	case output == "json":
		show = p.printDocuments()
	case p.app.redraws():
		show = p.redraw()
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var v report.Sight
	var looked time.Time
	for {
		changed, err := p.Journal.Changed(ctx)
		if err == nil && (changed || time.Since(looked) >= aliveEvery) {
			looked = time.Now()
			if v, err = report.Look(ctx, p.Checkout, run, v.State); err == nil && v.State != nil {
				run, err = v.Row.ID, show(v)
			}
		}
		switch {
		case ctx.Err() != nil:
			return codeError(exitInterrupted)
		case err != nil:
			return err
		case v.State != nil && v.Over():
			return nil
		}
		select {
		case <-ctx.Done():
			return codeError(exitInterrupted)
		case <-tick.C:
		}
	}
}

// redraws says that stdout is a terminal on which lines can be drawn anew.
func (a *App) redraws() bool {
	return isTerminal(a.Stdout) && a.getenv("CI") == "" && a.getenv("TERM") != "" && a.getenv("TERM") != "dumb"
}

// redraw draws the status over the one before.
func (p *checkout) redraw() func(report.Sight) error {
	file, _ := p.app.Stdout.(*os.File)
	at := &tui.Redraw{Out: file}
	return func(v report.Sight) error {
		status := func(table func(*orchestrator.State, bool) string) string {
			return text.Harmless(report.Status(p.Checkout, v.Row, v.State, v.Asked, table(v.State, project.Driven(v.Row)), ""))
		}
		return at.Draw(status(report.PhaseTable), func() string { return status(report.BusyTable) }, v.Over())
	}
}

// printChanges prints what is new.
func (p *checkout) printChanges() func(report.Sight) error {
	var changes report.Changes
	return func(v report.Sight) error {
		_, err := fmt.Fprint(p.app.Stdout, changes.Of(v, p.Now()))
		return err
	}
}

// printDocuments prints what forge status --output json does, on one line,
// whenever it is another than before.
func (p *checkout) printDocuments() func(report.Sight) error {
	last := ""
	return func(v report.Sight) error {
		text, err := json.Marshal(report.StatusOf(v.Row, v.State, v.Asked))
		if err != nil || string(text) == last {
			return err
		}
		last = string(text)
		_, err = fmt.Fprintln(p.app.Stdout, last)
		return err
	}
}
