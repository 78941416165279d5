package verify

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"forge/internal/runner"
	"forge/internal/work"
)

// judge is the runners that say whether the snapshot's change is noticed, with
// what passed before something was taken out.
type judge struct {
	asks    []runner.Ask
	prepare []bool
	passed  []map[string]string // group by name
	tests   map[string][]byte   // test files of Go, in which a panic is one test's own
}

// prepares says that a runner says something only after the verify commands.
func (j *judge) prepares(ask runner.Ask) bool {
	at := slices.IndexFunc(j.asks, func(a runner.Ask) bool { return a.Key() == ask.Key() })
	return at >= 0 && j.prepare[at]
}

// baseline is what one runner said of the snapshot.
type baseline struct {
	rep     runner.Report
	prepare bool
}

// heard is what the runners said when something was taken out.
type heard struct {
	red    bool   // a named test failed that had passed
	told   string // what failed tests printed
	broken string // what was printed where something did not build or load
	lost   bool   // tests are not reported at all
}

// judgeOf asks the snapshot's own tests, which are the claim's: once, for all that
// is taken out or back.
func (c *control) judgeOf(ctx context.Context) (*judge, error) {
	if c.noticing != nil {
		return c.noticing, nil
	}
	asks, err := c.find(ctx, c.req.Snapshot)
	if err != nil {
		return nil, err
	}
	j := &judge{tests: map[string][]byte{}}
	for _, ask := range asks {
		rep, prepare, err := c.baseline(ctx, ask)
		if err != nil {
			return nil, err
		}
		passed := map[string]string{}
		for _, t := range rep.Tests {
			if t.Outcome == runner.Passed {
				passed[t.Name] = t.Group
			}
		}
		if len(passed) == 0 {
			continue
		}
		j.asks, j.prepare, j.passed = append(j.asks, ask), append(j.prepare, prepare), append(j.passed, passed)
		tree, err := c.files(ctx, c.req.Snapshot)
		if err == nil {
			err = catching(tree, ask, j.tests)
		}
		if err != nil {
			return nil, err
		}
	}
	c.noticing = j
	return j, nil
}

// catching puts the test files of Go into an overlay, so that a panic is the
// failure of one test.
func catching(tree folderTree, ask runner.Ask, overlay map[string][]byte) error {
	if ask.Runner != "go test" {
		return nil
	}
	sources, err := tree.read(ask.Tests)
	for f, src := range sources {
		overlay[f] = runner.Catching(src)
	}
	return err
}

// baseline returns what passes on the snapshot, and whether only the verify
// commands before let it say so. Each runner is asked once.
func (c *control) baseline(ctx context.Context, ask runner.Ask) (runner.Report, bool, error) {
	if b, ok := c.baselines[ask.Key()+ask.Command]; ok {
		return b.rep, b.prepare, nil
	}
	rep, prepare, err := c.askBaseline(ctx, ask)
	if err != nil {
		return rep, false, err
	}
	if c.baselines == nil {
		c.baselines = map[string]baseline{}
	}
	c.baselines[ask.Key()+ask.Command] = baseline{rep, prepare}
	return rep, prepare, nil
}

func (c *control) askBaseline(ctx context.Context, ask runner.Ask) (runner.Report, bool, error) {
	if rep, ok := c.now[ask.Key()]; ok && c.req.Snapshot == c.req.Commit {
		return rep, c.prepared[ask.Key()], nil
	}
	// The proof of the snapshot may have said it already.
	tree, err := c.files(ctx, c.req.Snapshot)
	if err != nil {
		return runner.Report{}, false, err
	}
	rep, said, err := c.saidOf(tree, ask)
	if err != nil {
		return rep, false, err
	}
	if passed, _ := outcomes(rep, nil); said && len(passed) > 0 {
		return rep, false, nil
	}
	t := trial{commit: c.req.Snapshot, ask: ask, what: "which tests pass with the new ones"}
	if rep, err = c.run(ctx, t); err != nil {
		return rep, false, err
	}
	if passed, _ := outcomes(rep, nil); len(passed) > 0 || len(c.req.Commands) == 0 {
		return rep, false, nil
	}
	t.prepare = true
	rep, err = c.run(ctx, t)
	return rep, true, err
}

