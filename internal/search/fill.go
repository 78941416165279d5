package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
)

// Embedder makes vectors of texts: one for each, in their order, all of one length.
// It wraps ErrNotTaken when the model does not take the texts as they are. tokens is
// what it cost, with an error too; nil = unknown.
type Embedder interface {
	Model() string
	Embed(ctx context.Context, texts []string) (vectors [][]float32, tokens *int64, err error)
}

// Errors of making vectors.
var (
	// ErrNotTaken says that a model does not take a text, such as one too long.
	ErrNotTaken = errors.New("the model does not take the text")
	// ErrCap says that the day's tokens are spent.
	ErrCap = errors.New("the day's cap on tokens for vectors is reached")
)

// Meter bounds what making vectors may cost.
type Meter struct {
	Now   func() time.Time
	Limit int64     // tokens of a day (UTC); 0 = no limit
	Until time.Time // no further batch begins after it; zero = any
}

const (
	batchTexts = 64
	batchBytes = 96 << 10
	mostText   = 6000 // bytes of one text that a model is given
	fillHold   = 5 * time.Minute
)

// embed makes vectors under the meter. Before the question as many tokens are
// counted as its texts can hardly exceed, after it what was said; what is not said
// is counted as one token for each byte, which no text has more of.
func (v *Vectors) embed(ctx context.Context, e Embedder, m Meter, texts []string) ([][]float32, error) {
	bytes := 0
	for _, one := range texts {
		bytes += len(one)
	}
	day, guess := m.Now().UTC().Format(time.DateOnly), int64(1+bytes/2)
	ok, err := v.reserve(ctx, day, guess, m.Limit)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrCap
	}
	vectors, tokens, failed := e.Embed(ctx, texts)
	spent := int64(bytes)
	if tokens != nil {
		spent = *tokens
	}
	if _, err := v.reserve(context.WithoutCancel(ctx), day, spent-guess, 0); err != nil {
		return nil, errors.Join(failed, err)
	}
	return vectors, failed
}

// Meaning is what a model is asked a question's vector of; "" where it is asked for
// words as they are alone.
func (q Query) Meaning() string {
	var words []string
	for _, t := range q.Terms {
		if t.Exact || t.Prefix {
			return ""
		}
		words = append(words, t.Words)
	}
	return strings.Join(words, " ")
}

// Near is a question's meaning beside the vectors; nil where it is asked for words
// alone, or there are no vectors of the model yet.
func (v *Vectors) Near(ctx context.Context, e Embedder, m Meter, q Query) (*Near, error) {
	meaning := q.Meaning()
	model, dims, err := v.Of(ctx)
	if err != nil || meaning == "" || model != e.Model() {
		return nil, err
	}
	vectors, err := v.embed(ctx, e, m, []string{meaning})
	if err != nil {
		return nil, err
	}
	if len(vectors[0]) != dims {
		return nil, fmt.Errorf("the model %s answers %d numbers, and its vectors have %d: forge search --rebuild makes them anew", text.OneLine(model, 80), len(vectors[0]), dims)
	}
	return &Near{Vectors: v, Vector: vectors[0]}, nil
}

// Renew drops the vectors where the model now answers others under the same name, as
// their length says: they cannot be compared any more.
func (v *Vectors) Renew(ctx context.Context, e Embedder, m Meter) error {
	model, dims, err := v.Of(ctx)
	if err != nil || model != e.Model() {
		return err
	}
	vectors, err := v.embed(ctx, e, m, []string{"word"})
	if err != nil || len(vectors[0]) == dims {
		return err
	}
	return v.put(ctx, model, len(vectors[0]), nil)
}

// Left is how many texts of an index have no vector of a model; 0 also where nothing
// was written since all had.
func (v *Vectors) Left(ctx context.Context, i *Index, model string) (int, error) {
	left, _, err := v.missing(ctx, i, model)
	return len(left), err
}

// missing are the chunks whose texts have no vector of a model, and up to which state
// of the index that holds.
func (v *Vectors) missing(ctx context.Context, i *Index, model string) (left []chunked, state int64, err error) {
	state, err = i.Mark(ctx, markWritten)
	if err != nil {
		return nil, 0, err
	}
	filled, err := v.state(ctx, "filled")
	if err != nil {
		return nil, 0, err
	}
	if of, _, err := v.Of(ctx); err != nil || of == model && filled == state {
		return nil, state, err
	}
	known, err := v.known(ctx, model)
	if err != nil {
		return nil, 0, err
	}
	wanted, err := i.hashes(ctx)
	if err != nil {
		return nil, 0, err
	}
	for hash, piece := range wanted {
		if !known[hash] {
			left = append(left, chunked{hash, piece})
		}
	}
	slices.SortFunc(left, func(a, b chunked) int { return cmp.Or(cmp.Compare(a.piece, b.piece), cmp.Compare(a.hash, b.hash)) })
	return left, state, nil
}

