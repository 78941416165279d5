package lookup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"forge/internal/config"
	"forge/internal/llm"
	"forge/internal/project"
	"forge/internal/search"
	"forge/internal/text"
)

// vectorFile is where the vectors are.
func vectorFile(p *project.Checkout) string { return filepath.Join(p.State, "vectors.db") }

const (
	// questionTime is how long a question waits for its vector: who asks waits.
	questionTime = 3 * time.Second
	// besideTime is how long vectors are made beside a question of a command, which
	// nothing goes on for when it has ended.
	besideTime = 3 * time.Second
	// endTime is the same at the end of a run.
	endTime = 10 * time.Second
	// stepTime is what the last batch of either may take longer.
	stepTime = 5 * time.Second
)

// meaning is the model that texts are compared by, and what it made of them.
type meaning struct {
	client  *llm.Client
	of      config.Embedding
	vectors *search.Vectors
	now     func() time.Time
}

// Model is for search.Embedder. Vectors that are cut elsewhere are those of another
// model: nothing can be compared across the two.
func (m *meaning) Model() string {
	if m.of.Numbers == 0 {
		return m.of.Model
	}
	return fmt.Sprintf("%s, %d numbers", m.of.Model, m.of.Numbers)
}

// Embed is for search.Embedder.
func (m *meaning) Embed(ctx context.Context, texts []string) ([][]float32, *int64, error) {
	v, err := m.client.Embed(ctx, texts)
	if llm.KindOf(err) == llm.Rejected {
		err = fmt.Errorf("%w: %w", search.ErrNotTaken, err)
	}
	if n := m.of.Numbers; n > 0 {
		for i, one := range v.Of {
			v.Of[i] = one[:min(n, len(one))]
		}
	}
	return v.Of, v.Tokens, err
}

func (m *meaning) meter() search.Meter { return search.Meter{Now: m.now, Limit: m.of.DayTokens} }

func (m *meaning) close() { m.client.Close(); _ = m.vectors.Close() }

// configured is the configuration of a checkout, also where it was found without one.
func configured(p *project.Checkout) (*config.Config, error) {
	if p.Config != nil {
		return p.Config, nil
	}
	cfg, _, err := config.Load(config.Sources{ProjectDir: p.Base.RepoRoot, UserFile: config.UserFile(p.Environ), Environ: p.Environ})
	return cfg, err
}

// meaningOf opens what texts are compared by; nil where no model is configured for
// it, which then is asked nothing.
func meaningOf(ctx context.Context, p *project.Checkout) (*meaning, error) {
	cfg, err := configured(p)
	if err != nil {
		return nil, errors.New("the configuration cannot be read: forge config check says why")
	}
	of, err := cfg.Embedding()
	if of.Model == "" {
		return nil, err
	}
	with := *p
	with.Config = cfg
	client, err := with.Model()
	if client == nil {
		return nil, err
	}
	vectors, err := search.OpenVectors(ctx, vectorFile(p))
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("%w (forge search --rebuild makes them anew)", err)
	}
	return &meaning{client: client, of: of, vectors: vectors, now: p.Now}, nil
}

// wordsAlone is what is said with results that were found by words alone; "" of no error.
func wordsAlone(err error) string {
	var trouble *llm.Trouble
	switch {
	case err == nil:
		return ""
	case errors.Is(err, search.ErrCap):
		return "Found by words alone: " + search.ErrCap.Error() + " (llm.embedding_day_tokens)."
	case errors.As(err, &trouble):
		said := "Found by words alone: the model of embeddings cannot be asked: " + trouble.What
		if trouble.Fix != "" {
			said += "; " + trouble.Fix
		}
		return text.OneLine(said+".", 400)
	}
	return text.OneLine("Found by words alone: "+err.Error()+".", 400)
}

// fill has vectors made until then, or of all texts where it is zero.
func (f *Finder) fill(ctx context.Context, until time.Time) error {
	m, err := f.meaning(ctx)
	if m == nil || err != nil {
		return err
	}
	meter := m.meter()
	if meter.Until = until; !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, until.Sub(m.now())+stepTime)
		defer cancel()
	}
	return m.vectors.Fill(ctx, f.index, m, meter, f.file)
}

// Fill has vectors made of the texts that have none, where a model is configured for
// it. What keeps it from that is logged; nothing else rests on it.
func (f *Finder) Fill(ctx context.Context) {
	if err := f.fill(ctx, time.Time{}); err != nil && ctx.Err() == nil {
		f.p.Log.Warn(wordsAlone(err))
	}
}

// near is what a question means, where that can be had, and else what to say.
func (f *Finder) near(ctx context.Context, q search.Query) (*search.Near, string) {
	if q.Meaning() == "" {
		return nil, ""
	}
	if f.away != "" {
		return nil, f.away
	}
	m, err := f.meaning(ctx)
	if m == nil || err != nil {
		return nil, wordsAlone(err)
	}
	asking, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	near, err := m.vectors.Near(asking, m, m.meter(), q)
	if err != nil {
		return nil, wordsAlone(err)
	}
	left, err := m.vectors.Left(ctx, f.index, m.Model())
	switch {
	case err != nil:
		return nil, wordsAlone(err)
	case left > 0:
		return near, text.Number(left, "text") + " had no vectors yet and were compared by words alone."
	}
	return near, ""
}

// AtEnd reads what a run left that froze or ended, so that it is found by what it
// means when somebody asks; without a model for that, asking is soon enough. What
// fails is logged.
func AtEnd(ctx context.Context, p *project.Checkout) {
	if p.Config == nil {
		return
	}
	if of, err := p.Config.Embedding(); of.Model == "" || err != nil {
		return
	}
	f, err := Open(ctx, p)
	if err != nil {
		p.Log.Warn("read the run for the search", "err", err)
		return
	}
	defer f.Close()
	if _, err := f.Gather(ctx); err != nil {
		p.Log.Warn("read the run for the search", "err", err)
		return
	}
	if err := f.fill(ctx, p.Now().Add(endTime)); err != nil {
		p.Log.Warn(wordsAlone(err))
	}
}
