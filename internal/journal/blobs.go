package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Unfinished blobs older than this belong to a process that died.
const abandonedAfter = time.Hour

func (s *Store) blobDir() string { return filepath.Join(s.dir, "blobs") }

// tempDir is beside the blobs, on the same file system, so that a rename moves
// a blob into place.
func (s *Store) tempDir() string { return filepath.Join(s.blobDir(), "tmp") }

func (s *Store) blobPath(sha string) string {
	return filepath.Join(s.blobDir(), sha[:2], sha)
}

// PutBlob keeps data and returns its sha256 in hexadecimal, which is its name.
// When it returns, the blob is durable. The same data is kept once; a damaged
// copy of it is replaced.
func (s *Store) PutBlob(ctx context.Context, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("write blob: %w", err)
	}
	if s.server != nil {
		return sha, s.putBlobThere(ctx, sha, data)
	}
	path := s.blobPath(sha)
	if _, err := s.Blob(ctx, sha); err == nil {
		// Whoever wrote it may not have come to make its name durable.
		if err := syncDir(filepath.Dir(path)); err != nil {
			return "", fmt.Errorf("write blob: %w", err)
		}
		return sha, nil
	}
	if err := s.writeBlob(path, data); err != nil {
		switch {
		case errors.Is(err, syscall.ENOSPC):
			return "", fmt.Errorf("write blob: %w (%w); make room and try again", ErrFull, err)
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
			return "", fmt.Errorf("write blob: %w (%w); make %s writable", ErrReadOnly, err, s.blobDir())
		}
		return "", fmt.Errorf("write blob: %w", err)
	}
	return sha, nil
}

func (s *Store) writeBlob(path string, data []byte) (err error) {
	if err := makeDir(s.blobDir(), s.tempDir(), filepath.Dir(path)); err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.tempDir(), "blob-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			temp.Close()
			_ = os.Remove(temp.Name()) // sweepBlobs takes what stays
		}
	}()
	if _, err := temp.Write(data); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// Blob returns the data that sha names. A blob that is missing or does not
// hash to its name is a *BrokenError; a missing one is fs.ErrNotExist too.
func (s *Store) Blob(ctx context.Context, sha string) ([]byte, error) {
	if raw, err := hex.DecodeString(sha); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != sha {
		return nil, fmt.Errorf("read blob: %q is not a sha256", sha)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	if s.server != nil {
		return s.blobThere(ctx, sha)
	}
	path := s.blobPath(sha)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read blob: %w", &BrokenError{File: path, What: "the blob is missing", Err: err})
	}
	if err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != sha {
		return nil, fmt.Errorf("read blob: %w", &BrokenError{File: path, What: "the blob is not what its name says"})
	}
	return data, nil
}

// sweepBlobs removes what a process left that died while writing a blob.
func (s *Store) sweepBlobs() error {
	left, err := os.ReadDir(s.tempDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open journal: %w", err)
	}
	for _, entry := range left {
		info, err := entry.Info()
		if err != nil || s.now().Sub(info.ModTime()) < abandonedAfter {
			continue
		}
		// It costs room only: the next Open tries again.
		_ = os.Remove(filepath.Join(s.tempDir(), entry.Name()))
	}
	return nil
}

// makeDir makes each folder that is missing and its name durable.
func makeDir(dirs ...string) error {
	for _, dir := range dirs {
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := syncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
