package doctor

import (
	"context"
	"strings"
	"time"

	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/setup"
	"forge/internal/text"
	"forge/internal/work"
)

// tryLimit is how long each command of a proof that is tried may take.
const tryLimit = 5 * time.Minute

// proof runs the project's commands on the last commit as a run would: with empty
// caches, and once more with what the first time left in them.
func (d *Doctor) proof(ctx context.Context, p *project.Checkout, caps proc.Capabilities) {
	s, err := setup.Look(ctx, d.Env, "")
	if err != nil {
		d.failed("proof", err)
		return
	}
	commands := s.Commands(tryLimit)
	if commands.None() {
		return
	}
	if _, err := project.ChooseSandbox(ctx, s.Settings.Sandbox, caps); err != nil {
		d.note("", "the proof was not tried: %v", err)
		return
	}
	if err := s.Try(ctx, commands, caps, trial{d, p}); err != nil {
		d.failed("proof", err)
	}
}

// trial says what comes of a proof that is tried.
type trial struct {
	d *Doctor
	p *project.Checkout
}

func (t trial) Trying(kind string, commands []string) (over func()) {
	t.p.Log.Info("trying", kind, text.OneLine(strings.Join(commands, "; "), 80))
	return func() {}
}

func (t trial) Tried(kind string, commands []string, rep work.CommandsReport, took time.Duration) {
	if !rep.OK {
		t.d.poor("mend it, or the command: forge run starts from a project that passes", "%s on the last commit: %s", kind, text.OneLine(rep.Problem, 300))
		return
	}
	t.d.good("%s passes on the last commit (%s): %s", kind, text.Took(took), text.OneLine(strings.Join(commands, "; "), 200))
}

func (t trial) Untried(c setup.Commands, why string) {
	t.d.note("", "not tried, since %s: %s", why, text.OneLine(strings.Join(c.Verify, "; "), 200))
}

func (t trial) Proven(cold, warm time.Duration, problem string) {
	switch {
	case warm == 0:
		t.d.note("", "a proof takes %s cold, with empty caches: too long to try it warm as well", text.Took(cold))
	case problem != "":
		t.d.poor("a command that leaves something behind for itself proves nothing", "verify is green at first and red when it is run again: %s", text.OneLine(problem, 200))
	default:
		t.d.good("a proof takes %s cold, with empty caches, and %s warm, as in a run", text.Took(cold), text.Took(warm))
	}
}
