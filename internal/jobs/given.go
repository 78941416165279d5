package jobs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"forge/internal/refusal"
)

// ReadGiven reads the files that the user gives a job, by their names in
// their folders; paths are from dir.
func ReadGiven(dir string, paths []string) ([]Document, error) {
	if err := CheckCount(len(paths)); err != nil {
		return nil, err
	}
	var out []Document
	total := 0
	for _, path := range paths {
		abs := path
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(dir, path)
		}
		data, err := readGiven(abs)
		if err != nil {
			return nil, refusal.New("name a file of at most 8 MB", "--doc %s: %v", path, err)
		}
		if total += len(data); total > MaxDocumentsSize {
			return nil, refusal.New("", "the documents have more than %d MB together", MaxDocumentsSize>>20)
		}
		out = append(out, Document{Name: filepath.Base(abs), Data: data})
	}
	return out, nil
}

func readGiven(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file")
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxDocumentBytes+1))
	if err == nil && len(data) > MaxDocumentBytes {
		err = fmt.Errorf("it has more than %d MB", MaxDocumentBytes>>20)
	}
	return data, err
}
