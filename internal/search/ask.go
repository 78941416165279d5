package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"forge/internal/text"
)

// Hit is a place where something of what was asked for stands.
type Hit struct {
	Kind    Kind       `json:"kind"`
	Run     string     `json:"run,omitempty"`
	Phase   string     `json:"phase,omitempty"`
	Path    string     `json:"path,omitempty"` // a file, a document, the number of an event or issue
	Line    int        `json:"line,omitempty"` // of a file or document, from 1
	Commit  string     `json:"commit,omitempty"`
	Who     string     `json:"who,omitempty"`
	At      *time.Time `json:"at,omitempty"`
	Excerpt string     `json:"excerpt"`

	id     int64
	source int64
	lines  int
	hash   int64 // of the chunk that was found by what it means; 0 = the whole piece was found
}

// Found is an answer: what was found, the best first.
type Found struct {
	Hits   []Hit
	Partly bool   // not everything was read yet
	Note   string // what people are told beside it, such as that a model could not be asked; "" = nothing
}

// Files reads a file of a commit.
type Files func(ctx context.Context, commit, path string) (string, error)

// Ask answers a question, the best first: where all of it stands, then where some
// of it does.
func (i *Index) Ask(ctx context.Context, q Query, files Files) ([]Hit, error) {
	return i.AskNear(ctx, q, nil, files)
}

// deep is how far down the ranking by meaning counts beside that by words.
const deep = 60

// AskNear is Ask that also finds what means the same in other words, where near is
// not nil. What several rankings have high up comes first.
func (i *Index) AskNear(ctx context.Context, q Query, near *Near, files Files) ([]Hit, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = fewHits
	}
	limit = min(limit, MaxHits)
	rankings, err := i.rank(ctx, q, near, limit)
	if err != nil {
		return nil, err
	}
	hits := spread(fuse(rankings))
	hits = hits[:min(len(hits), limit)]
	for n := range hits {
		if err := hits[n].read(ctx, q, files); err != nil {
			return nil, err
		}
	}
	return hits, nil
}

// rank is what a question finds by its words, and by what it means where near is not
// nil. The two know nothing of each other, and go beside each other.
func (i *Index) rank(ctx context.Context, q Query, near *Near, limit int) ([][]Hit, error) {
	if near == nil {
		words, err := i.byWords(ctx, q, limit)
		return [][]Hit{words}, err
	}
	var meant []Hit
	var unheard error
	over := make(chan struct{})
	go func() {
		defer close(over)
		meant, unheard = i.byMeaning(ctx, q, near, max(limit, deep))
	}()
	words, err := i.byWords(ctx, q, limit)
	<-over
	return [][]Hit{words, meant}, cmp.Or(err, unheard)
}

// fuse puts rankings together by the places in them alone, since what they rank by
// cannot be compared: one over its place, damped so that the first places of one
// ranking do not decide alone (reciprocal rank fusion).
func fuse(rankings [][]Hit) []Hit {
	const damping = 60
	score := map[int64]float64{}
	var hits []Hit
	for _, ranking := range rankings {
		here := map[int64]bool{} // of a piece the chunk counts that fits best
		for _, h := range ranking {
			if here[h.id] {
				continue
			}
			if score[h.id] == 0 {
				hits = append(hits, h)
			}
			score[h.id] += 1 / float64(damping+len(here))
			here[h.id] = true
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(score[b.id], score[a.id]) })
	return hits
}

// spread lets no text fill a page alone: what comes third of one is put after what
// comes first and second of all others.
func spread(hits []Hit) []Hit {
	const most = 2
	seen := map[string]int{}
	var first, later []Hit
	for _, h := range hits {
		// Events and findings of one run are texts of their own.
		key := fmt.Sprint(h.source, h.Path)
		if seen[key]++; seen[key] > most {
			later = append(later, h)
		} else {
			first = append(first, h)
		}
	}
	return slices.Concat([]Hit{}, first, later)
}

// byWords are the pieces that fit a question's words, the best first.
func (i *Index) byWords(ctx context.Context, q Query, limit int) ([]Hit, error) {
	var hits []Hit
	seen := map[int64]bool{}
	for _, match := range q.matches() {
		if len(hits) >= limit {
			break
		}
		more, err := i.matching(ctx, q, match, limit)
		if err != nil {
			return nil, err
		}
		for _, h := range more {
			if len(hits) < limit && !seen[h.id] {
				seen[h.id] = true
				hits = append(hits, h)
			}
		}
	}
	return hits, nil
}

// columns of a hit, as scan reads them. Of a file that stands in several places the
// one that was seen last counts: with one max() SQLite takes the other columns from
// its row.
const columns = `p.id, p.source, p.kind, coalesce(f.run, p.run), coalesce(f.phase, p.phase), coalesce(f.path, p.path), p.who, max(coalesce(f.at, p.at)),
  p.line, p.lines, p.body, coalesce(f.held, '')`

// placed joins pieces with the places of files; a file that stands nowhere any more
// is not found.
const placed = `LEFT JOIN place AS f ON p.kind = 'file' AND f.source = p.source WHERE (p.kind <> 'file' OR f.source IS NOT NULL)`

