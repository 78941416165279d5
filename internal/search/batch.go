package search

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Piece is a text to be found.
type Piece struct {
	Source string // by which it is taken away and read again
	Kind   Kind
	Run    string
	Phase  string
	Path   string // where it stands: a file, a document, the number of an event or issue
	Who    string
	At     time.Time
	Body   string
}

// Place is where a file stands whose text is in the index under its source.
type Place struct {
	Source, Path, Run, Phase string
	Held                     string // the commit that holds it
	At                       time.Time
}

// Batch is what is written together.
type Batch struct {
	tx  *sql.Tx
	ctx context.Context

	ready  map[string]*sql.Stmt // what is done again and again is read by SQLite once
	last   string               // the source that was named last, whose id is lastID
	lastID int64
	nextID int64 // of the next new source; 0 = not known yet
	added  bool
	chunks []chunked // that were added, and are written together
}

// chunked is a chunk by its hash, and the piece that has it.
type chunked struct{ hash, piece int64 }

// Write writes what do gives, or nothing of it.
func (i *Index) Write(ctx context.Context, do func(*Batch) error) error {
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write the search index: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	b := &Batch{tx: tx, ctx: ctx, ready: map[string]*sql.Stmt{}}
	if err := do(b); err != nil {
		return err
	}
	if err := b.writeChunks(); err != nil {
		return err
	}
	if b.added {
		if err := b.SetMark(markWritten, rand.Int64()); err != nil { //nolint:gosec // it only has to be another one
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write the search index: %w", err)
	}
	return nil
}

// Mark is how far a source was read, as nobody else changes it meanwhile.
func (b *Batch) Mark(source string) (mark int64, err error) {
	err = b.tx.QueryRowContext(b.ctx, "SELECT mark FROM mark WHERE source=?", source).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return mark, err
}

// SetMark notes how far a source was read.
func (b *Batch) SetMark(source string, mark int64) error {
	return b.exec("INSERT INTO mark(source, mark) VALUES(?, ?) ON CONFLICT(source) DO UPDATE SET mark=excluded.mark", source, mark)
}

// Add adds a text.
func (b *Batch) Add(p Piece) error { return b.add(p, p.Path, true) }

// AddFile adds the text of a file, which is not kept here. It is also found by
// the words of the path that it was first seen under.
func (b *Batch) AddFile(source, path, body string) error {
	return b.add(Piece{Source: source, Kind: KindFile, Body: body}, path, false)
}

// add adds a text that is found by the words of a path too. That of a file is not kept
// with its pieces: where it stands is said by its places.
func (b *Batch) add(p Piece, path string, keep bool) error {
	source, err := b.source(p.Source)
	if err != nil {
		return err
	}
	for _, c := range pieces(p.Body) {
		b.added = true
		kept := ""
		if keep {
			kept = c.body
		}
		res, err := b.do("INSERT INTO piece(source, kind, run, phase, path, who, at, line, lines, body) VALUES(?,?,?,?,?,?,?,?,?,?)",
			source, p.Kind, p.Run, p.Phase, p.Path, p.Who, stamp(p.At), c.line, c.lines, kept)
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return fmt.Errorf("write the search index: %w", err)
		}
		if err := b.exec("INSERT INTO word(rowid, body, parts, path) VALUES(?,?,?,?)", id, c.body, partsOf(c.body), path+" "+partsOf(path)); err != nil {
			return err
		}
		for _, one := range chunks(c.body) {
			b.chunks = append(b.chunks, chunked{hashOf(one.body), id})
		}
	}
	return nil
}

// writeChunks writes the hashes of what was added, in their order: else half of the
// room between them would stay empty.
func (b *Batch) writeChunks() error {
	slices.SortFunc(b.chunks, func(a, b chunked) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.piece, b.piece)) })
	for _, one := range b.chunks {
		// One piece may have a text twice.
		if err := b.exec("INSERT OR IGNORE INTO chunk(hash, piece) VALUES(?, ?)", one.hash, one.piece); err != nil {
			return err
		}
	}
	b.chunks = nil
	return nil
}

// source is the number of a source, which stands with each of its pieces in place of
// its name.
func (b *Batch) source(name string) (int64, error) {
	if name == b.last && name != "" {
		return b.lastID, nil
	}
	var id int64
	err := b.tx.QueryRowContext(b.ctx, "SELECT id FROM source WHERE name=?", name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		id, err = b.newSource(name)
	}
	if err != nil {
		return 0, fmt.Errorf("write the search index: %w", err)
	}
	b.last, b.lastID = name, id
	return id, nil
}