// Fill has vectors made of the texts that have none, batch by batch: what was made is
// kept when it is stopped on the way. Where somebody else does it, it does nothing.
func (v *Vectors) Fill(ctx context.Context, i *Index, e Embedder, m Meter, files Files) error {
	mine := rand.Int64() //nolint:gosec // it only has to differ from what others hold
	held := false
	defer func() {
		if held {
			_ = v.setState(context.WithoutCancel(ctx), "claim", 0) // else it lapses
		}
	}()
	var left []chunked
	var state int64
	for first := true; first || len(left) > 0; first = false {
		if !m.Until.IsZero() && m.Now().After(m.Until) {
			return nil
		}
		ok, until, err := v.claim(ctx, m.Now(), fillHold, mine)
		if err != nil || !ok {
			held = false
			return err
		}
		mine, held = until, true
		if first {
			if left, state, err = v.missing(ctx, i, e.Model()); err != nil {
				return err
			}
			continue
		}
		n, err := v.fillSome(ctx, i, e, m, files, left)
		if err != nil {
			return err
		}
		left = left[n:]
	}
	return v.setState(ctx, "filled", state)
}

// fillSome makes the vectors of the first chunks, as many as go together, and says
// how many those were.
func (v *Vectors) fillSome(ctx context.Context, i *Index, e Embedder, m Meter, files Files, left []chunked) (int, error) {
	some := left[:min(len(left), batchTexts)]
	texts, err := i.texts(ctx, some, files)
	if err != nil {
		return 0, err
	}
	var batch []hashedText
	size, taken := 0, 0
	for _, c := range some {
		one, is := texts[c.hash]
		if is && len(batch) > 0 && size+len(one) > batchBytes {
			break
		}
		taken++
		if is {
			batch, size = append(batch, hashedText{c.hash, one}), size+len(one)
		}
	}
	if len(batch) == 0 {
		return taken, nil
	}
	list, dims, err := v.makeAll(ctx, e, m, batch)
	if err != nil {
		return 0, err
	}
	return taken, v.put(ctx, e.Model(), dims, list)
}

// makeAll makes vectors of a batch. Where the model does not take it, it is halved;
// a single text that it does not take has none, unless it takes no other either.
func (v *Vectors) makeAll(ctx context.Context, e Embedder, m Meter, batch []hashedText) (list []madeVector, dims int, err error) {
	var said []string
	for _, one := range batch {
		said = append(said, one.text)
	}
	vectors, err := v.embed(ctx, e, m, said)
	switch {
	case err == nil && len(vectors) != len(batch):
		return nil, 0, fmt.Errorf("the model made %d vectors of %d texts", len(vectors), len(batch))
	case err == nil:
		for n, vector := range vectors {
			list = append(list, madeVector{batch[n].hash, vector})
		}
		return list, len(vectors[0]), nil
	case !errors.Is(err, ErrNotTaken) || len(batch) == 1:
		return nil, 0, err
	}
	for _, half := range [][]hashedText{batch[:len(batch)/2], batch[len(batch)/2:]} {
		some, long, failed := v.makeAll(ctx, e, m, half)
		switch {
		case failed == nil && dims != 0 && long != dims:
			return nil, 0, fmt.Errorf("the model answers %d numbers, then %d", dims, long)
		case failed == nil:
			list, dims = append(list, some...), long
		case errors.Is(failed, ErrNotTaken):
			for _, one := range half {
				list = append(list, madeVector{one.hash, nil})
			}
		default:
			return nil, 0, failed
		}
	}
	if dims == 0 {
		return nil, 0, err
	}
	return list, dims, nil
}

// hashedText is the text of a chunk as a model is given it.
type hashedText struct {
	hash int64
	text string
}

// texts reads chunks again, and gives them by their hashes; what cannot be read any more
// is left out.
func (i *Index) texts(ctx context.Context, some []chunked, files Files) (map[int64]string, error) {
	var ids []int64
	wanted := map[int64]bool{}
	for _, c := range some {
		ids = append(ids, c.piece)
		wanted[c.hash] = true
	}
	list := jsonOf(slices.Compact(ids))
	hits, err := i.hits(ctx, "SELECT "+columns+", 0 FROM piece AS p "+placed+" AND p.id IN (SELECT value FROM json_each(?)) GROUP BY p.id", list)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]string, len(some))
	last := remembered(files)
	for _, h := range hits {
		body, ok, err := h.body(ctx, last)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for _, c := range chunks(body) {
			if hash := hashOf(c.body); wanted[hash] {
				out[hash] = text.Cut(c.body, mostText)
			}
		}
	}
	return out, nil
}

// remembered reads each file once for all of its pieces, which follow each other.
func remembered(files Files) Files {
	var at, body string
	var failed error
	return func(ctx context.Context, commit, path string) (string, error) {
		if key := commit + ":" + path; key != at {
			body, failed = files(ctx, commit, path)
			at = key
		}
		return body, failed
	}
}

// jsonOf is a list as json_each reads it.
func jsonOf(ids []int64) string {
	out := []byte{'['}
	for n, id := range ids {
		if n > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, id, 10)
	}
	return string(append(out, ']'))
}
