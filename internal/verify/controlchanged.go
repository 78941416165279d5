package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
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
// Where the change only added evidence, this ends with the budget.
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

// wrong makes the expectations wrong that were so on the trusted state, where they
// stand in the snapshot.
func (ch *changed) wrong(ctx context.Context) error {
	tree, err := ch.files(ctx, ch.req.Snapshot)
	if err != nil {
		return err
	}
	var files []string
	for _, r := range ch.known.Rounds {
		files = append(files, wrongFiles(r.Wrong)...)
	}
	sources, err := tree.read(files)
	if err != nil {
		return err
	}
	if err := ch.unreported(ctx); err != nil {
		return err
	}
	for _, r := range ch.known.Rounds {
		suspects, err := ch.deaf(ctx, r.Wrong, r.Red, sources)
		if err != nil {
			return err
		}
		if len(suspects) == 0 {
			continue
		}
		// One expectation may have become another: all that there were of these tests.
		trusted, err := ch.readAt(ctx, ch.req.Trusted, wrongFiles(r.Wrong))
		if err != nil {
			return err
		}
		if suspects, err = ch.deaf(ctx, expectationsOf(trusted, suspects), suspects, sources); err != nil {
			return err
		}
		for _, name := range suspects {
			what := "it is not red"
			if ch.unloaded[name] {
				what = "it does not load then"
			}
			ch.rep.Softened = append(ch.rep.Softened, name+": its expectation was made wrong, and "+what)
		}
	}
	return nil
}

// unreported names tests that passed on the trusted state, and that their files
// have still, where the runner no longer says anything of them.
func (ch *changed) unreported(ctx context.Context) error {
	trusted, err := ch.readAt(ctx, ch.req.Trusted, ch.req.Changed)
	if err != nil {
		return err
	}
	now, err := ch.readAt(ctx, ch.req.Snapshot, ch.req.Changed)
	if err != nil {
		return err
	}
	if len(ch.now.Broken) > 0 {
		return nil
	}
	for _, f := range sortedPaths(trusted) {
		kept := map[runner.TestName]bool{}
		for _, w := range runner.Expectations(f, now[f]) {
			kept[runner.NameOf(w)] = true
		}
		for _, test := range byTest(runner.Expectations(f, trusted[f])) {
			id := runner.NameOf(test[0])
			if kept[id] && slices.ContainsFunc(ch.known.Passed, id.In) && !slices.ContainsFunc(ch.now.Tests, func(t runner.Test) bool { return id.In(t.Name) }) {
				ch.rep.Softened = append(ch.rep.Softened, fmt.Sprintf("%s of %s: it is there, and the runner no longer reports it", id, f))
			}
		}
	}
	return nil
}

// expectationsOf are the expectations of the tests with these names, of each those
// of the sort that says most.
func expectationsOf(sources map[string][]byte, tests []string) []runner.Wrong {
	var out []runner.Wrong
	for _, f := range sortedPaths(sources) {
		for _, all := range byTest(runner.Expectations(f, sources[f])) {
			if !slices.ContainsFunc(tests, runner.NameOf(all[0]).In) {
				continue
			}
			out = append(out, mostSaying(all)...)
		}
	}
	return out
}

// mostSaying are those of a test's expectations that are of the sort that says most.
func mostSaying(all []runner.Wrong) []runner.Wrong {
	most := slices.MinFunc(all, bySort).Sort
	return slices.DeleteFunc(slices.Clone(all), func(w runner.Wrong) bool { return w.Sort != most })
}