// newSource gives a source the number after the highest, which one query a batch finds:
// the table has its names alone in order.
func (b *Batch) newSource(name string) (int64, error) {
	if b.nextID == 0 {
		if err := b.tx.QueryRowContext(b.ctx, "SELECT coalesce(max(id), 0) + 1 FROM source").Scan(&b.nextID); err != nil {
			return 0, err
		}
	}
	id := b.nextID
	b.nextID++
	return id, b.exec("INSERT INTO source(name, id) VALUES(?, ?)", name, id)
}

// Drop takes the texts of a source away that were added by Add.
func (b *Batch) Drop(source string) error {
	id, err := b.source(source)
	if err != nil {
		return err
	}
	gone, err := b.keptChunks(id)
	if err != nil || len(gone) == 0 {
		return err
	}
	if err := b.writeChunks(); err != nil { // some of them may be of this batch
		return err
	}
	for _, one := range gone {
		if err := b.exec("DELETE FROM chunk WHERE hash=? AND piece=?", one.hash, one.piece); err != nil {
			return err
		}
	}
	if err := b.exec("DELETE FROM word WHERE rowid IN (SELECT id FROM piece WHERE source=?)", id); err != nil {
		return err
	}
	return b.exec("DELETE FROM piece WHERE source=?", id)
}

// keptChunks are the chunks of a source whose texts are kept.
func (b *Batch) keptChunks(source int64) (out []chunked, err error) {
	rows, err := b.tx.QueryContext(b.ctx, "SELECT id, body FROM piece WHERE source=?", source)
	if err != nil {
		return nil, fmt.Errorf("write the search index: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var body string
		if err := rows.Scan(&id, &body); err != nil {
			return nil, fmt.Errorf("write the search index: %w", err)
		}
		for _, one := range chunks(body) {
			out = append(out, chunked{hashOf(one.body), id})
		}
	}
	return out, rows.Err()
}

// unplace looks at the places of a text, which are few. Without the plus signs SQLite
// goes through those of the run, which are as many as it has files.
const unplace = "DELETE FROM place WHERE source=? AND path=? AND +run=? AND +phase=?"

// Put notes where a file stands.
func (b *Batch) Put(p Place) error {
	id, err := b.source(p.Source)
	if err != nil {
		return err
	}
	if err := b.exec(unplace, id, p.Path, p.Run, p.Phase); err != nil {
		return err
	}
	return b.exec("INSERT INTO place(source, path, run, phase, held, at) VALUES(?,?,?,?,?,?)", id, p.Path, p.Run, p.Phase, p.Held, stamp(p.At))
}

// Clear forgets where the files of a run's phase stood; what stands nowhere any
// more is found no more.
func (b *Batch) Clear(run, phase string) error {
	return b.exec("DELETE FROM place WHERE run=? AND phase=?", run, phase)
}

// Forget takes away how far the sources were read whose names begin so.
func (b *Batch) Forget(prefix string) error {
	return b.exec("DELETE FROM mark WHERE substr(source, 1, length(?1)) = ?1", prefix)
}

// Prune takes the files away that stand nowhere any more, of those whose sources
// begin so.
func (b *Batch) Prune(prefix string) error {
	if err := b.writeChunks(); err != nil {
		return err
	}
	const lost = "FROM source WHERE substr(name, 1, length(?1)) = ?1 AND id NOT IN (SELECT source FROM place)"
	for _, query := range []string{
		"DELETE FROM word WHERE rowid IN (SELECT id FROM piece WHERE source IN (SELECT id " + lost + "))",
		"DELETE FROM chunk WHERE piece IN (SELECT id FROM piece WHERE source IN (SELECT id " + lost + "))",
		"DELETE FROM piece WHERE source IN (SELECT id " + lost + ")",
		"DELETE FROM mark WHERE source IN (SELECT name " + lost + ")",
		"DELETE " + lost,
	} {
		if err := b.exec(query, prefix); err != nil {
			return err
		}
	}
	b.last = ""
	return nil
}

// Has says whether a source was read.
func (b *Batch) Has(source string) (bool, error) {
	mark, err := b.Mark(source)
	return mark > 0, err
}

func (b *Batch) exec(query string, args ...any) error {
	_, err := b.do(query, args...)
	return err
}

func (b *Batch) do(query string, args ...any) (sql.Result, error) {
	stmt := b.ready[query]
	if stmt == nil {
		var err error
		if stmt, err = b.tx.PrepareContext(b.ctx, query); err != nil {
			return nil, fmt.Errorf("write the search index: %w", err)
		}
		b.ready[query] = stmt // closed with the transaction
	}
	res, err := stmt.ExecContext(b.ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("write the search index: %w", err)
	}
	return res, nil
}
