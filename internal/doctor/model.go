package doctor

import (
	"context"
	"errors"

	"forge/internal/llm"
	"forge/internal/project"
	"forge/orchestrator"
)

// model asks every model that Forge itself would use for one word. Without
// [llm] there is nothing to say.
func (d *Doctor) model(ctx context.Context, p *project.Checkout, spec orchestrator.Spec) {
	m, ok, err := p.Config.Model()
	if err != nil {
		d.failed("llm", err)
		return
	}
	if !ok {
		return
	}
	host := project.HostOf(m.BaseURL)
	c, err := p.Model()
	if err != nil {
		d.failed("llm", err)
		return
	}
	defer c.Close()
	models := project.ReviewModels(spec.Settings.Reviews)
	if len(models) == 0 {
		d.note("set llm.model", "model at %s: none is named, so it is not asked", host)
		return
	}
	for _, name := range models {
		err := p.Probe(ctx, c, []string{name})
		var trouble *llm.Trouble
		switch {
		case err == nil:
			d.good("model %s at %s answers", name, host)
		case errors.As(err, &trouble) && trouble.Kind == llm.RateLimited && trouble.Passes():
			d.note("wait, or ask less at once", "model %s at %s: %s", name, host, trouble.What)
		case errors.As(err, &trouble):
			d.poor(trouble.Fix, "model %s at %s: %s", name, host, trouble.What)
		default:
			d.poor("", "model %s at %s: %v", name, host, err)
		}
	}
	if !m.Priced() {
		d.note("set usd_per_mtok_in and usd_per_mtok_out in [llm]", "the model has no price: what reviews cost is not known")
	}
}
