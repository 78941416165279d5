package verify

import (
	"context"
	"maps"
	"slices"

	"forge/internal/runner"
)

// askAsChanged asks the runners with the settings of the snapshot, where those are
// others, about the tests of the trusted state: what passes by name still has
// to, and what is made wrong or planted has to be red. Settings can take tests
// away or count a failure as a success without a line of a test changing.
func (c *control) askAsChanged(ctx context.Context, asks []runner.Ask, all []known) error {
	if len(c.req.Settings) == 0 {
		return nil
	}
	tree, err := c.files(ctx, c.req.Snapshot)
	if err != nil {
		return err
	}
	own := runner.Find(tree, c.req.Commands)
	for i, ask := range asks {
		k := all[i]
		if len(k.Passed) == 0 {
			continue
		}
		at := slices.IndexFunc(own, func(a runner.Ask) bool { return a.Key() == ask.Key() })
		if at < 0 {
			c.rep.Loosened = append(c.rep.Loosened, ask.Key()+" is not started by the verify commands any more")
			continue
		}
		if err := c.askOneAsChanged(ctx, ask, own[at], k); err != nil {
			return err
		}
	}
	return nil
}

func (c *control) askOneAsChanged(ctx context.Context, ask, own runner.Ask, k known) error {
	// Files that hold product and tests have the product of the snapshot there.
	tree, err := c.files(ctx, c.req.Commit)
	if err != nil {
		return err
	}
	sources, err := tree.read(ask.Tests)
	if err != nil {
		return err
	}
	base := map[string][]byte{}
	for f, text := range sources {
		if text != nil {
			base[f] = text
		}
	}
	// A round makes about half of the tests wrong, and a setting may be about one
	// test alone: all of them are asked.
	rounds := k.Rounds
	if len(rounds) == 0 {
		rounds = []round{{}} // what is planted has to be red all the same
	}
	for _, r := range rounds {
		found, err := c.roundAsChanged(ctx, ask, own, k, r, maps.Clone(base), sources)
		if err != nil {
			return err
		}
		c.rep.Loosened = append(c.rep.Loosened, found...)
	}
	return nil
}

// roundAsChanged asks with the changed settings about one round of wrong
// expectations, and returns what is not red with them.
func (c *control) roundAsChanged(ctx context.Context, ask, own runner.Ask, k known, r round, overlay, sources map[string][]byte) (found []string, err error) {
	maps.Copy(overlay, overlayWrong(sources, located(r.Wrong, sources)))
	kind, _ := runner.Lookup(ask.Runner)
	planted, extra := plant(kind, k.Planted, overlay)
	maps.Copy(overlay, extra)
	if loose, err := c.staysGreen(ctx, overlay); err != nil {
		return nil, err
	} else if loose {
		c.rep.Loosened = append(c.rep.Loosened, ask.Key()+": the verify commands stay green though tests were made wrong, and were red before")
	}
	t := trial{commit: c.req.Snapshot, ask: own, what: "which tests pass with the settings as they are changed", overlay: overlay, prepare: k.Prepare}
	for range 2 { // what comes and goes is something else
		rep, err := c.run(ctx, t)
		if err != nil {
			return nil, err
		}
		now := c.deafPlants(planted, rep)
		if len(r.Wrong) > 0 {
			deaf, shaken := compare(r, rep)
			now = append(append(now, deaf...), shaken...)
		} else {
			now = append(now, missing(k, rep)...)
		}
		if found == nil {
			found = now
		}
		if found = both(found, now); len(found) == 0 {
			return nil, nil
		}
	}
	return found, nil
}

// staysGreen says that the verify commands of the snapshot pass over wrong
// tests, and with the trusted settings do not.
func (c *control) staysGreen(ctx context.Context, overlay map[string][]byte) (bool, error) {
	for _, commit := range []string{c.req.Snapshot, c.req.Commit} {
		sh, err := c.ready(ctx, commit, false)
		if err != nil {
			return false, err
		}
		if err := writeOver(c.req.Dir, overlay); err != nil {
			return false, err
		}
		c.say("verify commands with wrong tests")
		rep, err := sh.run(ctx, c.req.Commands)
		if err != nil {
			return false, err
		}
		if rep.OK != (commit == c.req.Snapshot) {
			return false, nil
		}
	}
	return true, nil
}