// hear asks all runners with something laid over the snapshot.
func (c *control) hear(ctx context.Context, j *judge, what string, overlay map[string][]byte) (heard, error) {
	var h heard
	for i, ask := range j.asks {
		over := map[string][]byte{}
		for f, src := range j.tests {
			over[f] = src
		}
		for f, src := range overlay {
			over[f] = src
		}
		rep, err := c.run(ctx, trial{commit: c.req.Snapshot, ask: ask, what: what, overlay: over, prepare: j.prepare[i]})
		if err != nil {
			return h, err
		}
		seen := map[string]bool{}
		for _, t := range rep.Tests {
			seen[t.Name] = true
			if _, was := j.passed[i][t.Name]; was && t.Outcome == runner.Failed {
				h.red = true
				h.told += t.Text + "\n"
			}
		}
		for name := range j.passed[i] {
			h.lost = h.lost || !seen[name]
		}
		for _, text := range rep.Broken {
			h.lost = true
			h.broken += text + "\n"
		}
	}
	return h, nil
}

// taken is one changed function and how far it is with being taken out.
type taken struct {
	runner.Function
	word  string
	way   int
	whole bool // no reader knows the language: the file is emptied
}

func (t *taken) place(why string) work.Place {
	return work.Place{Path: t.Path, Line: t.Line, End: t.End, Name: t.Name, Why: why}
}

// takeOut takes the body of each changed function out and looks whether a named
// test notices. Functions go together in one run: a failure tells by its word
// which of them it met. Those that a test met when the whole product was out are
// noticed already.
func (c *control) takeOut(ctx context.Context) error {
	p, err := c.changedProduct(ctx)
	if err != nil {
		return err
	}
	all := slices.Clone(p.functions)
	if before := c.req.Rest; before != nil {
		all = slices.DeleteFunc(all, func(t *taken) bool { return !work.IsLeft(before.Functions, placeName(t.Path, t.Line)) })
	} else {
		c.rep.Green.Of = len(all)
	}
	if len(all) == 0 {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(t *taken) bool { return !t.whole && strings.Contains(c.met, t.word) })
	if len(rest) == 0 {
		c.rep.Green.Done = len(all)
		return nil
	}
	j, err := c.judgeOf(ctx)
	if err != nil {
		return err
	}
	if len(j.asks) == 0 {
		c.skip("%d changed functions were not taken out: no runner reports a test that passes", len(rest))
		return nil
	}
	g := &green{control: c, judge: j, sources: p.now}
	if err := g.prove(ctx, rest); err != nil {
		return err
	}
	if err := g.programs(ctx, all, p.was); err != nil {
		return err
	}
	c.rep.Green.Done = len(all) - len(g.left)
	if len(g.left) > 0 {
		c.leave(fmt.Sprintf("%d of %d changed functions were not taken out", len(g.left), len(all)))
		c.left.functions = g.left
	}
	return nil
}

// product is the changed files of the product as they were and as they are, and
// the functions that differ, each with a word of its own.
type product struct {
	was, now  map[string][]byte
	functions []*taken
}

func (c *control) changedProduct(ctx context.Context) (*product, error) {
	if c.product != nil {
		return c.product, nil
	}
	p := &product{}
	if len(c.req.Product) > 0 {
		var err error
		if p.was, err = c.readAt(ctx, c.req.Base, c.req.Product); err != nil {
			return nil, err
		}
		if p.now, err = c.readAt(ctx, c.req.Snapshot, c.req.Product); err != nil {
			return nil, err
		}
	}
	for _, f := range runner.Changed(p.was, p.now) {
		p.functions = append(p.functions, &taken{Function: f, word: word()})
	}
	for _, file := range sortedPaths(p.now) {
		if runner.Unreadable(file) && !bytes.Equal(p.was[file], p.now[file]) {
			f := runner.Function{Path: file, Line: 1, End: bytes.Count(p.now[file], []byte("\n"))}
			p.functions = append(p.functions, &taken{Function: f, word: word(), whole: true})
		}
	}
	c.product = p
	return p, nil
}

func sortedPaths(all map[string][]byte) []string {
	return slices.Sorted(maps.Keys(all))
}

// green is the state of one green control.
type green struct {
	*control
	judge   *judge
	sources map[string][]byte
	runs    int
	left    []string // by their places
}

