package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"forge/internal/runner"
)

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
		// Another place of the same words may take back what this one makes wrong:
		// of negate(4) == -4 both fours.
		for _, o := range sayingSame(w, now[w.Path]) {
			if !had[[2]string{o.Path, o.Test}] && !slices.Contains(out[id], o) {
				out[id] = append(out[id], o)
			}
		}
	}
	for _, w := range located(kept, sources) {
		out[runner.NameOf(w)] = append(out[runner.NameOf(w)], w)
	}
	return out
}

// sayingSame are those of all that make the same words wrong in the same place, or
// in any place where there is none in the same.
func sayingSame(w runner.Wrong, all []runner.Wrong) []runner.Wrong {
	words := slices.DeleteFunc(slices.Clone(all), func(o runner.Wrong) bool { return o.Said != w.Said || o.Text != w.Text })
	if place := slices.DeleteFunc(slices.Clone(words), func(o runner.Wrong) bool { return o.Same != w.Same }); len(place) > 0 {
		return place
	}
	return words
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
