package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// vectorSchema is what vectors are kept in. They have a file of their own: the
// index can be made anew for nothing, and vectors were paid for.
//
// A vector stands twice: as whole numbers of one byte, and as the signs of its
// numbers, those of 1024 vectors in a row, since reading 100,000 rows takes SQLite
// a quarter of a second and reading 100 takes nothing. Ids are dense from 0, so
// that they say where in its block a vector is.
const vectorSchema = `
CREATE TABLE model(id INTEGER PRIMARY KEY CHECK(id = 1), name TEXT NOT NULL, dims INTEGER NOT NULL);
CREATE TABLE vector(id INTEGER PRIMARY KEY, hash INTEGER NOT NULL UNIQUE, code BLOB);
CREATE TABLE block(id INTEGER PRIMARY KEY, signs BLOB NOT NULL);
CREATE TABLE spent(day TEXT PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;`

const (
	vectorVersion = 1
	blockLen      = 1024
)

// Vectors are what a model made of texts, by their hash, in a file. One that cannot
// be read is an error: it is never made anew by itself.
type Vectors struct{ db *sql.DB }

// OpenVectors opens the vectors in a file, or makes it.
func OpenVectors(ctx context.Context, path string) (*Vectors, error) {
	db, err := dial(ctx, path, vectorSchema, vectorVersion)
	if err != nil {
		return nil, fmt.Errorf("open the vectors of the search %s: %w", path, err)
	}
	return &Vectors{db: db}, nil
}

// Close closes them.
func (v *Vectors) Close() error { return v.db.Close() }

// Of is the model that made them, and how many numbers each has; "" where there are
// none.
func (v *Vectors) Of(ctx context.Context) (model string, dims int, err error) {
	err = v.db.QueryRowContext(ctx, "SELECT name, dims FROM model").Scan(&model, &dims)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	return model, dims, v.trouble(err)
}

func (v *Vectors) trouble(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the vectors of the search: %w", err)
}

// write does what do does, or nothing of it.
func (v *Vectors) write(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := v.db.BeginTx(ctx, nil)
	if err != nil {
		return v.trouble(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	if err := do(tx); err != nil {
		return v.trouble(err)
	}
	return v.trouble(tx.Commit())
}

// known are the hashes of the texts that the model has seen; none where another
// model made what is there.
func (v *Vectors) known(ctx context.Context, model string) (map[int64]bool, error) {
	out := map[int64]bool{}
	rows, err := v.db.QueryContext(ctx, "SELECT hash FROM vector WHERE (SELECT name FROM model) = ?", model)
	if err != nil {
		return nil, v.trouble(err)
	}
	defer rows.Close()
	for rows.Next() {
		var hash int64
		if err := rows.Scan(&hash); err != nil {
			return nil, v.trouble(err)
		}
		out[hash] = true
	}
	return out, v.trouble(rows.Err())
}

// madeVector is a vector and the hash of its text; nil = the model does not take the text.
type madeVector struct {
	hash   int64
	vector []float32
}

// put keeps vectors. Those of another model, or of another length, go: nothing can
// be compared across the two.
func (v *Vectors) put(ctx context.Context, model string, dims int, list []madeVector) error {
	return v.write(ctx, func(tx *sql.Tx) error {
		var had string
		var long int
		err := tx.QueryRowContext(ctx, "SELECT name, dims FROM model").Scan(&had, &long)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		case err != nil || had != model || long != dims:
			if _, err := tx.ExecContext(ctx, "DELETE FROM vector; DELETE FROM block; DELETE FROM state WHERE name = 'filled'; INSERT OR REPLACE INTO model(id, name, dims) VALUES(1, ?, ?)", model, dims); err != nil {
				return err
			}
		}
		var next int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(id) + 1, 0) FROM vector").Scan(&next); err != nil {
			return err
		}
		signs := map[int64][]byte{}
		for _, one := range list {
			var code []byte
			if one.vector != nil {
				code = bytesOf(one.vector)
			}
			res, err := tx.ExecContext(ctx, "INSERT INTO vector(id, hash, code) VALUES(?, ?, ?) ON CONFLICT(hash) DO NOTHING", next, one.hash, code)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				continue // somebody else was faster
			}
			signs[next/blockLen] = append(signs[next/blockLen], signsOf(one.vector, dims)...)
			next++
		}
		for block, more := range signs {
			if _, err := tx.ExecContext(ctx, "INSERT INTO block(id, signs) VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET signs = CAST(signs || ?2 AS BLOB)", block, more); err != nil {
				return err
			}
		}
		return nil
	})
}

