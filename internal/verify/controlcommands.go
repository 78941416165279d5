package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"forge/internal/runner"
	"forge/internal/work"
)

// mostCommandDraws is how many expectations are made wrong on the trusted state
// until its verify commands notice one.
const mostCommandDraws = 3

// byCommands is what stands for a runner where none can be asked: the verify
// commands themselves, by their exit code.
var byCommands = runner.Ask{Runner: "verify commands"}

// askCommands makes an expectation wrong where no runner says anything by name,
// and looks whether the verify commands are still red with this product in place.
// It says less than a name, and is never left out for the budget: without it,
// nothing would show that those commands can say no at all.
func (c *control) askCommands(ctx context.Context, all []known) error {
	for _, k := range all {
		if len(k.Passed) > 0 {
			return nil
		}
	}
	if len(c.req.Commands) == 0 {
		return nil
	}
	w, ok, err := c.noticed(ctx)
	if err != nil || !ok {
		return err
	}

	c.rep.Red.Of++
	tree, err := c.files(ctx, c.req.Commit)
	if err != nil {
		return err
	}
	sources, err := tree.read([]string{w.Path})
	if err != nil {
		return err
	}
	here := located([]runner.Wrong{w}, sources)
	if len(here) == 0 {
		c.skip("%s: its expectation stands nowhere any more", w.Path)
		return nil
	}
	overlay := overlayWrong(sources, here)
	for range 2 { // what comes and goes is something else
		green, err := c.greenOver(ctx, c.req.Commit, overlay)
		if err != nil {
			return err
		}
		if !green {
			c.rep.Red.Done++
			c.rep.Runners = slices.DeleteFunc(c.rep.Runners, func(r work.RunnerReport) bool { return r.Name == "" })
			c.rep.Runners = append(c.rep.Runners, work.RunnerReport{Name: byCommands.Runner, Wrong: 1, Why: "not accounted: they name no tests"})
			return nil
		}
	}
	// What the trusted state notices by chance alone says nothing of the product.
	if still, err := c.noticedIn(ctx, w); err != nil || !still {
		return err
	}
	c.rep.Deaf = append(c.rep.Deaf, fmt.Sprintf("an expectation of %s was made wrong, and the verify commands are green", w.Path))
	return nil
}

// noticed is an expectation that, made wrong, turns the verify commands of the
// trusted state red; ok is false where none was found.
func (c *control) noticed(ctx context.Context) (w runner.Wrong, ok bool, err error) {
	tree, err := c.files(ctx, c.req.Trusted)
	if err != nil {
		return w, false, err
	}
	key, err := c.knownKey(tree, byCommands)
	if err != nil {
		return w, false, err
	}
	entry := filepath.Join(c.keepDir(), "known", key+".json")
	var k known
	if data, err := os.ReadFile(entry); err == nil && json.Unmarshal(data, &k) == nil && k.Version == knownVersion {
		if len(k.Rounds) == 0 {
			return w, false, nil
		}
		return k.Rounds[0].Wrong[0], true, nil
	}

	sources, err := tree.read(c.req.Tests)
	if err != nil {
		return w, false, err
	}
	var all []runner.Wrong
	for _, f := range c.req.Tests {
		all = append(all, runner.Expectations(f, sources[f])...)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, bySort)
	k = known{Version: knownVersion}
	for n, drawn := range all {
		if n == mostCommandDraws {
			return w, false, nil // the next claim draws others
		}
		if n > 0 && c.over() {
			c.leave("an expectation that the verify commands notice was not looked for to the end")
			c.left.commands = true
			return w, false, nil
		}
		red, err := c.noticedIn(ctx, drawn)
		if err != nil {
			return w, false, err
		}
		if red {
			k.Rounds = []round{{Wrong: []runner.Wrong{drawn}}}
			w, ok = drawn, true
			break
		}
	}
	data, err := json.Marshal(k)
	if err != nil {
		return w, false, err
	}
	return w, ok, writeWhole(entry, data)
}

// noticedIn says whether the verify commands of the trusted state are red with an
// expectation made wrong.
func (c *control) noticedIn(ctx context.Context, w runner.Wrong) (bool, error) {
	tree, err := c.files(ctx, c.req.Trusted)
	if err != nil {
		return false, err
	}
	sources, err := tree.read([]string{w.Path})
	if err != nil {
		return false, err
	}
	green, err := c.greenOver(ctx, c.req.Trusted, overlayWrong(sources, located([]runner.Wrong{w}, sources)))
	return !green, err
}

// greenOver runs the verify commands on a commit with files laid over it.
func (c *control) greenOver(ctx context.Context, commit string, overlay map[string][]byte) (bool, error) {
	sh, err := c.ready(ctx, commit, false)
	if err != nil {
		return false, err
	}
	if err := writeOver(c.req.Dir, overlay); err != nil {
		return false, err
	}
	c.say("verify commands with an expectation made wrong")
	rep, err := sh.run(ctx, c.req.Commands)
	return rep.OK, err
}
