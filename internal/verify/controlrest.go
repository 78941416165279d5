package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forge/internal/runner"
	"forge/internal/work"
)

// left is what there was no time for, by name.
type left struct {
	runners, functions, hunks []string
	own, commands, changed    bool
}

// marked is the form of l that an event has room for; nil where nothing is left.
func (l left) marked() *work.ControlLeft {
	out := &work.ControlLeft{
		Runners: work.LeftMarks(l.runners), Functions: work.LeftMarks(l.functions), Hunks: work.LeftMarks(l.hunks),
		Own: l.own, Commands: l.commands, Changed: l.changed,
	}
	if out.Empty() {
		return nil
	}
	return out
}

// placeName is what tells places of a change apart.
func placeName(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// leave says what there is no time for.
func (c *control) leave(what string) { c.rep.Skipped = append(c.rep.Skipped, work.OverBudget(what)) }

// rest goes on with what there was no time for at the claim, in the order in
// which it would have been asked then. What passes by name is accounted for
// already.
func (c *control) rest(ctx context.Context) error {
	before := c.req.Rest
	c.unfound = slices.DeleteFunc(slices.Clone(before.Runners), func(mark string) bool { return mark == work.AllLeft })
	asks, all, err := c.known(ctx)
	if err != nil {
		return err
	}
	c.until = time.Now().Add(c.restBudget())

	c.naming(asks, before)
	if err := c.makeWrong(ctx, asks, all, "", before); err != nil {
		return err
	}
	if before.Commands {
		if err := c.askCommands(ctx, all); err != nil {
			return err
		}
	}
	if before.Own || len(before.Runners) > 0 {
		if err := c.askOwn(ctx); err != nil {
			return err
		}
	}
	if n := len(c.unfound); n > 0 {
		return fmt.Errorf("%d test runners that there was no time for at the claim are not found any more", n)
	}
	if before.Changed {
		if err := c.askChanged(ctx, asks, all); err != nil {
			return err
		}
	}
	if len(before.Functions) > 0 {
		if err := c.takeOut(ctx); err != nil {
			return err
		}
	}
	if len(before.Hunks) == 0 {
		return nil
	}
	return c.ablate(ctx)
}

// goesOn says that a runner, by what it is called, is one of those that there was
// no time for.
func (c *control) goesOn(before *work.ControlLeft, name string) bool {
	c.unfound = slices.DeleteFunc(c.unfound, func(mark string) bool { return mark == work.LeftMark(name) })
	return work.IsLeft(before.Runners, name)
}

// naming lets the report have a line for each runner that is asked again.
func (c *control) naming(asks []runner.Ask, before *work.ControlLeft) {
	for _, ask := range asks {
		if work.IsLeft(before.Runners, ask.Key()) {
			c.rep.Runners = append(c.rep.Runners, work.RunnerReport{Name: ask.Runner, Dir: ask.Dir, Accounted: true})
		}
	}
}

func (c *control) restBudget() time.Duration {
	if c.req.RestSecs > 0 {
		return time.Duration(c.req.RestSecs) * time.Second
	}
	return 4 * c.budget(0)
}
