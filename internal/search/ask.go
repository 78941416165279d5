package search

import (
	"context"
	"fmt"
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
	source string
	lines  int
}

// Files reads a file of a commit.
type Files func(ctx context.Context, commit, path string) (string, error)

// Ask answers a question, the best first: where all of it stands, then where some
// of it does.
func (i *Index) Ask(ctx context.Context, q Query, files Files) ([]Hit, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = fewHits
	}
	limit = min(limit, MaxHits)
	hits := []Hit{}
	seen := map[int64]bool{}
	for _, all := range []bool{true, false} {
		if len(hits) >= limit || !all && len(q.Terms) < 2 {
			break
		}
		more, err := i.ask(ctx, q, all, limit+len(hits))
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
	for n := range hits {
		if err := hits[n].read(ctx, q, files); err != nil {
			return nil, err
		}
	}
	return hits, nil
}

// ask is one question with all of its terms, or any.
func (i *Index) ask(ctx context.Context, q Query, all bool, limit int) ([]Hit, error) {
	where, args := q.where()
	args = append([]any{q.match(all)}, args...)
	// Of a file that stands in several places the one that was seen last counts:
	// with one max() SQLite takes the other columns from its row.
	rows, err := i.db.QueryContext(ctx, `
WITH w AS MATERIALIZED (SELECT rowid AS id, bm25(word, 1.0, 0.4) AS score FROM word WHERE word MATCH ?)
SELECT p.id, p.source, p.kind, coalesce(f.run, p.run), coalesce(f.phase, p.phase), coalesce(f.path, p.path), p.who, max(coalesce(f.at, p.at)),
  p.line, p.lines, p.body, coalesce(f.held, ''), w.score
FROM w JOIN piece AS p ON p.id = w.id LEFT JOIN place AS f ON p.kind = 'file' AND f.source = p.source
WHERE (p.kind <> 'file' OR f.source IS NOT NULL)`+where+`
GROUP BY p.id ORDER BY w.score, p.id LIMIT ?`, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	defer rows.Close()
	var out []Hit
	for rows.Next() {
		var h Hit
		var at int64
		var score float64
		if err := rows.Scan(&h.id, &h.source, &h.Kind, &h.Run, &h.Phase, &h.Path, &h.Who, &at, &h.Line, &h.lines, &h.Excerpt, &h.Commit, &score); err != nil {
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
	body := h.Excerpt
	if h.Kind == KindFile {
		whole, err := files(ctx, h.Commit, h.Path)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			h.Excerpt = ""
			return nil
		}
		lines := strings.SplitAfter(whole, "\n")
		from := min(h.Line-1, len(lines))
		body = strings.Join(lines[from:min(from+h.lines, len(lines))], "")
	}
	said, before := q.excerpt(body)
	h.Excerpt = said
	h.Line += before
	if h.Kind != KindFile && h.Kind != KindDocument {
		h.Line = 0
	}
	return nil
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
