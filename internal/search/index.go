package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"
)

// schema is what the index is made of. word holds no text: bodies that cannot be
// read again elsewhere stand in piece, those of files with whoever keeps them.
const schema = `
CREATE TABLE piece(
  id INTEGER PRIMARY KEY, source TEXT NOT NULL, kind TEXT NOT NULL, run TEXT NOT NULL, phase TEXT NOT NULL, path TEXT NOT NULL,
  who TEXT NOT NULL, at INTEGER NOT NULL, line INTEGER NOT NULL, lines INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX piece_source ON piece(source);
CREATE TABLE place(source TEXT NOT NULL, path TEXT NOT NULL, run TEXT NOT NULL, phase TEXT NOT NULL, held TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(source, path, run, phase)) WITHOUT ROWID;
CREATE INDEX place_run ON place(run, phase);
CREATE TABLE mark(source TEXT PRIMARY KEY, mark INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE word USING fts5(body, parts, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
PRAGMA user_version=1;`

// Index is an index in a file.
type Index struct {
	db   *sql.DB
	path string
}

// Open opens the index in a file, or makes it. One of another version, or one that
// cannot be read, is made anew: all that is in it can be read again elsewhere.
func Open(ctx context.Context, path string) (*Index, error) {
	i, err := dial(ctx, path)
	if err == nil {
		return i, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if err := Remove(path); err != nil {
		return nil, err
	}
	return dial(ctx, path)
}

// Remove takes an index away.
func Remove(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func dial(ctx context.Context, path string) (*Index, error) {
	file := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": {
		"busy_timeout(20000)", "journal_mode(wal)", "synchronous(normal)", "trusted_schema(0)", "secure_delete(0)",
	}, "_txlock": {"immediate"}}.Encode()}
	connector, err := sqlite.NewConnector(file.String())
	if err != nil {
		return nil, err
	}
	i := &Index{db: sql.OpenDB(connector), path: path}
	if err := i.prepare(ctx); err != nil {
		i.db.Close()
		return nil, fmt.Errorf("open the search index %s: %w", path, err)
	}
	return i, nil
}

// prepare makes the tables, once, whoever comes first.
func (i *Index) prepare(ctx context.Context) error {
	var version int
	if err := i.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version == 1 {
		return err
	}
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version == 1 {
		return err
	}
	if version != 0 {
		return fmt.Errorf("it is of version %d", version)
	}
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	return tx.Commit()
}

// Close closes it.
func (i *Index) Close() error { return i.db.Close() }

// Mark is how far a source was read; 0 = not at all.
func (i *Index) Mark(ctx context.Context, source string) (mark int64, err error) {
	err = i.db.QueryRowContext(ctx, "SELECT mark FROM mark WHERE source=?", source).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return mark, err
}

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
}

// Write writes what do gives, or nothing of it.
func (i *Index) Write(ctx context.Context, do func(*Batch) error) error {
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("write the search index: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	if err := do(&Batch{tx: tx, ctx: ctx}); err != nil {
		return err
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
func (b *Batch) Add(p Piece) error { return b.add(p, true) }

// AddFile adds the text of a file, which is not kept here.
func (b *Batch) AddFile(source, body string) error {
	return b.add(Piece{Source: source, Kind: KindFile, Body: body}, false)
}

func (b *Batch) add(p Piece, keep bool) error {
	for _, c := range chunks(p.Body) {
		kept := ""
		if keep {
			kept = c.body
		}
		res, err := b.tx.ExecContext(b.ctx, "INSERT INTO piece(source, kind, run, phase, path, who, at, line, lines, body) VALUES(?,?,?,?,?,?,?,?,?,?)",
			p.Source, p.Kind, p.Run, p.Phase, p.Path, p.Who, stamp(p.At), c.line, c.lines, kept)
		if err != nil {
			return fmt.Errorf("write the search index: %w", err)
		}
		id, err := res.LastInsertId()
		if err != nil {
			return fmt.Errorf("write the search index: %w", err)
		}
		if err := b.exec("INSERT INTO word(rowid, body, parts) VALUES(?,?,?)", id, c.body, partsOf(c.body)); err != nil {
			return err
		}
	}
	return nil
}

// Drop takes the texts of a source away.
func (b *Batch) Drop(source string) error {
	if err := b.exec("DELETE FROM word WHERE rowid IN (SELECT id FROM piece WHERE source=?)", source); err != nil {
		return err
	}
	return b.exec("DELETE FROM piece WHERE source=?", source)
}

// Put notes where a file stands.
func (b *Batch) Put(p Place) error {
	return b.exec("INSERT OR REPLACE INTO place(source, path, run, phase, held, at) VALUES(?,?,?,?,?,?)", p.Source, p.Path, p.Run, p.Phase, p.Held, stamp(p.At))
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
	const lost = "substr(source, 1, length(?1)) = ?1 AND source NOT IN (SELECT source FROM place)"
	if err := b.exec("DELETE FROM word WHERE rowid IN (SELECT id FROM piece WHERE "+lost+")", prefix); err != nil {
		return err
	}
	if err := b.exec("DELETE FROM piece WHERE "+lost, prefix); err != nil {
		return err
	}
	return b.exec("DELETE FROM mark WHERE "+lost, prefix)
}

// Has says whether a source was read.
func (b *Batch) Has(source string) (bool, error) {
	mark, err := b.Mark(source)
	return mark > 0, err
}

func (b *Batch) exec(query string, args ...any) error {
	if _, err := b.tx.ExecContext(b.ctx, query, args...); err != nil {
		return fmt.Errorf("write the search index: %w", err)
	}
	return nil
}

func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
