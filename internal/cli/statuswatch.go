package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/tui"
	"forge/internal/work"
	"forge/orchestrator"
)

const (
	lookEvery  = 200 * time.Millisecond // for what was written to the journal
	aliveEvery = time.Second            // for a driver that died, and for the clocks
)

// sight is a run as one look at it showed it.
type sight struct {
	row   journal.RunRow
	s     *orchestrator.State
	asked []work.Checkpoint
}

// over says that no process goes on with the run.
func (v sight) over() bool { return !project.Driven(v.row) && v.s.Seq >= v.row.Events }

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
	var v sight
	var looked time.Time
	for {
		changed, err := p.Journal.Changed(ctx)
		if err == nil && (changed || time.Since(looked) >= aliveEvery) {
			looked = time.Now()
			if v, err = p.sight(ctx, run, v.s); err == nil && v.s != nil {
				run, err = v.row.ID, show(v)
			}
		}
		switch {
		case ctx.Err() != nil:
			return codeError(exitInterrupted)
		case err != nil:
			return err
		case v.s != nil && v.over():
			return nil
		}
		select {
		case <-ctx.Done():
			return codeError(exitInterrupted)
		case <-tick.C:
		}
	}
}

// sight looks at a run again, going on from the state seen last. A run that is
// just being opened has none yet.
func (p *checkout) sight(ctx context.Context, run string, s *orchestrator.State) (v sight, err error) {
	if v.row, err = p.PickRun(ctx, run); err != nil || v.row.Events == 0 && v.row.Alive {
		return v, err
	}
	if s == nil {
		v.row, v.s, err = p.StandOf(ctx, v.row.ID)
	} else if v.s, err = p.Fold(ctx, v.row.ID, s); err == nil {
		v.row, err = p.PickRun(ctx, v.row.ID)
	}
	if err == nil {
		v.asked, err = approval.Checkpoints(ctx, p.Checkout, journal.CheckpointFilter{Run: v.row.ID})
	}
	return v, err
}

// redraws says that stdout is a terminal on which lines can be drawn anew.
func (a *App) redraws() bool {
	return isTerminal(a.Stdout) && a.getenv("CI") == "" && a.getenv("TERM") != "" && a.getenv("TERM") != "dumb"
}

// redraw draws the status over the one before. The terminal keeps its settings,
// so that whatever ends or stops this process leaves it as it was.
func (p *checkout) redraw() func(sight) error {
	file, _ := p.app.Stdout.(*os.File)
	at, drawn := &tui.TTY{Out: file}, 0
	return func(v sight) error {
		width, height := at.Size()
		body := report.Status(p.Checkout, v.row, v.s, v.asked, report.PhaseTable(v.s, project.Driven(v.row)), "")
		lines := strings.Split(strings.TrimSuffix(text.Harmless(body), "\n"), "\n")
		if len(lines) >= height && !v.over() {
			lines = strings.Split(strings.TrimSuffix(text.Harmless(report.Status(p.Checkout, v.row, v.s, v.asked, report.BusyTable(v.s, project.Driven(v.row)), "")), "\n"), "\n")
		}
		if most := height - 1; len(lines) > most && !v.over() {
			lines = append(lines[:max(most-1, 0)], fmt.Sprintf("… %d more lines: this window is too low for them", len(lines)-most+1))
		}
		var b strings.Builder
		b.WriteString(tui.SyncBegin)
		if drawn > 0 {
			// Of a window that was made lower the top is out of reach.
			fmt.Fprintf(&b, "\r\x1b[%dA", min(drawn, max(height-1, 1)))
		}
		for _, line := range lines {
			if !v.over() {
				line = tui.Fit(line, width-1) // a wrapped line would be two
			}
			b.WriteString(line + tui.EraseRight + "\r\n")
		}
		b.WriteString(tui.EraseBelow + tui.SyncEnd)
		drawn = len(lines)
		_, err := fmt.Fprint(file, b.String())
		return err
	}
}

// printChanges prints a line for the run, each phase and each question whose
// standing is another than before, with the time. Phases that wait for others
// say nothing.
func (p *checkout) printChanges() func(sight) error {
	shown := map[string]string{}
	return func(v sight) error {
		var b strings.Builder
		say := func(of, standing string) {
			if shown[of] != standing {
				shown[of] = standing
				fmt.Fprintf(&b, "%s  %s: %s\n", p.Now().Format(time.TimeOnly), of, text.OneLine(standing, 300))
			}
		}
		run := func() { say("run "+v.row.ID, report.Standing(v.row, v.s)) }
		if !v.over() {
			run()
		}
		for _, n := range v.s.Order {
			ph := v.s.Phases[n]
			if ph.Outcome == "" && ph.Stage == orchestrator.StageWaiting {
				continue
			}
			body := fmt.Sprintf("%s, %d/%d iterations", ph.Word(project.Driven(v.row)), ph.Spent, ph.Budget)
			if why := report.Reason(ph); why != "" {
				body += ", " + why
			}
			say("phase "+n+" "+text.OneLine(ph.Plan.Name, 60), body)
		}
		for _, cp := range v.asked {
			switch {
			case cp.Status == work.CheckpointPending:
				say("question "+cp.ID, cp.Question)
			case cp.AnsweredBy != "":
				say("question "+cp.ID, fmt.Sprintf("%s by %s", cp.Status, cp.AnsweredBy))
			}
		}
		if v.over() {
			run()
		}
		_, err := fmt.Fprint(p.app.Stdout, b.String())
		return err
	}
}

// printDocuments prints what forge status --output json does, on one line,
// whenever it is another than before.
func (p *checkout) printDocuments() func(sight) error {
	last := ""
	return func(v sight) error {
		text, err := json.Marshal(report.StatusOf(v.row, v.s, v.asked))
		if err != nil || string(text) == last {
			return err
		}
		last = string(text)
		_, err = fmt.Fprintln(p.app.Stdout, last)
		return err
	}
}