// prove sorts all into those that a named test misses, those that none does, and
// those of which nobody can tell.
func (g *green) prove(ctx context.Context, all []*taken) error {
	for len(all) > 0 {
		if g.runs > 0 && g.over() {
			for _, t := range all {
				g.left = append(g.left, placeName(t.Path, t.Line))
			}
			return nil
		}
		g.runs++
		h, err := g.hear(ctx, g.judge, fmt.Sprintf("%d changed functions taken out", len(all)), g.without(all))
		if err != nil {
			return err
		}
		if !h.red && !h.lost {
			for _, t := range all {
				g.rep.Unproven = append(g.rep.Unproven, t.place("no named test fails without it"))
			}
			return nil
		}
		rest, progress := g.sift(all, h)
		switch {
		case progress:
			all = rest
		case len(all) == 1:
			g.single(all[0], h)
			if all[0].way >= all[0].Ways() || h.red {
				return nil
			}
		default:
			if err := g.prove(ctx, all[:len(all)/2]); err != nil {
				return err
			}
			all = all[len(all)/2:]
		}
	}
	return nil
}

// programs looks again at functions that a program begins with and that no test
// misses: where none missed them before the change either, no test starts that
// program, and what is in doubt was so before. It is said, and no loss. One that
// a test did start stays unproven.
func (g *green) programs(ctx context.Context, all []*taken, was map[string][]byte) error {
	for _, t := range all {
		at := slices.IndexFunc(g.rep.Unproven, func(p work.Place) bool { return p.Path == t.Path && p.Line == t.Line && p.Name == t.Name })
		if at < 0 || t.whole || !t.Starts() {
			continue
		}
		if g.over() && g.req.Rest == nil {
			g.rep.Unproven = slices.Delete(g.rep.Unproven, at, at+1)
			g.left = append(g.left, placeName(t.Path, t.Line))
			continue
		}
		started, err := g.started(ctx, t.Path, was[t.Path])
		if err != nil {
			return err
		}
		if !started {
			g.rep.Unproven = slices.Delete(g.rep.Unproven, at, at+1)
			g.rep.Undecided = append(g.rep.Undecided, t.place("no test starts the program that begins with it, nor did one before"))
		}
	}
	return nil
}

// started says that a test of the base misses the function that a program there
// begins with, or that nobody can tell.
func (g *green) started(ctx context.Context, file string, src []byte) (bool, error) {
	functions, _ := runner.Functions(file, src)
	at := slices.IndexFunc(functions, runner.Function.Starts)
	if at < 0 {
		return false, nil
	}
	asks, err := g.find(ctx, g.req.Base)
	if err != nil {
		return false, err
	}
	overlay := map[string][]byte{file: functions[at].Without(src, 0, word())}
	for _, ask := range asks {
		prepare := g.judge.prepares(ask)
		before, err := g.run(ctx, trial{commit: g.req.Base, ask: ask, what: "which tests pass on the base", prepare: prepare})
		if err != nil {
			return false, err
		}
		if passed, _ := outcomes(before, nil); len(passed) == 0 {
			return true, nil
		}
		without, err := g.run(ctx, trial{commit: g.req.Base, ask: ask, what: "the start of a program taken out of the base", overlay: overlay, prepare: prepare})
		if err != nil {
			return false, err
		}
		now := without.Outcomes()
		for _, test := range before.Tests {
			if test.Outcome == runner.Passed && now[test.Name] != runner.Passed {
				return true, nil
			}
		}
	}
	return false, nil
}

// sift drops those whose word a failed test printed, and those that can be
// taken out in no other way.
func (g *green) sift(all []*taken, h heard) (rest []*taken, progress bool) {
	for _, t := range all {
		switch {
		case strings.Contains(h.told, t.word):
			progress = true
			continue
		case strings.Contains(h.broken, t.word):
			progress = true
			if t.way++; t.way >= t.Ways() {
				g.rep.Undecided = append(g.rep.Undecided, t.place("without it nothing loads, so no test can tell"))
				continue
			}
		}
		rest = append(rest, t)
	}
	return rest, progress
}

// single judges one function that stood alone.
func (g *green) single(t *taken, h heard) {
	if h.red {
		return // a named test misses it
	}
	if t.way++; t.way >= t.Ways() {
		g.rep.Undecided = append(g.rep.Undecided, t.place("without it something does not build or load, so no test can tell"))
	}
}

// without returns the files with the bodies of all out of reach.
func (g *green) without(all []*taken) map[string][]byte {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *taken) int { return b.From - a.From })
	overlay := map[string][]byte{}
	for _, t := range sorted {
		if t.whole {
			overlay[t.Path] = runner.Emptied(t.Path, g.sources[t.Path])
			continue
		}
		src, ok := overlay[t.Path]
		if !ok {
			src = g.sources[t.Path]
		}
		// From the last to the first, so that offsets stay true.
		overlay[t.Path] = t.Without(src, t.way, t.word)
	}
	return overlay
}
