package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"forge/internal/runner"
	"forge/internal/text"
	"forge/internal/work"
)

// account asks a runner what passes on the commit that is judged, with tests
// planted that must fail.
func (c *control) account(ctx context.Context, ask runner.Ask, k known) error {
	rr := work.RunnerReport{Name: ask.Runner, Dir: ask.Dir, Command: c.red.String(text.ClipLine(ask.Command, mostLine))}
	if len(k.Passed) == 0 {
		rr.Why = "not accounted: on the trusted state it reports no test that passes; no red control"
		c.rep.Runners = append(c.rep.Runners, rr)
		return nil
	}
	if err := c.noteAnswer(ask.Command); err != nil {
		return err
	}
	tree, err := c.files(ctx, c.req.Commit)
	if err != nil {
		return err
	}
	if rep, ok, err := c.toldOf(tree, ask, k); err != nil {
		return err
	} else if ok {
		c.now[ask.Key()], c.unplanted[ask.Key()] = rep, true
		rr.Accounted = true
		rr.Passed, rr.Failed, rr.Skipped = counts(rep, nil)
		c.rep.Runners = append(c.rep.Runners, rr)
		return nil
	}
	sources, err := tree.read(k.Planted)
	if err != nil {
		return err
	}
	kind, _ := runner.Lookup(ask.Runner)
	planted, overlay := plant(kind, k.Planted, sources)
	t := trial{commit: c.req.Commit, ask: ask, what: "which tests pass", overlay: overlay, prepare: k.Prepare, before: c.begins(tree, k)}
	rep, err := c.run(ctx, t)
	if err != nil {
		return err
	}
	if err := c.noteRead(); err != nil {
		return err
	}
	lost, deaf := missing(k, rep), c.deafPlants(planted, rep)
	if len(lost)+len(deaf) > 0 {
		// Once more: what comes and goes is something else than what is lost.
		t.before = nil
		again, err := c.run(ctx, t)
		if err != nil {
			return err
		}
		lost, deaf = c.twice(lost, missing(k, again), "was once not reported as passed"), both(deaf, c.deafPlants(planted, again))
		if len(lost) == 0 {
			rep = again
		}
	}
	c.now[ask.Key()], c.prepared[ask.Key()] = rep, k.Prepare
	c.rep.Lost = append(c.rep.Lost, lost...)
	c.rep.Deaf = append(c.rep.Deaf, deaf...)
	rr.Accounted = true
	rr.Passed, rr.Failed, rr.Skipped = counts(rep, planted)
	rr.Planted = len(planted) - len(deaf)
	if len(planted) == 0 && len(k.Rounds) == 0 {
		rr.Why = "no red control: no test could be planted and no expectation be made wrong"
	}
	c.rep.Runners = append(c.rep.Runners, rr)
	return nil
}

// missing names what passed on the trusted state and is not reported as passed,
// with what is said instead.
func missing(k known, rep runner.Report) []string {
	now := rep.Outcomes()
	var lost []string
	for _, name := range k.Passed {
		switch o := now[name]; o {
		case runner.Passed:
		case "":
			lost = append(lost, name+": not reported")
		default:
			lost = append(lost, name+": "+string(o))
		}
	}
	return lost
}

// deafPlants names the planted tests that had to be red by name and were not.
func (c *control) deafPlants(planted map[string]string, rep runner.Report) []string {
	var deaf []string
	for file, word := range planted {
		if !rep.RedByName(word) {
			deaf = append(deaf, fmt.Sprintf("a test that must fail, planted beside %s, is not reported as failed", file))
		}
	}
	slices.Sort(deaf)
	return deaf
}

// twice returns what stands in both lists. What stands in the first only is
// said to be unsteady.
func (c *control) twice(first, second []string, what string) []string {
	for _, f := range first {
		if !slices.Contains(second, f) {
			c.rep.Unsteady = append(c.rep.Unsteady, f+" ("+what+")")
		}
	}
	return both(first, second)
}

func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

func counts(rep runner.Report, planted map[string]string) (passed, failed, skipped int) {
	for _, t := range rep.Tests {
		switch {
		case isPlanted(t.Name, planted):
		case t.Outcome == runner.Passed:
			passed++
		case t.Outcome == runner.Failed:
			failed++
		default:
			skipped++
		}
	}
	return passed, failed, skipped
}

