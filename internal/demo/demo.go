package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"time"

	"forge/internal/project"
	"forge/internal/work"
)

// files are the demo's repository and, under forge, what becomes its .forge
// folder.
//
//go:embed project forge
var files embed.FS

// patience bounds the whole demo, which takes some seconds.
const patience = 3 * time.Minute

// Options are what a play is given.
type Options struct {
	Program string // forge, by its path
	Keep    string // the folder in which it is made and kept; "" = a temporary one that is removed
	Out     io.Writer
	Colour  bool
	Quiet   bool // only what is not as it must be, and the count at the end
}

// Outcome is how a play ended.
type Outcome int

// The outcomes of a play.
const (
	None    Outcome = iota // it did not begin, or its folder could not be removed: the error says why
	Held                   // everything was as it must be
	Broken                 // something was not, and was said; everything is kept
	Stopped                // the context was cancelled
)

// Play plays the whole story and judges it: forge works on a small repository
// that is made for it, is killed, and is resumed.
func Play(ctx context.Context, env project.Env, o Options) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, err := newWorld(ctx, env, o.Program, o.Keep)
	if err != nil {
		return None, err
	}
	d := &story{world: w, say: &voice{out: o.Out, colour: o.Colour, quiet: o.Quiet, began: env.Now(), now: env.Now}, checks: expectations(), now: env.Now}
	if !o.Quiet {
		head(o.Out, env.Sandboxes(ctx), w)
	}
	err = d.play(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		env.Log.Warn("the demo was stopped")
		return Stopped, w.drop()
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("the demo was ended after %v", patience)
	}
	if failed := d.verdict(err); failed {
		fmt.Fprintf(o.Out, "\nEverything is kept in %s; what forge said is in %s.\n", w.dir, w.log)
		return Broken, nil
	}
	if !o.Quiet {
		tail(o.Out, env, w, d.record.Run)
	}
	if err := w.drop(); err != nil {
		return None, err
	}
	return Held, nil
}

// story is one play of the story: what happened so far, and what of it was
// expected.
type story struct {
	world  *world
	say    *voice
	record record
	checks []check
	held   map[string]bool // checks that were seen to hold
	now    func() time.Time
}

// play runs forge, kills it, resumes it, and gathers the facts.
func (d *story) play(ctx context.Context) error {
	d.held = map[string]bool{}
	w := d.world
	d.say.command("forge run --autonomous")
	first, err := w.stream(ctx, d.see, atKill, "run", "--autonomous")
	if err != nil {
		return err
	}
	d.record.Killed = first.killed
	if !first.killed {
		return fmt.Errorf("forge run ended by itself with exit code %d before it could be killed", first.code)
	}
	d.say.line("", "", fmt.Sprintf("kill -9 %d: forge dies while the agent of %s works", first.pid, killedPhase))
	d.mark(true)
	d.say.command("forge resume")
	second, err := w.stream(ctx, d.see, nil, "resume")
	if err != nil {
		return err
	}
	d.record.Code = second.code
	d.say.line("", "", fmt.Sprintf("forge resume ends with exit code %d", second.code))
	if err := w.gather(ctx, &d.record); err != nil {
		return err
	}
	d.mark(false)
	return nil
}

// see takes one event as forge prints it.
func (d *story) see(e work.Event) {
	d.record.Events = append(d.record.Events, e)
	d.record.Printed = append(d.record.Printed, e)
	if d.mark(true) {
		return
	}
	if text := lineOf(e); text != "" {
		d.say.line("·", phaseName(e.Phase), text)
	}
}

// mark says which checks hold now that did not before. While forge runs only
// those are asked that the events alone decide.
func (d *story) mark(live bool) (said bool) {
	for _, c := range d.checks {
		if d.held[c.name] || live != c.live || c.judge(&d.record) != "" {
			continue
		}
		d.held[c.name], said = true, true
		d.say.line(markYes, c.where, c.says)
	}
	return said
}

// verdict judges everything once more, with all facts on the table, and says
// what is not as it must be.
func (d *story) verdict(trouble error) (failed bool) {
	good := 0
	for _, c := range d.checks {
		why := c.judge(&d.record)
		if why == "" {
			good++
			continue
		}
		d.say.always(markNo, c.where, c.says)
		d.say.always("", "", "NO: "+why)
	}
	if trouble != nil {
		d.say.always(markNo, "demo", trouble.Error())
	}
	fmt.Fprintf(d.say.out, "\n%d of %d expectations hold, after %.1f s.\n", good, len(d.checks), d.now().Sub(d.say.began).Seconds())
	return trouble != nil || good < len(d.checks)
}