// matching are the best pieces for a question as FTS5 reads it. Few of them are
// looked at first: to join every piece with a frequent word costs a hundred times
// what ranking them does.
func (i *Index) matching(ctx context.Context, q Query, match string, limit int) ([]Hit, error) {
	where, args := q.where()
	for _, few := range []int{4 * limit, -1} {
		hits, err := i.hits(ctx, `
WITH w AS MATERIALIZED (SELECT rowid AS id, rank AS score FROM word WHERE word MATCH ? AND rank MATCH 'bm25(1.0, 0.4, 2.0)' ORDER BY rank LIMIT ?)
SELECT `+columns+`, 0
FROM w JOIN piece AS p ON p.id = w.id `+placed+where+` GROUP BY p.id ORDER BY w.score, p.id LIMIT ?`,
			slices.Concat([]any{match, few}, args, []any{limit})...)
		if err != nil || len(hits) >= limit {
			return hits, err
		}
		if few < 0 {
			return hits, nil
		}
		var all int
		if err := i.db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM word WHERE word MATCH ? LIMIT ?)", match, few+1).Scan(&all); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		if all <= few {
			return hits, nil
		}
	}
	return nil, nil
}

// hits are the rows of a question that asks for columns and the hash of a chunk.
func (i *Index) hits(ctx context.Context, query string, args ...any) ([]Hit, error) {
	rows, err := i.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer rows.Close()
	var out []Hit
	for rows.Next() {
		var h Hit
		var at int64
		if err := rows.Scan(&h.id, &h.source, &h.Kind, &h.Run, &h.Phase, &h.Path, &h.Who, &at, &h.Line, &h.lines, &h.Excerpt, &h.Commit, &h.hash); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		if at != 0 {
			t := time.UnixMilli(at).UTC()
			h.At = &t
		}
		out = append(out, h)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return out, nil
}

// where is what narrows a question.
func (q Query) where() (where string, args []any) {
	add := func(clause string, values ...any) {
		where += " AND " + clause
		args = append(args, values...)
	}
	if len(q.Kinds) > 0 {
		var marks []string
		var values []any
		for _, k := range q.Kinds {
			marks, values = append(marks, "?"), append(values, k)
		}
		add("p.kind IN ("+strings.Join(marks, ",")+")", values...)
	}
	if q.Run != "" {
		add("coalesce(f.run, p.run) = ?", q.Run)
	}
	if q.Phase != "" {
		add("coalesce(f.phase, p.phase) = ?", q.Phase)
	}
	if q.Path != "" {
		add("coalesce(f.path, p.path) GLOB ?", q.Path)
	}
	if q.Who != "" {
		add("instr(lower(p.who), lower(?)) > 0", q.Who)
	}
	if !q.Since.IsZero() {
		add("coalesce(f.at, p.at) >= ?", stamp(q.Since))
	}
	if !q.Until.IsZero() {
		add("coalesce(f.at, p.at) < ?", stamp(q.Until))
	}
	return where, args
}

// read makes the excerpt of a hit. A file that cannot be read any more is named
// without one.
func (h *Hit) read(ctx context.Context, q Query, files Files) error {
	body, ok, err := h.body(ctx, files)
	if err != nil {
		return err
	}
	if !ok {
		h.Excerpt = ""
		return nil
	}
	if c, is := chunkOf(body, h.hash); is {
		body, h.Line = c.body, h.Line+c.line-1
	}
	said, before := q.excerpt(body)
	h.Excerpt = said
	h.Line += before
	if h.Kind != KindFile && h.Kind != KindDocument {
		h.Line = 0
	}
	return nil
}

// body is the text of a piece; ok is false where it cannot be read any more.
func (h *Hit) body(ctx context.Context, files Files) (body string, ok bool, err error) {
	if h.Kind != KindFile {
		return h.Excerpt, true, nil
	}
	whole, err := files(ctx, h.Commit, h.Path)
	if err != nil {
		return "", false, ctx.Err()
	}
	lines := strings.SplitAfter(whole, "\n")
	from := min(h.Line-1, len(lines))
	return strings.Join(lines[from:min(from+h.lines, len(lines))], ""), true, nil
}

// chunkOf is the chunk of a piece that has a hash.
func chunkOf(body string, hash int64) (c chunk, is bool) {
	if hash == 0 {
		return c, false
	}
	all := chunks(body)
	at := slices.IndexFunc(all, func(c chunk) bool { return hashOf(c.body) == hash })
	if at < 0 {
		return c, false
	}
	return all[at], true
}

// Where says in one line what was found and where it stands.
func (h Hit) Where() string {
	parts := []string{string(h.Kind)}
	if h.Path != "" {
		where := h.Path
		if h.Line > 0 {
			where = fmt.Sprintf("%s:%d", where, h.Line)
		}
		parts = append(parts, text.OneLine(where, excerptRunes))
	}
	if h.Run != "" {
		parts = append(parts, "run "+h.Run)
	}
	if h.Phase != "" {
		parts = append(parts, "phase "+h.Phase)
	}
	if h.Who != "" {
		parts = append(parts, "by "+text.OneLine(h.Who, 80))
	}
	if h.At != nil {
		parts = append(parts, h.At.Format("2006-01-02 15:04"))
	}
	return strings.Join(parts, "  ")
}
