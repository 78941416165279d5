package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Sight is a run as one look at it showed it.
type Sight struct {
	Row   journal.RunRow
	State *orchestrator.State // nil = it is just being opened
	Asked []work.Checkpoint
}

// Over says that no process goes on with the run.
func (v Sight) Over() bool { return !project.Driven(v.Row) && v.State.Seq >= v.Row.Events }

// Look looks at a run, "" = the newest, going on from the state seen last.
func Look(ctx context.Context, p *project.Checkout, run string, last *orchestrator.State) (v Sight, err error) {
	if v.Row, err = p.PickRun(ctx, run); err != nil || v.Row.Events == 0 && v.Row.Alive {
		return v, err
	}
	if last == nil {
		v.Row, v.State, err = p.StandOf(ctx, v.Row.ID)
	} else if v.State, err = p.Fold(ctx, v.Row.ID, last); err == nil {
		v.Row, err = p.PickRun(ctx, v.Row.ID)
	}
	if err == nil {
		p.AskStalled(ctx, &v.Row)
		v.Asked, err = approval.Checkpoints(ctx, p, journal.CheckpointFilter{Run: v.Row.ID})
	}
	return v, err
}

// Changes tells of a run that is looked at again and again what is new.
type Changes struct{ shown map[string]string }

// Of is a line for the run, each phase and each question whose standing is another
// than before, with the time. Phases that wait for others say nothing.
func (c *Changes) Of(v Sight, now time.Time) string {
	if c.shown == nil {
		c.shown = map[string]string{}
	}
	var b strings.Builder
	say := func(of, standing string) {
		if c.shown[of] != standing {
			c.shown[of] = standing
			fmt.Fprintf(&b, "%s  %s: %s\n", now.Format(time.TimeOnly), of, text.OneLine(standing, 300))
		}
	}
	run := func() { say("run "+v.Row.ID, Standing(v.Row, v.State)) }
	if !v.Over() {
		run()
	}
	for _, n := range v.State.Order {
		ph := v.State.View(n)
		if ph.Outcome == "" && ph.Stage == orchestrator.StageWaiting {
			continue
		}
		body := fmt.Sprintf("%s, %d/%d iterations", ph.Word(project.Driven(v.Row)), ph.Spent, ph.Budget)
		if why := Reason(ph); why != "" {
			body += ", " + why
		}
		say("phase "+n+" "+text.OneLine(ph.Plan.Name, 60), body)
	}
	for _, cp := range v.Asked {
		switch {
		case cp.Status == work.CheckpointPending:
			say("question "+cp.ID, cp.Question)
		case cp.AnsweredBy != "":
			say("question "+cp.ID, fmt.Sprintf("%s by %s", cp.Status, cp.AnsweredBy))
		}
	}
	if v.Over() {
		run()
	}
	return b.String()
}
