package verify

import (
	"context"
	"fmt"

	"forge/internal/runner"
	"forge/internal/work"
)

// ablate takes each hunk of the product back by itself and looks whether the
// proof is red without it.
func (c *control) ablate(ctx context.Context) error {
	if c.req.Ablate == "" || c.req.Ablate == "off" {
		return nil
	}
	change, err := c.changedProduct(ctx)
	if err != nil {
		return err
	}
	a := &ablation{control: c, sources: change.now}
	c.rep.Ablation = &a.result
	var tried []runner.Hunk
	for _, p := range c.req.Product {
		for _, h := range runner.Hunks(p, change.was[p], change.now[p]) {
			if c.req.Rest != nil && !work.IsLeft(c.req.Rest.Hunks, placeName(p, h.Line)) {
				continue
			}
			a.result.Hunks++
			if why := plainly(h); why != "" {
				a.result.Plain = append(a.result.Plain, hunkPlace(h, why))
				continue
			}
			tried = append(tried, h)
		}
	}
	if len(tried) == 0 {
		return nil
	}
	if a.judge, err = c.judgeOf(ctx); err != nil {
		return err
	}
	if err := a.weigh(ctx, tried); err != nil {
		return err
	}
	if a.result.Lines > 0 {
		a.result.Share = float64(a.result.LinesOn) / float64(a.result.Lines)
	}
	if len(a.left) > 0 {
		a.result.Skipped = work.OverBudget(fmt.Sprintf("%d of %d hunks were not taken back", len(a.left), len(tried)))
		c.left.hunks = a.left
	}
	return nil
}

func plainly(h runner.Hunk) string {
	if isDocument(h.Path) {
		return "a document"
	}
	return h.Plain()
}

func hunkPlace(h runner.Hunk, why string) work.Place {
	return work.Place{Path: h.Path, Line: h.Line, End: h.End, Why: why}
}

type ablation struct {
	*control
	judge   *judge
	sources map[string][]byte
	result  work.Ablation
	runs    int
	left    []string // by their places
}

// weigh takes hunks back together. Where that is green nothing depends on any
// of them; where it is red each half tells more.
func (a *ablation) weigh(ctx context.Context, hunks []runner.Hunk) error {
	if a.runs > 0 && a.over() {
		for _, h := range hunks {
			a.left = append(a.left, placeName(h.Path, h.Line))
		}
		return nil
	}
	a.runs++
	green, err := a.greenWithout(ctx, hunks)
	if err != nil {
		return err
	}
	if !green && len(hunks) > 1 {
		if err := a.weigh(ctx, hunks[:len(hunks)/2]); err != nil {
			return err
		}
		return a.weigh(ctx, hunks[len(hunks)/2:])
	}
	for _, h := range hunks {
		a.result.Tried++
		a.result.Lines += h.Lines()
		if green {
			a.result.Idle = append(a.result.Idle, hunkPlace(h, "the proof is green without it"))
		} else {
			a.result.Needed++
			a.result.LinesOn += h.Lines()
		}
	}
	return nil
}

// greenWithout says whether the proof is green with hunks taken back: by the
// names of tests where runners can be asked, else by the verify commands.
func (a *ablation) greenWithout(ctx context.Context, hunks []runner.Hunk) (bool, error) {
	overlay := map[string][]byte{}
	for i := 0; i < len(hunks); {
		j := i
		for j < len(hunks) && hunks[j].Path == hunks[i].Path {
			j++
		}
		overlay[hunks[i].Path] = runner.TakeBack(a.sources[hunks[i].Path], hunks[i:j])
		i = j
	}
	if len(a.judge.asks) > 0 {
		h, err := a.hear(ctx, a.judge, fmt.Sprintf("%d hunks taken back", len(hunks)), overlay)
		return !h.red && !h.lost, err
	}
	a.say("verify commands with %d hunks taken back", len(hunks))
	sh, err := a.ready(ctx, a.req.Snapshot, false)
	if err != nil {
		return false, err
	}
	if err := writeOver(a.req.Dir, overlay); err != nil {
		return false, err
	}
	rep, err := sh.run(ctx, a.req.Commands)
	return rep.OK, err
}
