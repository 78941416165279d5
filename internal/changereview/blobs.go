package changereview

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"forge/internal/atomicfile"
)

// blobFolder keeps what reviewers were asked and answered where the journal
// keeps its own (docs/storage.md), without opening a journal: a review must not
// depend on one, nor make one.
type blobFolder struct{ dir string }

// PutBlob keeps data and returns its sha256 in hexadecimal, which is its name.
func (f blobFolder) PutBlob(ctx context.Context, data []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("keep what was asked: %w", err)
	}
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	path := filepath.Join(f.dir, name[:2], name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("keep what was asked: %w", err)
	}
	if err := atomicfile.WriteNew(path, data, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keep what was asked: %w", err)
	}
	return name, nil
}
