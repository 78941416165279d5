package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

// Roles of a question. A role without a model of its own uses Config.Model.
const (
	RoleReviewer  = "reviewer"
	RoleArbiter   = "arbiter"
	RoleTriage    = "triage"
	RoleEmbedding = "embedding"
	RoleCompanion = "companion"
)

// Defaults of a Config.
const (
	DefaultTimeout         = 120 * time.Second
	DefaultContextTokens   = 100_000
	DefaultMaxOutputTokens = 8_000
)

// MaxAnswerBytes is the largest answer that is read.
const MaxAnswerBytes = 10 << 20

// Config is [llm], resolved. BaseURL is needed; what else is zero has a
// default or is unknown.
type Config struct {
	BaseURL string            // such as https://host/v1; http or https, without a user in it
	Model   string            // for roles that have none
	Roles   map[string]string // role → model
	Tiers   map[string]string // model → tier; a model without one is frontier_fast

	Key    string // sent to BaseURL's host and nowhere else; "" = none
	KeyEnv string // the variable that Key comes from; without a Key every question fails as unauthorized. "" = no key is needed

	Timeout         time.Duration // longest silence of the service; 0 = DefaultTimeout. The context bounds the whole
	ContextTokens   int           // what a question may have; 0 = DefaultContextTokens. For callers: the client cuts nothing
	MaxOutputTokens int           // what an answer may have; 0 = DefaultMaxOutputTokens
	USDPerMTokIn    *float64      // price of a million tokens; nil = unknown
	USDPerMTokOut   *float64

	Secrets   []string          // taken out of everything that is sent and kept, the key with them
	Transport http.RoundTripper // nil = as the standard library's, with the proxies of the environment
}

// Question is one thing to ask.
type Question struct {
	Role   string          // see the roles; chooses the model
	Model  string          // overrules the role
	System string          // instructions; "" = none
	User   string          // what they are about
	Name   string          // of the schema: letters, digits, _ and -
	Schema json.RawMessage // of the answer, an object; see ParseSchema for what it may say

	// Check names further problems of an answer that fits the schema, for the
	// one repair; nil = none. It must not keep the bytes.
	Check func(answer []byte) []string
}

// Reply is what came back. Everything but JSON is filled in with an error, too.
type Reply struct {
	JSON     []byte     // the answer, which fits the schema and the check; nil with an error
	Model    string     // that was asked
	Usage    work.Usage // of all tries together; nil = unknown
	Request  []byte     // exactly what was sent; several requests stand on a line each
	Answer   []byte     // exactly what came back, without known secrets; several likewise
	Tries    int        // requests that were sent
	Repaired bool       // the first answer did not fit
}

// Client asks one service. It may be used by several goroutines.
type Client struct {
	cfg  Config
	http *http.Client
	red  *redact.Redactor

	now    func() time.Time
	random func() float64 // [0,1)
	wait   func(ctx context.Context, d time.Duration) error

	mu      sync.Mutex
	dialect map[string]dialect // by model: what the service was found to accept
}

// New checks a configuration. It reaches nothing.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil:
		// The error would repeat the address, which may hold a password.
		return nil, errors.New("read the address of the model service: it is no URL")
	case u.User != nil:
		return nil, fmt.Errorf("read the address of the model service: it holds a user or password; name the key's variable in llm.api_key_env")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("read the address of the model service: %q does not begin with http:// or https:// and a host", text.Clip(cfg.BaseURL, mostSaid))
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("read the address of the model service: %q has more than a path", text.Clip(cfg.BaseURL, mostSaid))
	}
	cfg.Key = strings.TrimSpace(cfg.Key)
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return nil, fmt.Errorf("read the key in %s: it holds white space or other characters that no key has", cfg.KeyEnv)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.ContextTokens <= 0 {
		cfg.ContextTokens = DefaultContextTokens
	}
	if cfg.MaxOutputTokens <= 0 {
		cfg.MaxOutputTokens = DefaultMaxOutputTokens
	}
	if cfg.Transport == nil {
		cfg.Transport = newTransport()
	}
	return &Client{
		cfg: cfg,
		// A redirect is an answer: it is neither followed nor given the key.
		http:    &http.Client{Transport: cfg.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		red:     redact.New(append([]string{cfg.Key}, cfg.Secrets...)),
		now:     time.Now,
		random:  rand.Float64,
		wait:    wait,
		dialect: map[string]dialect{},
	}, nil
}

// Close drops idle connections. Questions that are asked meanwhile go on.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ModelFor is the model that a role asks; "" when neither the role nor the
// configuration names one.
func (c *Client) ModelFor(role string) string {
	if m := c.cfg.Roles[role]; m != "" {
		return m
	}
	return c.cfg.Model
}

// TierOf is the tier of a model.
func (c *Client) TierOf(model string) string {
	if t := c.cfg.Tiers[model]; t != "" {
		return t
	}
	return "frontier_fast"
}

// ContextTokens is how many tokens a question may have.
func (c *Client) ContextTokens() int { return c.cfg.ContextTokens }

// newTransport is a transport of the client's own, so that closing its
// connections closes nobody else's.
func newTransport() http.RoundTripper {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		return t.Clone()
	}
	return &http.Transport{Proxy: http.ProxyFromEnvironment}
}

// wait sleeps, or ends with the context.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
