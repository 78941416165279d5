package search

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"modernc.org/sqlite"
)

// schema is what the index is made of. word holds no text: bodies that cannot be
// read again elsewhere stand in piece, those of files with whoever keeps them. A piece
// has several chunks in a row, since every word costs its bytes once for each piece
// that has it; chunk has their hashes, by which there are vectors.
//
// What is written at once goes into one segment of word up to hashsize bytes, since
// segments that are merged later leave pages behind that nobody uses. A leaf of word is
// four pages of the file long (pgsz): each begins with a whole word and a whole number.
const schema = `
CREATE TABLE source(name TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE piece(
  id INTEGER PRIMARY KEY, source INTEGER NOT NULL, kind TEXT NOT NULL, run TEXT NOT NULL, phase TEXT NOT NULL, path TEXT NOT NULL,
  who TEXT NOT NULL, at INTEGER NOT NULL, line INTEGER NOT NULL, lines INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX piece_source ON piece(source);
CREATE TABLE chunk(hash INTEGER NOT NULL, piece INTEGER NOT NULL, PRIMARY KEY(hash, piece)) WITHOUT ROWID;
CREATE TABLE place(source INTEGER NOT NULL, path TEXT NOT NULL, run TEXT NOT NULL, phase TEXT NOT NULL, held TEXT NOT NULL, at INTEGER NOT NULL);
CREATE INDEX place_source ON place(source);
CREATE INDEX place_run ON place(run, phase);
CREATE TABLE mark(source TEXT PRIMARY KEY, mark INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE word USING fts5(body, parts, path, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2');
INSERT INTO word(word, rank) VALUES('hashsize', 67108864), ('pgsz', 16300);`

const schemaVersion = 3

// Index is an index in a file.
type Index struct{ db *sql.DB }

// Open opens the index in a file, or makes it. One of another version, or one that
// cannot be read, is made anew: all that is in it can be read again elsewhere.
func Open(ctx context.Context, path string) (*Index, error) {
	db, err := dial(ctx, path, schema, schemaVersion, nil)
	if err != nil && ctx.Err() == nil {
		if err := Remove(path); err != nil {
			return nil, err
		}
		db, err = dial(ctx, path, schema, schemaVersion, nil)
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

// upgrade makes what stands in a file of an older version what this one writes. It is
// false where it does not know that version.
type upgrade func(ctx context.Context, tx *sql.Tx, from int) (bool, error)

// dial opens a database in a file and makes its tables, once, whoever comes first.
// older is asked about one that is there already; nil = none can be gone on with.
func dial(ctx context.Context, path, schema string, version int, older upgrade) (*sql.DB, error) {
	file := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": {
		"busy_timeout(20000)", "journal_mode(wal)", "synchronous(normal)", "trusted_schema(0)", "secure_delete(0)",
	}, "_txlock": {"immediate"}}.Encode()}
	connector, err := sqlite.NewConnector(file.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if err := prepare(ctx, db, schema, version, older); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func prepare(ctx context.Context, db *sql.DB, schema string, want int, older upgrade) error {
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
		return renew(ctx, tx, version, want, older)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("%s\nPRAGMA user_version=%d;", schema, want)); err != nil {
		return err
	}
	return tx.Commit()
}

// renew writes a file of an older version as one of this version.
func renew(ctx context.Context, tx *sql.Tx, version, want int, older upgrade) error {
	known := false
	if older != nil && version < want {
		var err error
		if known, err = older(ctx, tx, version); err != nil {
			return fmt.Errorf("renew it from version %d: %w", version, err)
		}
	}
	if !known {
		return fmt.Errorf("it is of version %d", version)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", want)); err != nil {
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

// hashes are the chunks of the index by their hash, with one piece that has each.
func (i *Index) hashes(ctx context.Context) (map[int64]int64, error) {
	rows, err := i.db.QueryContext(ctx, "SELECT hash, min(piece) FROM chunk GROUP BY hash")
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

// querier is a database, or a transaction on one.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// ints are the numbers that a question gives.
func ints(ctx context.Context, db querier, query string, args ...any) ([]int64, error) {
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