// Keep drops the vectors of texts that are in no piece of an index any more.
func (v *Vectors) Keep(ctx context.Context, i *Index) error {
	wanted, err := i.hashes(ctx)
	if err != nil {
		return err
	}
	return v.write(ctx, func(tx *sql.Tx) error {
		var dims int
		if err := tx.QueryRowContext(ctx, "SELECT coalesce((SELECT dims FROM model), 0)").Scan(&dims); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "CREATE TEMP TABLE kept(hash INTEGER, code BLOB)"); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO kept SELECT hash, code FROM vector WHERE hash IN (SELECT value FROM json_each(?));
DELETE FROM vector; DELETE FROM block;`, jsonOf(slices.Sorted(maps.Keys(wanted)))); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO vector(id, hash, code) SELECT rowid - 1, hash, code FROM kept; DROP TABLE kept;"); err != nil {
			return err
		}
		return reblock(ctx, tx, dims)
	})
}

// reblock makes the blocks of signs anew.
func reblock(ctx context.Context, tx *sql.Tx, dims int) error {
	rows, err := tx.QueryContext(ctx, "SELECT id, code FROM vector ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	blocks := map[int64][]byte{}
	for rows.Next() {
		var id int64
		var code []byte
		if err := rows.Scan(&id, &code); err != nil {
			return err
		}
		blocks[id/blockLen] = append(blocks[id/blockLen], signsOfBytes(code, dims)...)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for id, signs := range blocks {
		if _, err := tx.ExecContext(ctx, "INSERT INTO block(id, signs) VALUES(?, ?)", id, signs); err != nil {
			return err
		}
	}
	return nil
}

// reserve counts tokens for a day, unless more than limit were spent on it then; 0 =
// no limit.
func (v *Vectors) reserve(ctx context.Context, day string, tokens, limit int64) (ok bool, err error) {
	err = v.write(ctx, func(tx *sql.Tx) error {
		var spent int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce((SELECT tokens FROM spent WHERE day = ?), 0)", day).Scan(&spent); err != nil {
			return err
		}
		if ok = limit == 0 || spent+tokens <= limit; !ok {
			return nil
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO spent(day, tokens) VALUES(?1, ?2) ON CONFLICT(day) DO UPDATE SET tokens = tokens + ?2", day, tokens)
		return err
	})
	return ok && err == nil, err
}

// Spent is how many tokens were counted for a day (UTC, 2006-01-02).
func (v *Vectors) Spent(ctx context.Context, day string) (tokens int64, err error) {
	err = v.db.QueryRowContext(ctx, "SELECT coalesce((SELECT tokens FROM spent WHERE day = ?), 0)", day).Scan(&tokens)
	return tokens, v.trouble(err)
}

// claim says whether nobody else fills the vectors, who gets as long for the next
// step. Two at a time would pay twice for the same.
func (v *Vectors) claim(ctx context.Context, now time.Time, hold time.Duration, mine int64) (ok bool, until int64, err error) {
	until = now.Add(hold).UnixNano()
	err = v.write(ctx, func(tx *sql.Tx) error {
		var had int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce((SELECT value FROM state WHERE name = 'claim'), 0)").Scan(&had); err != nil {
			return err
		}
		if ok = had == mine || had < now.UnixNano(); !ok {
			return nil
		}
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO state(name, value) VALUES('claim', ?)", until)
		return err
	})
	return ok && err == nil, until, err
}

// state is a number that is kept under a name; 0 = none.
func (v *Vectors) state(ctx context.Context, name string) (value int64, err error) {
	err = v.db.QueryRowContext(ctx, "SELECT coalesce((SELECT value FROM state WHERE name = ?), 0)", name).Scan(&value)
	return value, v.trouble(err)
}

func (v *Vectors) setState(ctx context.Context, name string, value int64) error {
	return v.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO state(name, value) VALUES(?, ?)", name, value)
		return err
	})
}

// bytesOf are the numbers of a vector as whole ones from -127 to 127, of which only
// the direction counts.
func bytesOf(vector []float32) []byte {
	most := float32(0)
	for _, x := range vector {
		most = max(most, float32(math.Abs(float64(x))))
	}
	out := make([]byte, len(vector))
	for n, x := range vector {
		out[n] = byte(int8(math.RoundToEven(float64(x / most * 127))))
	}
	return out
}

// signsOf has a bit for each number of a vector that is above zero; nil is none.
func signsOf(vector []float32, dims int) []byte {
	out := make([]byte, (dims+7)/8)
	for n, x := range vector {
		if x > 0 {
			out[n/8] |= 1 << (n % 8)
		}
	}
	return out
}

// signsOfBytes is signsOf what bytesOf gave.
func signsOfBytes(code []byte, dims int) []byte {
	out := make([]byte, (dims+7)/8)
	for n, x := range code {
		if int8(x) > 0 { //nolint:gosec // it was written as one
			out[n/8] |= 1 << (n % 8)
		}
	}
	return out
}
