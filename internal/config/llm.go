package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/gates"
	"forge/internal/text"
)

// Roles that a model may be named for in [llm.roles].
func llmRoles() []string { return []string{"reviewer", "arbiter", "triage", "embedding", "companion"} }

// Model is [llm], resolved.
type Model struct {
	BaseURL         string
	Model           string            // for roles without one of their own
	Roles           map[string]string // role → model
	Tiers           map[string]string // model → tier
	KeyEnv          string            // "" = no key
	Key             string            // "" where KeyEnv is not set
	Timeout         time.Duration     // longest silence
	ContextTokens   int
	MaxOutputTokens int
	USDPerMTokIn    *float64 // nil = unknown
	USDPerMTokOut   *float64
}

// For is the model of a role.
func (m Model) For(role string) string { return firstOf(m.Roles[role], m.Model) }

// Priced says that what is asked has a price.
func (m Model) Priced() bool { return m.USDPerMTokIn != nil && m.USDPerMTokOut != nil }

// Model is the service that [llm] names, with its key from the environment. ok
// is false where no service is named. The error is *Problems: the key would go
// where neither the user nor its vendor wants it.
func (c *Config) Model() (m Model, ok bool, err error) {
	f := c.File.LLM
	if said(f.BaseURL) == "" {
		return m, false, nil
	}
	col := &collector{}
	for _, l := range c.layers {
		if l.kind == layerProject {
			c.checkLLMTrust(col, l)
		}
	}
	if err := col.err(); err != nil {
		return m, false, err
	}
	return c.model(), true, nil
}

// model is [llm] without a look at who may have the key.
func (c *Config) model() Model {
	f := c.File.LLM
	return Model{
		BaseURL: said(f.BaseURL), Model: said(f.Model), Roles: f.Roles, Tiers: f.Tiers, KeyEnv: said(f.APIKeyEnv), Key: c.environ[said(f.APIKeyEnv)],
		Timeout: time.Duration(said(f.TimeoutSecs)) * time.Second, ContextTokens: said(f.ContextTokens), MaxOutputTokens: said(f.MaxOutputTokens),
		USDPerMTokIn: f.USDPerMTokIn, USDPerMTokOut: f.USDPerMTokOut,
	}
}

// Embedding is what makes vectors for the search.
type Embedding struct {
	Model     string // "" = none are made
	DayTokens int64  // the most that it may take on a day; 0 = no limit
	Numbers   int    // of each vector are kept, from its beginning; 0 = all
}

// Embedding is what makes vectors for the search. Where the project alone
// names the service, that has to be on this machine or at a host that the user
// trusts: whoever looks for a word in somebody else's checkout sends nothing out.
func (c *Config) Embedding() (Embedding, error) {
	model := c.File.LLM.Roles["embedding"]
	address := said(c.File.LLM.BaseURL)
	switch host := c.foreignHost(address, nil); {
	case model == "":
		return Embedding{}, nil
	case address == "":
		return Embedding{}, errors.New("llm.roles.embedding names a model, and llm.base_url no service")
	case host != "" && !c.userAsks(address):
		return Embedding{}, fmt.Errorf("this project alone names the service at %s; %s", host, hostFix(host))
	}
	return Embedding{Model: model, DayTokens: int64(said(c.File.LLM.EmbeddingDayTokens)), Numbers: said(c.File.LLM.EmbeddingNumbers)}, nil
}

// checkLLM looks at the words of [llm] file by file.
func (c *Config) checkLLM(col *collector) {
	var tiers []string
	for _, t := range gates.Tiers() {
		tiers = append(tiers, string(t))
	}
	for _, l := range c.layers {
		bad := func(what, fix string, path ...string) {
			path = append([]string{"llm"}, path...)
			col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix)
		}
		for _, role := range sortedKeys(l.said.LLM.Roles) {
			switch {
			case !slices.Contains(llmRoles(), role):
				bad("is no role", suggest(role, llmRoles()), "roles", role)
			case strings.TrimSpace(l.said.LLM.Roles[role]) == "":
				bad("names no model", "write a model, or remove it", "roles", role)
			}
		}
		for _, model := range sortedKeys(l.said.LLM.Tiers) {
			if tier := l.said.LLM.Tiers[model]; !slices.Contains(tiers, tier) {
				bad(fmt.Sprintf("is %q, which is no tier", text.Clip(tier, mostQuoted)), suggest(tier, tiers), "tiers", model)
			}
		}
		mine, merged := l.said.LLM, c.File.LLM
		if (mine.USDPerMTokIn == nil) != (mine.USDPerMTokOut == nil) && (merged.USDPerMTokIn == nil) != (merged.USDPerMTokOut == nil) {
			bad("has one price of two", "set both usd_per_mtok_in and usd_per_mtok_out")
		}
	}
}
