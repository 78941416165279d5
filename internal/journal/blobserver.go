package journal

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// A blob stands on a server in rows of at most this many bytes, and there are at
// most so many of them: a server holds each row in memory, several times.
const (
	blobPart     = 4 << 20
	maxBlobParts = 256
)

// putBlobThere is PutBlob on a server.
func (s *Store) putBlobThere(ctx context.Context, sha string, data []byte) error {
	if len(data) > blobPart*maxBlobParts {
		return fmt.Errorf("write blob: it has %d bytes, and at most %d are kept on a server", len(data), blobPart*maxBlobParts)
	}
	if _, err := s.blobThere(ctx, sha); err == nil {
		return nil
	}
	sum, err := hex.DecodeString(sha)
	if err != nil {
		return err
	}
	// Beside the numbers of runs, which are positive.
	about := -int64(binary.BigEndian.Uint64(sum)>>1) - 1
	return s.writeTo(ctx, s.durable, "write blob", about, func(ctx context.Context, w *writer) error {
		if _, err := w.exec(ctx, `DELETE FROM blobs WHERE sha = ?`, sha); err != nil {
			return err
		}
		for part, rest := 0, data; part == 0 || len(rest) > 0; part++ {
			piece := rest[:min(len(rest), blobPart)]
			if _, err := w.exec(ctx, `INSERT INTO blobs (sha, part, data) VALUES (?, ?, ?)`, sha, part, piece); err != nil {
				return err
			}
			rest = rest[len(piece):]
		}
		return nil
	})
}

// blobThere is Blob on a server.
func (s *Store) blobThere(ctx context.Context, sha string) ([]byte, error) {
	var data []byte
	found := false
	err := s.each(ctx, `SELECT data FROM blobs WHERE sha = ? ORDER BY part`, []any{sha}, func(rows *sql.Rows) error {
		var piece sql.RawBytes
		if err := rows.Scan(&piece); err != nil {
			return err
		}
		found = true
		data = append(data, piece...)
		return nil
	})
	switch {
	case err != nil:
		return nil, s.explain("read blob", err)
	case !found:
		return nil, fmt.Errorf("read blob: %w", &BrokenError{File: s.path + ": blob " + sha, What: "the blob is missing", Err: fs.ErrNotExist})
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != sha {
		return nil, fmt.Errorf("read blob: %w", &BrokenError{File: s.path + ": blob " + sha, What: "the blob is not what its name says"})
	}
	return data, nil
}
