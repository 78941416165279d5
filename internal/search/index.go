package search

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"
)

// schema is what the index is made of. word holds no text: bodies that cannot be
// read again elsewhere stand in piece, those of files with whoever keeps them.
const schema = `
CREATE TABLE source(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE piece(
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, kind TEXT NOT NULL, run TEXT NOT NULL, phase TEXT NOT NULL, path TEXT NOT NULL,
  who TEXT NOT NULL, at INTEGER NOT NULL, line INTEGER NOT NULL, lines INTEGER NOT NULL, hash INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX piece_source ON piece(source);
CREATE INDEX piece_hash ON piece(hash);
CREATE TABLE place(source INTEGER NOT NULL, path TEXT NOT NULL, run TEXT NOT NULL, phase TEXT NOT NULL, held TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(source, path, run, phase)) WITHOUT ROWID;
CREATE INDEX place_run ON place(run, phase);
CREATE TABLE mark(source TEXT PRIMARY KEY, mark INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE word USING fts5(body, parts, path, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');`

const schemaVersion = 2

// Index is an index in a file.
type Index struct{ db *sql.DB }

// Open opens the index in a file, or makes it. One of another version, or one that
// cannot be read, is made anew: all that is in it can be read again elsewhere.
func Open(ctx context.Context, path string) (*Index, error) {
	db, err := dial(ctx, path, schema, schemaVersion)
	if err != nil && ctx.Err() == nil {
		if err := Remove(path); err != nil {
			return nil, err
		}
		db, err = dial(ctx, path, schema, schemaVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("open the search index %s: %w", path, err)
	}
	return &Index{db: db}, nil
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

// dial opens a database in a file and makes its tables, once, whoever comes first.
func dial(ctx context.Context, path, schema string, version int) (*sql.DB, error) {
	file := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": {
		"busy_timeout(20000)", "journal_mode(wal)", "synchronous(normal)", "trusted_schema(0)", "secure_delete(0)",
	}, "_txlock": {"immediate"}}.Encode()}
	connector, err := sqlite.NewConnector(file.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if err := prepare(ctx, db, schema, version); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func prepare(ctx context.Context, db *sql.DB, schema string, want int) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version == want {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil || version == want {
		return err
	}
	if version != 0 {
		return fmt.Errorf("it is of version %d", version)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("%s\nPRAGMA user_version=%d;", schema, want)); err != nil {
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

// markWritten is another number whenever texts were added.
const markWritten = "written"

// hashes are the texts of the index by their hash, with one piece of each.
func (i *Index) hashes(ctx context.Context) (map[int64]int64, error) {
	rows, err := i.db.QueryContext(ctx, "SELECT hash, min(id) FROM piece GROUP BY hash")
	if err != nil {
		return nil, fmt.Errorf("read the search index: %w", err)
	}
	defer rows.Close()
	out := map[int64]int64{}
	for rows.Next() {
		var hash, id int64
		if err := rows.Scan(&hash, &id); err != nil {
			return nil, fmt.Errorf("read the search index: %w", err)
		}
		out[hash] = id
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the search index: %w", err)
	}
	return out, nil
}

// ints are the numbers that a question gives.
func ints(ctx context.Context, db *sql.DB, query string, args ...any) ([]int64, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []int64{}
	for rows.Next() {
		var one int64
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, rows.Err()
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

	ready  map[string]*sql.Stmt // what is done again and again is read by SQLite once
	last   string               // the source that was named last, whose id is lastID
	lastID int64
	added  bool
}

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
func (b *Batch) Add(p Piece) error { return b.add(p, true) }

// AddFile adds the text of a file, which is not kept here. It is also found by
// the words of the path that it was first seen under.
func (b *Batch) AddFile(source, path, body string) error {
	return b.add(Piece{Source: source, Kind: KindFile, Path: path, Body: body}, false)
}

func (b *Batch) add(p Piece, keep bool) error {
	source, err := b.source(p.Source)
	if err != nil {
		return err
	}
	for _, c := range chunks(p.Body) {
		b.added = true
		kept := ""
		if keep {
			kept = c.body
		}
		res, err := b.do("INSERT INTO piece(source, kind, run, phase, path, who, at, line, lines, hash, body) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
			source, p.Kind, p.Run, p.Phase, p.Path, p.Who, stamp(p.At), c.line, c.lines, hashOf(c.body), kept)
		if err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return fmt.Errorf("write the search index: %w", err)
		}
		if err := b.exec("INSERT INTO word(rowid, body, parts, path) VALUES(?,?,?,?)", id, c.body, partsOf(c.body), p.Path+" "+partsOf(p.Path)); err != nil {
			return err
		}
	}
	return nil
}

// source is the number of a source, which stands with each of its pieces in place of
// its name.
func (b *Batch) source(name string) (int64, error) {
	if name == b.last && name != "" {
		return b.lastID, nil
	}
	if err := b.exec("INSERT INTO source(name) VALUES(?) ON CONFLICT(name) DO NOTHING", name); err != nil {
		return 0, err
	}
	if err := b.tx.QueryRowContext(b.ctx, "SELECT id FROM source WHERE name=?", name).Scan(&b.lastID); err != nil {
		return 0, fmt.Errorf("write the search index: %w", err)
	}
	b.last = name
	return b.lastID, nil
}

// Drop takes the texts of a source away.
func (b *Batch) Drop(source string) error {
	id, err := b.source(source)
	if err != nil {
		return err
	}
	if err := b.exec("DELETE FROM word WHERE rowid IN (SELECT id FROM piece WHERE source=?)", id); err != nil {
		return err
	}
	return b.exec("DELETE FROM piece WHERE source=?", id)
}

// Put notes where a file stands.
func (b *Batch) Put(p Place) error {
	id, err := b.source(p.Source)
	if err != nil {
		return err
	}
	return b.exec("INSERT OR REPLACE INTO place(source, path, run, phase, held, at) VALUES(?,?,?,?,?,?)", id, p.Path, p.Run, p.Phase, p.Held, stamp(p.At))
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
	const lost = "FROM source WHERE substr(name, 1, length(?1)) = ?1 AND id NOT IN (SELECT source FROM place)"
	for _, query := range []string{
		"DELETE FROM word WHERE rowid IN (SELECT id FROM piece WHERE source IN (SELECT id " + lost + "))",
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

// hashOf tells texts apart. 64 bits do: two texts of one project that share them
// would be taken for neighbours of each other, and no more.
func hashOf(body string) int64 {
	sum := sha256.Sum256([]byte(body))
	return int64(binary.LittleEndian.Uint64(sum[:])) //nolint:gosec // all of its bits, in the type that SQLite has
}

func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
