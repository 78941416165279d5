package verify

import (
	"bytes"
	"context"
	"slices"

	"forge/internal/runner"
	"forge/internal/work"
)

// askOwn makes expectations wrong in the tests that earlier work of the run, or
// earlier issues, brought: the base of the phase has them, the trusted state has
// not, and the snapshot kept them. What those tests judge by may be product
// that came with them. Where this change touches such product it is always
// asked, else while the budget lasts.
func (c *control) askOwn(ctx context.Context) error {
	if c.req.Base == "" || c.req.Base == c.req.Trusted {
		return nil
	}
	asks, touched, err := c.ownTests(ctx)
	if err != nil {
		return err
	}
	before := c.req.Rest
	if before != nil && before.Own {
		before = nil // none of them was asked
	}
	if before != nil {
		asks = slices.DeleteFunc(asks, func(a runner.Ask) bool { return !work.IsLeft(before.Runners, ofOwn+a.Key()) })
	}
	if len(asks) == 0 {
		return nil
	}
	if !touched && c.over() {
		c.leave("the tests that earlier work brought were not made wrong")
		c.left.own = true
		return nil
	}

	asked := c.req
	defer func() { c.req = asked }()
	c.req.Trusted, c.req.Commit, c.req.Accepted = asked.Base, asked.Snapshot, false
	all := make([]known, len(asks))
	for i, a := range asks {
		if all[i], err = c.calibrate(ctx, a); err != nil {
			return err
		}
	}
	return c.makeWrong(ctx, asks, all, ofOwn, before)
}

// ofOwn tells a runner that is asked about the tests of earlier work from the same
// one on the trusted state.
const ofOwn = "earlier "

// ownTests returns how the runners of the base are asked about the tests that
// the trusted state does not have as they are, and that the snapshot has as
// they were. Touched says that the change is one of product that the trusted
// state does not have as the base has it either.
func (c *control) ownTests(ctx context.Context) (asks []runner.Ask, touched bool, err error) {
	base, err := c.files(ctx, c.req.Base)
	if err != nil {
		return nil, false, err
	}
	found := runner.Find(base, c.req.Commands)
	var paths []string
	for _, a := range found {
		paths = append(paths, a.Tests...)
	}
	paths = append(paths, c.req.Product...)
	at, err := base.read(paths)
	if err != nil {
		return nil, false, err
	}
	trusted, err := c.readAt(ctx, c.req.Trusted, paths)
	if err != nil {
		return nil, false, err
	}
	kept, err := c.readAt(ctx, c.req.Snapshot, paths)
	if err != nil {
		return nil, false, err
	}
	for _, a := range found {
		a.Tests = slices.DeleteFunc(slices.Clone(a.Tests), func(p string) bool {
			was, known := trusted[p]
			return known && bytes.Equal(was, at[p]) || !bytes.Equal(kept[p], at[p])
		})
		if len(a.Tests) > 0 {
			asks = append(asks, a)
		}
	}
	touched = slices.ContainsFunc(c.req.Product, func(p string) bool {
		was, known := at[p]
		accepted, before := trusted[p]
		return known && (!before || !bytes.Equal(was, accepted))
	})
	return asks, touched, nil
}

func (c *control) readAt(ctx context.Context, commit string, paths []string) (map[string][]byte, error) {
	tree, err := c.files(ctx, commit)
	if err != nil {
		return nil, err
	}
	return tree.read(paths)
}