// makeWrong runs the rounds of wrong expectations that the trusted state was
// seen to be red with: at least one of each runner, the others in the budget. Of
// those that were left out before, which is told by what they are called with of
// in front, the first round is known already; nil = all.
func (c *control) makeWrong(ctx context.Context, asks []runner.Ask, all []known, of string, before *work.ControlLeft) error {
	for i, ask := range asks {
		if before != nil && !c.goesOn(before, of+ask.Key()) {
			continue
		}
		for n, r := range all[i].Rounds {
			if before != nil && n == 0 {
				continue
			}
			if before == nil {
				c.rep.Red.Of += len(r.Wrong)
			}
			if n > 0 && c.over() {
				c.leave(fmt.Sprintf("%s: %d wrong expectations were left out", ask.Key(), len(r.Wrong)))
				c.left.runners = append(c.left.runners, of+ask.Key())
				continue
			}
			if err := c.wrongRound(ctx, ask, all[i], r, c.runnerOf(ask)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *control) runnerOf(ask runner.Ask) *work.RunnerReport {
	for i := range c.rep.Runners {
		if r := &c.rep.Runners[i]; r.Name == ask.Runner && r.Dir == ask.Dir {
			return r
		}
	}
	return &work.RunnerReport{}
}

// wrongRound makes the expectations of a round wrong on the commit and compares
// what is red with what was red on the trusted state.
func (c *control) wrongRound(ctx context.Context, ask runner.Ask, k known, r round, rr *work.RunnerReport) error {
	tree, err := c.files(ctx, c.req.Commit)
	if err != nil {
		return err
	}
	sources, err := tree.read(wrongFiles(r.Wrong))
	if err != nil {
		return err
	}
	here := located(r.Wrong, sources)
	wrong := overlayWrong(sources, here)
	t := trial{commit: c.req.Commit, ask: ask, what: fmt.Sprintf("%d expectations made wrong", len(here)), overlay: wrong, prepare: k.Prepare}
	var planted map[string]string
	if c.unplanted[ask.Key()] {
		// The verify said what passes, and nothing was planted in it.
		if planted, t.overlay, err = sow(tree, ask, k, wrong); err != nil {
			return err
		}
		t.before = c.begins(tree, k)
		delete(c.unplanted, ask.Key())
	}
	rep, err := c.run(ctx, t)
	if err != nil {
		return err
	}
	if err := c.reap(ctx, tree, ask, k, planted, rep, rr); err != nil {
		return err
	}
	deaf, shaken := compare(r, rep)
	if len(deaf)+len(shaken) > 0 {
		t.overlay, t.before = wrong, nil
		again, err := c.run(ctx, t)
		if err != nil {
			return err
		}
		moreDeaf, moreShaken := compare(r, again)
		deaf, shaken = both(deaf, moreDeaf), both(shaken, moreShaken)
	}
	c.rep.Deaf = append(c.rep.Deaf, deaf...)
	c.rep.Unsteady = append(c.rep.Unsteady, shaken...)
	c.rep.Red.Done += len(here)
	rr.Wrong += len(r.Red) - len(deaf)
	return nil
}

// sow plants tests that must fail beside what is laid over the tree already.
func sow(tree folderTree, ask runner.Ask, k known, over map[string][]byte) (planted map[string]string, overlay map[string][]byte, err error) {
	sources, err := tree.read(k.Planted)
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(sources, over)
	kind, _ := runner.Lookup(ask.Runner)
	planted, overlay = plant(kind, k.Planted, sources)
	for f, text := range over {
		if _, ok := overlay[f]; !ok {
			overlay[f] = text
		}
	}
	return planted, overlay, nil
}

// reap looks whether what was planted beside wrong expectations was red. What
// was not is asked by itself, as the wrong ones may be in its way.
func (c *control) reap(ctx context.Context, tree folderTree, ask runner.Ask, k known, planted map[string]string, rep runner.Report, rr *work.RunnerReport) error {
	if planted == nil {
		return nil
	}
	if err := c.noteRead(); err != nil {
		return err
	}
	var deaf []string
	if len(c.deafPlants(planted, rep)) > 0 {
		var over map[string][]byte
		var err error
		if planted, over, err = sow(tree, ask, k, nil); err != nil {
			return err
		}
		alone, err := c.run(ctx, trial{commit: c.req.Commit, ask: ask, what: "tests that must fail", overlay: over, prepare: k.Prepare})
		if err != nil {
			return err
		}
		deaf = c.deafPlants(planted, alone)
	}
	c.rep.Deaf = append(c.rep.Deaf, deaf...)
	rr.Planted = len(planted) - len(deaf)
	return nil
}

func wrongFiles(all []runner.Wrong) []string {
	var files []string
	for _, w := range all {
		if !slices.Contains(files, w.Path) {
			files = append(files, w.Path)
		}
	}
	return files
}

// located finds the expectations in files as they are here, by what their lines
// say, else by their number in their test: other lines may stand before them, and
// where product and tests stand in one file, they moved.
func located(all []runner.Wrong, sources map[string][]byte) []runner.Wrong {
	byFile, byLine := map[string]map[string]runner.Wrong{}, map[string]map[string]runner.Wrong{}
	for f, src := range sources {
		byFile[f], byLine[f] = map[string]runner.Wrong{}, map[string]runner.Wrong{}
		for _, w := range runner.Expectations(f, src) {
			byFile[f][w.Key()], byLine[f][w.LineKey()] = w, w
		}
	}
	var here []runner.Wrong
	for _, w := range all {
		if found, ok := byLine[w.Path][w.LineKey()]; ok {
			here = append(here, found)
		} else if found, ok := byFile[w.Path][w.Key()]; ok {
			here = append(here, found)
		}
	}
	return here
}

// compare names the tests that were red on the trusted state with the same
// wrong expectations and are not now, and those that were green and are not.
func compare(r round, rep runner.Report) (deaf, shaken []string) {
	now := rep.Outcomes()
	for _, name := range r.Red {
		if o := now[name]; o != runner.Failed {
			deaf = append(deaf, fmt.Sprintf("%s: its expectation was made wrong, and it is %s", name, said(o)))
		}
	}
	for _, name := range r.Green {
		if o := now[name]; o != runner.Passed {
			shaken = append(shaken, fmt.Sprintf("%s: other tests were made wrong, and it is %s", name, said(o)))
		}
	}
	return deaf, shaken
}

func said(o runner.Outcome) string {
	if o == "" {
		return "not reported"
	}
	return "reported as " + string(o)
}
