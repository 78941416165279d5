package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"forge/internal/runner"
)

// askChanged asks the tests as the snapshot has them: those that noticed a wrong
// expectation on the trusted state, and those that missed the product's functions
// there, still have to. What a test says can stay word for word while nobody runs
// it any more, it asks about something else, or its failure goes nowhere.
//
// Where the change only added evidence, this ends with the budget; where it changed
// some, only what asks file by file does. What is left is asked at the end of the run.
func (c *control) askChanged(ctx context.Context, asks []runner.Ask, all []known) error {
	if len(c.req.Changed)+len(c.req.Added)+len(c.req.Settings) == 0 {
		return nil
	}
	if len(c.req.Changed) == 0 && c.req.Rest == nil && c.over() {
		c.leave("the tests were not asked what they notice beside the new ones")
		c.left.changed = true
		return nil
	}
	tree, err := c.files(ctx, c.req.Snapshot)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(k known) bool { return len(k.Passed) > 0 }) {
		return c.changedByCommands(ctx)
	}
	own := runner.Find(tree, c.req.Commands)
	if err := c.askAllChanged(ctx, asks, own, all); err != nil {
		return err
	}
	return c.askOwnChanged(ctx, own)
}

func (c *control) askAllChanged(ctx context.Context, asks, own []runner.Ask, all []known) error {
	for i, ask := range asks {
		at := slices.IndexFunc(own, func(a runner.Ask) bool { return a.Key() == ask.Key() })
		if len(all[i].Passed) == 0 || at < 0 {
			continue // changed settings are asked about by themselves
		}
		now, prepare, err := c.baseline(ctx, own[at])
		if err != nil {
			return err
		}
		ch := &changed{control: c, ask: ask, own: own[at], known: all[i], now: now, prepare: prepare, unloaded: map[string]bool{}}
		if err := ch.wrong(ctx); err != nil {
			return err
		}
		if err := ch.emptied(ctx); err != nil {
			return err
		}
	}
	return nil
}

// askOwnChanged asks the same about changed tests that earlier work of the run, or
// earlier issues, brought.
func (c *control) askOwnChanged(ctx context.Context, own []runner.Ask) error {
	if c.req.Base == "" || c.req.Base == c.req.Trusted || len(c.req.Changed) == 0 {
		return nil
	}
	at, err := c.readAt(ctx, c.req.Base, c.req.Changed)
	if err != nil {
		return err
	}
	trusted, err := c.readAt(ctx, c.req.Trusted, c.req.Changed)
	if err != nil {
		return err
	}
	base, err := c.files(ctx, c.req.Base)
	if err != nil {
		return err
	}
	asks := runner.Find(base, c.req.Commands)
	for i := range asks {
		asks[i].Tests = slices.DeleteFunc(slices.Clone(asks[i].Tests), func(p string) bool {
			return at[p] == nil || trusted[p] != nil && bytes.Equal(at[p], trusted[p])
		})
	}
	asks = slices.DeleteFunc(asks, func(a runner.Ask) bool { return len(a.Tests) == 0 })

	asked := c.req
	defer func() { c.req = asked }()
	c.req.Trusted, c.req.Accepted = asked.Base, false
	all := make([]known, len(asks))
	for i, a := range asks {
		if all[i], err = c.calibrate(ctx, a); err != nil {
			return err
		}
	}
	return c.askAllChanged(ctx, asks, own, all)
}

// changedByCommands asks where no runner says anything by name: with all the
// expectations of a changed test file made wrong the verify commands were red, and
// have to be.
func (c *control) changedByCommands(ctx context.Context) error {
	for _, f := range c.req.Changed {
		trusted, err := c.readAt(ctx, c.req.Trusted, []string{f})
		if err != nil {
			return err
		}
		now, err := c.readAt(ctx, c.req.Snapshot, []string{f})
		if err != nil {
			return err
		}
		// Another number, such as the program's exit code, turns the commands red
		// whatever the assertions do.
		var wrong []runner.Wrong
		for _, test := range byTest(runner.Expectations(f, trusted[f])) {
			wrong = append(wrong, mostSaying(test)...)
		}
		here := located(wrong, now)
		if len(here) == 0 {
			continue
		}
		green, err := c.greenOver(ctx, c.req.Snapshot, overlayWrong(now, here))
		if err != nil {
			return err
		}
		if !green {
			continue
		}
		if green, err = c.greenOver(ctx, c.req.Trusted, overlayWrong(trusted, wrong)); err != nil {
			return err
		}
		if !green {
			c.rep.Softened = append(c.rep.Softened, f+": its expectations were made wrong, and the verify commands are green")
		}
	}
	return nil
}