// deaf returns those of the tests that are not red with what made them wrong on
// the trusted state. One that is called otherwise now counts as the one that it was.
func (ch *changed) deaf(ctx context.Context, wrong []runner.Wrong, red []string, sources map[string][]byte) ([]string, error) {
	var here []runner.Wrong
	of := map[string][]runner.TestName{}
	standing := standing(wrong, sources)
	for _, was := range slices.Sorted(maps.Keys(standing)) {
		found := standing[was]
		here = append(here, found...)
		for _, name := range red {
			if was.In(name) {
				of[name] = testsOf(found)
			}
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	ch.say("%s: %d expectations of changed tests made wrong", ch.own.Key(), len(here))
	rep, err := ch.run(ctx, trial{
		commit: ch.req.Snapshot, ask: ch.own, what: fmt.Sprintf("%d expectations made wrong in the tests as they are changed", len(here)),
		overlay: overlayWrong(sources, here), prepare: ch.prepare,
	})
	if err != nil {
		return nil, err
	}
	if ch.lost(rep) {
		return ch.apart(ctx, wrong, slices.Sorted(maps.Keys(of)), sources)
	}
	var out []string
	for name, ids := range of {
		if slices.ContainsFunc(ids, func(id runner.TestName) bool { return !failedAs(rep, name, id) }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// testsOf are the names of the tests that expectations stand in.
func testsOf(all []runner.Wrong) (names []runner.TestName) {
	for _, w := range all {
		if id := runner.NameOf(w); !slices.Contains(names, id) {
			names = append(names, id)
		}
	}
	return names
}

// apart asks file by file where all of them together do not load. The trusted
// state loaded with the same made wrong: a file that does not is one that notices
// that it is tried.
func (ch *changed) apart(ctx context.Context, wrong []runner.Wrong, red []string, sources map[string][]byte) ([]string, error) {
	in := map[string][]runner.Wrong{}
	for _, w := range wrong {
		in[w.Path] = append(in[w.Path], w)
	}
	if len(in) == 1 {
		for _, name := range red {
			ch.unloaded[name] = true
		}
		return red, nil
	}
	var out []string
	for _, f := range slices.Sorted(maps.Keys(in)) {
		if ch.req.Rest == nil && ch.over() {
			ch.leave("changed tests that do not load together with wrong expectations were not asked one by one")
			ch.left.changed = true
			break
		}
		of := slices.DeleteFunc(slices.Clone(red), func(name string) bool {
			return !slices.ContainsFunc(in[f], func(w runner.Wrong) bool { return runner.NameOf(w).In(name) })
		})
		deaf, err := ch.deaf(ctx, in[f], of, sources)
		if err != nil {
			return nil, err
		}
		out = append(out, deaf...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// standing finds the expectations in the tests as they are here, by the names that
// these had. A test whose name nobody has any more is every one that says the same
// under a name that nobody had: one of them may be there to be red.
func standing(wrong []runner.Wrong, sources map[string][]byte) map[runner.TestName][]runner.Wrong {
	out := map[runner.TestName][]runner.Wrong{}
	now := map[string][]runner.Wrong{}
	known, had := map[[2]string]bool{}, map[[2]string]bool{}
	for f, src := range sources {
		now[f] = runner.Expectations(f, src)
		for _, w := range now[f] {
			known[[2]string{f, w.Test}] = true
		}
	}
	for _, w := range wrong {
		had[[2]string{w.Path, w.Test}] = true
	}
	var kept []runner.Wrong
	for _, w := range wrong {
		if known[[2]string{w.Path, w.Test}] {
			kept = append(kept, w)
			continue
		}
		id := runner.NameOf(w)
		for _, o := range now[w.Path] {
			if o.Said == w.Said && o.Text == w.Text && !had[[2]string{o.Path, o.Test}] && !slices.Contains(out[id], o) {
				out[id] = append(out[id], o)
			}
		}
	}
	for _, w := range located(kept, sources) {
		out[runner.NameOf(w)] = append(out[runner.NameOf(w)], w)
	}
	return out
}

// lost says that something did not build or load that does as the snapshot is, so
// that names say nothing.
func (ch *changed) lost(rep runner.Report) bool {
	for group := range rep.Broken {
		if _, before := ch.now.Broken[group]; !before {
			return true
		}
	}
	return len(rep.Tests) == 0 && len(ch.now.Tests) > 0
}

// failedAs says that the test failed, or one that can be it under another name.
func failedAs(rep runner.Report, name string, id runner.TestName) bool {
	if o := rep.Outcomes()[name]; o != "" {
		return o == runner.Failed
	}
	return slices.ContainsFunc(rep.Tests, func(t runner.Test) bool { return t.Outcome == runner.Failed && id.In(t.Name) })
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
	overlay, err := emptiedAll(tree, paths)
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
	return nil
}

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
	overlay, err := emptiedAll(tree, paths)
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

// emptiedAll are the files with all of their functions taken out.
func emptiedAll(tree folderTree, paths []string) (map[string][]byte, error) {
	sources, err := tree.read(paths)
	if err != nil {
		return nil, err
	}
	overlay := map[string][]byte{}
	for p, src := range sources {
		if out, ok := runner.WithoutAny(p, src, "without"); ok {
			overlay[p] = out
		}
	}
	return overlay, nil
}
