package search

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"
)

// vectorSchema is what vectors are kept in. They have a file of their own: the
// index can be made anew for nothing, and vectors were paid for.
//
// A vector is turned (turn.go), and two or three bits of each of its numbers are kept:
// the signs, those of 1024 vectors in a row with the hashes of their texts, since reading
// 100,000 rows takes SQLite a quarter of a second and reading 100 takes nothing; and how
// large the numbers are, of as many vectors in a row as a page holds, since that is read
// of few. Where a vector stands follows from its place among all.
const vectorSchema = `
CREATE TABLE model(id INTEGER PRIMARY KEY CHECK(id = 1), name TEXT NOT NULL, dims INTEGER NOT NULL);
` + vectorTables + `
CREATE TABLE spent(day TEXT PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;`

// vectorTables have the vectors; untaken the texts that the model did not take.
const vectorTables = `
CREATE TABLE block(id INTEGER PRIMARY KEY, hashes BLOB NOT NULL, signs BLOB NOT NULL);
CREATE TABLE size(id INTEGER PRIMARY KEY, sizes BLOB NOT NULL);
CREATE TABLE untaken(hash INTEGER PRIMARY KEY);`

const (
	vectorVersion = 3
	blockLen      = 1024
	hashLen       = 8
	pageRoom      = 4050 // bytes that a row of one page can have
)

// sizesPer is of how many vectors a row has the sizes.
func sizesPer(dims int) int { return max(1, pageRoom/max(1, sizesLen(dims))) }

// Vectors are what a model made of texts, by their hash, in a file. One that cannot
// be read is an error: it is never made anew by itself.
type Vectors struct{ db *sql.DB }

// OpenVectors opens the vectors in a file, or makes it.
func OpenVectors(ctx context.Context, path string) (*Vectors, error) {
	db, err := dial(ctx, path, vectorSchema, vectorVersion, oldVectors)
	if err != nil {
		return nil, fmt.Errorf("open the vectors of the search %s: %w", path, err)
	}
	v := &Vectors{db: db}
	v.shrink(ctx)
	return v, nil
}

// shrink gives the room back that a file has no use for, where that is a good part of it. It
// can be left for another time: somebody else may write just now.
func (v *Vectors) shrink(ctx context.Context) {
	var free, all int
	err := v.db.QueryRowContext(ctx, "SELECT (SELECT freelist_count FROM pragma_freelist_count), (SELECT page_count FROM pragma_page_count)").Scan(&free, &all)
	if err == nil && free > all/5 {
		_, _ = v.db.ExecContext(ctx, "VACUUM")
	}
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
	of, _, err := v.Of(ctx)
	if err != nil || of != model {
		return out, err
	}
	hashes, err := allHashes(ctx, v.db)
	if err != nil {
		return nil, v.trouble(err)
	}
	untaken, err := ints(ctx, v.db, "SELECT hash FROM untaken")
	if err != nil {
		return nil, v.trouble(err)
	}
	for _, hash := range slices.Concat(hashes, untaken) {
		out[hash] = true
	}
	return out, nil
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
		var of string
		var long int
		err := tx.QueryRowContext(ctx, "SELECT name, dims FROM model").Scan(&of, &long)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		case err != nil || of != model || long != dims:
			if _, err := tx.ExecContext(ctx, emptied+"DELETE FROM state WHERE name = 'filled'; INSERT OR REPLACE INTO model(id, name, dims) VALUES(1, ?, ?)", model, dims); err != nil {
				return err
			}
		}
		hashes, err := allHashes(ctx, tx)
		if err != nil {
			return err
		}
		had := make(map[int64]bool, len(hashes))
		for _, hash := range hashes {
			had[hash] = true
		}
		var more []codedVector
		for _, one := range list {
			switch {
			case had[one.hash]: // somebody else was faster
			case one.vector == nil:
				if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO untaken(hash) VALUES(?)", one.hash); err != nil {
					return err
				}
			default:
				had[one.hash] = true
				signs, sizes := coded(one.vector)
				more = append(more, codedVector{one.hash, signs, sizes})
			}
		}
		return extend(ctx, tx, len(hashes), dims, more)
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
		if err := tx.QueryRowContext(ctx, "SELECT coalesce((SELECT dims FROM model), 0)").Scan(&dims); err != nil || dims == 0 {
			return err
		}
		all, err := allVectors(ctx, tx, dims)
		if err != nil {
			return err
		}
		untaken, err := ints(ctx, tx, "SELECT hash FROM untaken")
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, emptied); err != nil {
			return err
		}
		for _, hash := range untaken {
			if _, is := wanted[hash]; !is {
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO untaken(hash) VALUES(?)", hash); err != nil {
				return err
			}
		}
		return extend(ctx, tx, 0, dims, slices.DeleteFunc(all, func(one codedVector) bool { _, is := wanted[one.hash]; return !is }))
	})
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