// changed is one runner that is asked about the tests as they are changed.
type changed struct {
	*control
	ask, own runner.Ask // of the trusted state and of the snapshot
	known    known
	now      runner.Report // what the snapshot says of itself
	prepare  bool
	unloaded map[string]bool // tests that do not load with a wrong expectation
}

// emptied takes all functions of the product out, on the trusted state and on the
// snapshot. A test that missed them there and passes without them here asks about
// something else.
func (ch *changed) emptied(ctx context.Context) error {
	missed, err := ch.missed(ctx)
	if err != nil || len(missed) == 0 {
		return err
	}
	trusted, err := ch.files(ctx, ch.req.Trusted)
	if err != nil {
		return err
	}
	paths := append(ch.products(trusted), ch.req.Product...)
	tree, err := ch.files(ctx, ch.req.Snapshot)
	if err != nil {
		return err
	}
	words, err := ch.words(ctx)
	if err != nil {
		return err
	}
	overlay, err := emptiedAll(tree, paths, ch.own, words)
	if err != nil {
		return err
	}
	rep, err := ch.run(ctx, trial{commit: ch.req.Snapshot, ask: ch.own, what: "the product taken out under the changed tests", overlay: overlay, prepare: ch.prepare})
	if err != nil {
		return err
	}
	passing, was := rep.Outcomes(), ch.now.Outcomes()
	for _, name := range missed {
		if was[name] == runner.Passed && passing[name] == runner.Passed {
			ch.rep.Softened = append(ch.rep.Softened, name+": it passes without the product, and did not before")
		}
	}
	for _, t := range rep.Tests {
		if t.Outcome == runner.Failed && was[t.Name] == runner.Passed {
			ch.met += t.Text + "\n"
		}
	}
	return nil
}

// words are what changed functions of the snapshot say when they are out.
func (ch *changed) words(ctx context.Context) (func(runner.Function) string, error) {
	p, err := ch.changedProduct(ctx)
	if err != nil {
		return nil, err
	}
	return func(f runner.Function) string {
		for _, t := range p.functions {
			if t.Path == f.Path && t.From == f.From && !t.whole {
				return t.word
			}
		}
		return without(f)
	}, nil
}

// without is what a function says that is out and nobody asks about.
func without(runner.Function) string { return "without" }

// missed are the tests of the trusted state that fail without the product. It is
// kept like all that is known of that state.
func (ch *changed) missed(ctx context.Context) ([]string, error) {
	tree, err := ch.files(ctx, ch.req.Trusted)
	if err != nil {
		return nil, err
	}
	key, err := ch.knownKey(tree, ch.ask)
	if err != nil {
		return nil, err
	}
	paths := ch.products(tree)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q", key, paths))
	entry := filepath.Join(ch.keepDir(), "missed", hex.EncodeToString(sum[:])+".json")
	var missed []string
	if data, err := os.ReadFile(entry); err == nil && json.Unmarshal(data, &missed) == nil {
		return missed, nil
	}
	overlay, err := emptiedAll(tree, paths, ch.ask, without)
	if err != nil || len(overlay) == 0 {
		return nil, err
	}
	rep, err := ch.run(ctx, trial{commit: ch.req.Trusted, ask: ch.ask, what: "the product taken out on the trusted state", overlay: overlay, prepare: ch.known.Prepare})
	if err != nil {
		return nil, err
	}
	for _, t := range rep.Tests {
		if t.Outcome == runner.Failed && slices.Contains(ch.known.Passed, t.Name) {
			missed = append(missed, t.Name)
		}
	}
	data, err := json.Marshal(missed)
	if err != nil {
		return nil, err
	}
	return missed, writeWhole(entry, data)
}

// products are the sources of a tree that are no evidence, as far as the request
// and the runner say.
func (ch *changed) products(tree folderTree) []string {
	not := slices.Concat(ch.ask.Tests, ch.own.Tests, ch.req.Tests, ch.req.Evidence, ch.req.Changed, ch.req.Added, ch.req.Settings)
	return slices.DeleteFunc(slices.Clone(tree.paths), func(p string) bool {
		return slices.Contains(not, p) && !slices.Contains(ch.req.Product, p)
	})
}

// emptiedAll are the files with all of their functions taken out, and what lets
// each test of ask say that it misses them; none where there is nothing to take out.
func emptiedAll(tree folderTree, paths []string, ask runner.Ask, word func(runner.Function) string) (map[string][]byte, error) {
	sources, err := tree.read(paths)
	if err != nil {
		return nil, err
	}
	overlay := map[string][]byte{}
	for p, src := range sources {
		if out, ok := runner.WithoutAny(p, src, word); ok {
			overlay[p] = out
		}
	}
	if len(overlay) == 0 {
		return overlay, nil
	}
	return overlay, catching(tree, ask, overlay)
}
