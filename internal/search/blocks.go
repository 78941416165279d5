package search

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// emptied takes all vectors away, and what is known of texts that have none.
const emptied = "DELETE FROM block; DELETE FROM size; DELETE FROM untaken; "

// codedVector is a vector as it is kept, and the hash of its text.
type codedVector struct {
	hash         int64
	signs, sizes []byte
}

// extend puts vectors behind those that are there, of which there are so many.
func extend(ctx context.Context, tx *sql.Tx, there, dims int, more []codedVector) error {
	for at, rest := there, more; len(rest) > 0; {
		some := rest[:min(len(rest), blockLen-at%blockLen)]
		var hashes, signs []byte
		for _, one := range some {
			if len(one.signs) != signsLen(dims) || len(one.sizes) != sizesLen(dims) {
				return fmt.Errorf("a vector has %d and %d bytes, and those of %d numbers have %d and %d", len(one.signs), len(one.sizes), dims, signsLen(dims), sizesLen(dims))
			}
			hashes = binary.LittleEndian.AppendUint64(hashes, uint64(one.hash)) //nolint:gosec // all of its bits
			signs = append(signs, one.signs...)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO block(id, hashes, signs) VALUES(?1, ?2, ?3)
			ON CONFLICT(id) DO UPDATE SET hashes = CAST(hashes || ?2 AS BLOB), signs = CAST(signs || ?3 AS BLOB)`, at/blockLen, hashes, signs)
		if err != nil {
			return err
		}
		at, rest = at+len(some), rest[len(some):]
	}
	per := sizesPer(dims)
	for at, rest := there, more; len(rest) > 0; {
		some := rest[:min(len(rest), per-at%per)]
		var sizes []byte
		for _, one := range some {
			sizes = append(sizes, one.sizes...)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO size(id, sizes) VALUES(?1, ?2) ON CONFLICT(id) DO UPDATE SET sizes = CAST(sizes || ?2 AS BLOB)", at/per, sizes); err != nil {
			return err
		}
		at, rest = at+len(some), rest[len(some):]
	}
	return nil
}

// allHashes are the hashes of the texts that have vectors, in the order of those.
func allHashes(ctx context.Context, db querier) (out []int64, err error) {
	err = blobs(ctx, db, "SELECT hashes FROM block ORDER BY id", func(block []byte) {
		for ; len(block) >= hashLen; block = block[hashLen:] {
			out = append(out, hashAt(block, 0))
		}
	})
	return out, err
}

// hashAt is the hash at a place of a row's hashes.
func hashAt(hashes []byte, at int) int64 {
	return int64(binary.LittleEndian.Uint64(hashes[at*hashLen:])) //nolint:gosec // as it was written
}

// allVectors are all vectors of so many numbers.
func allVectors(ctx context.Context, db querier, dims int) ([]codedVector, error) {
	hashes, err := allHashes(ctx, db)
	if err != nil {
		return nil, err
	}
	signs, err := allSigns(ctx, db, dims)
	if err != nil {
		return nil, err
	}
	var sizes [][]byte
	if err := blobs(ctx, db, "SELECT sizes FROM size ORDER BY id", func(row []byte) {
		sizes = slices.AppendSeq(sizes, slices.Chunk(row, sizesLen(dims)))
	}); err != nil {
		return nil, err
	}
	if len(signs) != len(hashes) || len(sizes) != len(hashes) {
		return nil, fmt.Errorf("there are signs of %d and sizes of %d for %d texts", len(signs), len(sizes), len(hashes))
	}
	out := make([]codedVector, len(hashes))
	for at, hash := range hashes {
		out[at] = codedVector{hash, signs[at], sizes[at]}
	}
	return out, nil
}

// allSigns are the signs of all vectors.
func allSigns(ctx context.Context, db querier, dims int) (all [][]byte, err error) {
	err = blobs(ctx, db, "SELECT signs FROM block ORDER BY id", func(block []byte) {
		all = slices.AppendSeq(all, slices.Chunk(block, signsLen(dims)))
	})
	return all, err
}

// blobs gives each blob of a question.
func blobs(ctx context.Context, db querier, query string, give func([]byte)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var one []byte
		if err := rows.Scan(&one); err != nil {
			return err
		}
		give(one)
	}
	return rows.Err()
}

// oldVectors takes over the vectors of versions before: they were paid for, and are not
// asked for again. Version 1 kept a byte of each number, version 2 a sign and two bits
// of its size, which has the signs in blocks as they are now.
func oldVectors(ctx context.Context, tx *sql.Tx, from int) (known bool, err error) {
	if from != 1 && from != 2 {
		return false, nil
	}
	var dims int
	if err := tx.QueryRowContext(ctx, "SELECT coalesce((SELECT dims FROM model), 0)").Scan(&dims); err != nil {
		return true, err
	}
	var all []codedVector
	var untaken []int64
	if dims > 0 {
		if all, untaken, err = readOld(ctx, tx, from, dims); err != nil {
			return true, err
		}
	}
	if _, err := tx.ExecContext(ctx, "DROP TABLE vector; DROP TABLE block;"+vectorTables); err != nil {
		return true, err
	}
	for _, hash := range untaken {
		if _, err := tx.ExecContext(ctx, "INSERT INTO untaken(hash) VALUES(?)", hash); err != nil {
			return true, err
		}
	}
	return true, extend(ctx, tx, 0, dims, all)
}

// readOld reads the vectors that a version before wrote, and the texts without one.
func readOld(ctx context.Context, tx *sql.Tx, from, dims int) (all []codedVector, untaken []int64, err error) {
	signs, err := allSigns(ctx, tx, dims)
	if err != nil {
		return nil, nil, err
	}
	rows, err := tx.QueryContext(ctx, "SELECT id, hash, code FROM vector ORDER BY id")
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, hash int64
		var code []byte
		if err := rows.Scan(&id, &hash, &code); err != nil {
			return nil, nil, err
		}
		one := codedVector{hash: hash}
		switch {
		case code == nil:
			untaken = append(untaken, hash)
			continue
		case from == 1 && len(code) == dims:
			one.signs, one.sizes = coded(numbersOf(code))
		case from == 2 && len(code) == (dims*2+7)/8 && id < int64(len(signs)):
			one.signs, one.sizes = signs[id], fewerSizes(code, dims)
		default:
			return nil, nil, errors.New("a vector is not as its version writes it")
		}
		all = append(all, one)
	}
	return all, untaken, rows.Err()
}

// numbersOf is a vector of which a byte of each number was kept.
func numbersOf(code []byte) []float32 {
	vector := make([]float32, len(code))
	for n, one := range code {
		vector[n] = float32(int8(one)) //nolint:gosec // it was written as one
	}
	return vector
}

// fewerSizes are sizes of two bits a number in as many as are kept of so many numbers;
// the higher bit alone says on which side of the middle cut it is.
func fewerSizes(two []byte, dims int) []byte {
	sizes := newSizes(dims)
	for n := range dims {
		sizes.set(n, two[n/4]>>(n%4*2)&3>>(2-sizes.bits))
	}
	return sizes.bytes
}
