package project

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"forge/internal/config"
	"forge/internal/llm"
	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/work"
)

// probeTime bounds how long a run waits for its reviewer before it begins.
const probeTime = time.Minute

// ByModel is the word of ReviewSettings.By for a model of [llm].
const ByModel = "llm"

// Model is the client of [llm]; nil where no service is named. What the user's
// environment holds in secrets is never sent.
func (p *Checkout) Model() (*llm.Client, error) {
	m, ok, err := p.Config.Model()
	if err != nil || !ok {
		return nil, err
	}
	c, err := llm.New(llm.Config{
		BaseURL: m.BaseURL, Model: m.Model, Roles: m.Roles, Tiers: m.Tiers, Key: m.Key, KeyEnv: m.KeyEnv,
		Timeout: m.Timeout, ContextTokens: m.ContextTokens, MaxOutputTokens: m.MaxOutputTokens,
		USDPerMTokIn: m.USDPerMTokIn, USDPerMTokOut: m.USDPerMTokOut,
		Secrets: redact.FromEnv(p.Environ, proc.SecretName),
	})
	if err != nil {
		return nil, refusal.New("correct [llm], or the variable of its key", "%v", err)
	}
	return c, nil
}

// CheckReviewer asks the models that the reviews of these phases rest on for
// one word: a missing key or an unknown model is said before work is paid for,
// not after. A service that limits at the moment is no reason not to begin.
func (p *Checkout) CheckReviewer(ctx context.Context, set work.Settings, phases []string) error {
	if !slices.ContainsFunc(phases, func(n string) bool { return set.Phases[n].Reviewed }) {
		return nil
	}
	models := ReviewModels(set.Reviews)
	if len(models) == 0 {
		return nil
	}
	c, err := p.Model()
	if err != nil {
		return err
	}
	if c == nil {
		// Addresses and keys are not on record with a run: they are this
		// machine's, and may change while it waits.
		if _, _, broken := config.Load(config.Sources{ProjectDir: p.Base.RepoRoot, UserFile: config.UserFile(p.Environ), Environ: p.Environ}); broken != nil {
			return refusal.New("correct it, then forge resume", "the run is reviewed by the model %s, whose service nobody can read: %v", models[0], broken)
		}
		return refusal.New("set llm.base_url again", "the run is reviewed by the model %s, and [llm] names no service", models[0])
	}
	defer c.Close()
	err = p.Probe(ctx, c, models)
	var trouble *llm.Trouble
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled) || !errors.As(err, &trouble):
		return err
	case trouble.Kind == llm.RateLimited && trouble.Passes():
		p.Log.Warn("the model that reviews is limited at the moment; its reviews will have to wait", "why", trouble.What)
		return nil
	}
	return refusal.New(trouble.Fix, "the model that reviews cannot be asked: %s", trouble.What)
}

// Probe is bounded: the run's first minute is to say what is missing.
func (p *Checkout) Probe(ctx context.Context, c *llm.Client, models []string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return c.Probe(ctx, models...)
}

// ReviewModels are the models that reviews and the arbiter ask, each once.
func ReviewModels(r work.ReviewSettings) []string {
	var out []string
	if r.By == ByModel {
		out = append(out, r.Model)
	}
	if r.Arbiter != "" && !slices.Contains(out, r.Arbiter) {
		out = append(out, r.Arbiter)
	}
	return out
}

// Selected are the numbers of the phases that a run carries out.
func Selected(plan work.Plan, only []string) []string {
	var out []string
	for _, ph := range plan.Phases {
		if len(only) == 0 || slices.Contains(only, ph.Number) {
			out = append(out, ph.Number)
		}
	}
	return out
}

// HostOf is where the model answers, as it is shown.
func HostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address that cannot be read"
	}
	return u.Host
}
