package cli

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/work"
)

// demoFiles are the demo's repository and, under demo/forge, what becomes its
// .forge folder.
//
//go:embed demo
var demoFiles embed.FS

// demoPatience bounds the whole demo, which takes some seconds.
const demoPatience = 3 * time.Minute

func (a *App) demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "see Forge at work on a small repository made for it; nothing of yours is touched",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "keep", Usage: "make it in `DIR` and keep it, to look around in afterwards"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge demo --keep DIR names a folder", "forge demo takes no arguments, got %q", c.Args().First())
			}
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find forge's own program: %w", err)
			}
			return a.demo(c.Context, program, c.String("keep"))
		},
	}
}

// demo plays the whole story with program, which is forge, and judges it. The
// exit code is 1 when something was not as it must be.
func (a *App) demo(ctx context.Context, program, keep string) error {
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	w, err := a.newDemoWorld(ctx, program, keep)
	if err != nil {
		return err
	}
	d := &demo{world: w, say: &demoVoice{out: a.Stdout, colour: a.colour(), quiet: a.quiet, began: a.Now(), now: a.Now}, checks: demoChecks(), now: a.Now}
	a.demoHead(ctx, w)
	err = d.play(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		a.log.Warn("the demo was stopped")
		return errors.Join(codeError(exitInterrupted), w.drop())
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("the demo was ended after %v", demoPatience)
	}
	failed := d.verdict(err)
	if failed {
		fmt.Fprintf(a.Stdout, "\nEverything is kept in %s; what forge said is in %s.\n", w.dir, w.log)
		return codeError(exitFailed)
	}
	a.demoTail(w, d.record.Run)
	if keep != "" {
		return nil
	}
	return w.drop()
}

// demo is one play of the story: what happened so far, and what of it was
// expected.
type demo struct {
	world  *demoWorld
	say    *demoVoice
	record demoRecord
	checks []demoCheck
	held   map[string]bool // checks that were seen to hold
	now    func() time.Time
}

// play runs forge, kills it, resumes it, and gathers the facts.
func (d *demo) play(ctx context.Context) error {
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
	d.say.line("", "", fmt.Sprintf("kill -9 %d: forge dies while the agent of %s works", first.pid, demoKilled))
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
func (d *demo) see(e work.Event) {
	d.record.Events = append(d.record.Events, e)
	d.record.Printed = append(d.record.Printed, e)
	if d.mark(true) {
		return
	}
	if text := demoLine(e); text != "" {
		d.say.line("·", demoPhase(e.Phase), text)
	}
}

// mark says which checks hold now that did not before. While forge runs only
// those are asked that the events alone decide.
func (d *demo) mark(live bool) (said bool) {
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
func (d *demo) verdict(trouble error) (failed bool) {
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
