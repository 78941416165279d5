package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

const (
	// MaxShowBytes is the size up to which Show returns a file.
	MaxShowBytes = 8 << 20
	// MaxDiffBytes is where a diff is cut, with a line that says so.
	MaxDiffBytes = 16 << 20
)

// TooLargeError is a file over MaxShowBytes.
type TooLargeError struct {
	Path string
	Size int64 // bytes
}

// Error names the file and its size.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, more than the %d that are shown", e.Path, e.Size, MaxShowBytes)
}

// Files lists the paths of a commit or tree, sorted by bytes; submodules are
// not among them.
func (s *Store) Files(ctx context.Context, commit string) ([]string, error) {
	entries, err := s.entries(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("list files of %s: %w", commit, err)
	}
	files := make([]string, 0, len(entries))
	for path, entry := range entries {
		if !strings.HasPrefix(entry, "160000 ") {
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return files, nil
}

// IsRegular says whether a path of a commit or tree is a file, and no link and
// no submodule.
func (s *Store) IsRegular(ctx context.Context, commit, path string) (bool, error) {
	entries, err := s.entries(ctx, commit)
	if err != nil {
		return false, fmt.Errorf("list files of %s: %w", commit, err)
	}
	return strings.HasPrefix(entries[path], "100"), nil
}

// Exists says whether Forge's repository, or the user's that it borrows from,
// has the commit.
func (s *Store) Exists(ctx context.Context, commit string) (bool, error) {
	if err := checkIDs(commit); err != nil {
		return false, err
	}
	if s.isCommit(commit) {
		return true, nil
	}
	res, err := s.git(ctx, call{args: []string{"cat-file", "-e", commit + "^{commit}"}, ok: []int{1, 128}})
	return err == nil && res.code == 0, err
}

// Show returns the content of a file of a commit; of a link, its target as
// text. Errors: fs.ErrNotExist, also for a folder; *TooLargeError.
func (s *Store) Show(ctx context.Context, commit, path string) ([]byte, error) {
	if err := checkIDs(commit); err != nil {
		return nil, fmt.Errorf("show %q: %w", path, err)
	}
	var data []byte
	err := s.readBlobs(ctx, commit, []string{path}, func(path string, size int64, r io.Reader) error {
		if size < 0 {
			return fs.ErrNotExist
		}
		if size > MaxShowBytes {
			return &TooLargeError{Path: path, Size: size}
		}
		var err error
		data, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("show %q of %s: %w", path, commit, err)
	}
	return data, nil
}

// HasMarkers returns those of paths that hold a conflict marker in commit: a
// line that begins with seven or more of <, > or | followed by a space or by
// nothing. A line of = alone does not count, since it underlines headings.
func (s *Store) HasMarkers(ctx context.Context, commit string, paths []string) ([]string, error) {
	if err := checkIDs(commit); err != nil || len(paths) == 0 {
		return nil, err
	}
	var marked []string
	err := s.readBlobs(ctx, commit, paths, func(path string, size int64, r io.Reader) error {
		if size < 0 {
			return nil // resolved by removing it
		}
		found, err := markers(r)
		if found {
			marked = append(marked, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for conflict markers in %s: %w", commit, err)
	}
	return marked, nil
}

// markers reads no more of a line than its beginning into memory.
func markers(r io.Reader) (bool, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	for start := true; ; {
		part, err := br.ReadSlice('\n')
		if start && marker(part) {
			return true, nil
		}
		start = err == nil
		if err == io.EOF {
			return false, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return false, err
		}
	}
}

func marker(line []byte) bool {
	if len(line) < 7 || line[0] != '<' && line[0] != '>' && line[0] != '|' {
		return false
	}
	rest := bytes.TrimLeft(line, string(line[:1]))
	n := len(line) - len(rest)
	return n >= 7 && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\r')
}

// readBlobs calls fn for each path of commit in order, with size -1 where it
// is no file. What fn does not read is skipped.
func (s *Store) readBlobs(ctx context.Context, commit string, paths []string, fn func(path string, size int64, r io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for len(paths) > 0 {
		size, data, ok := s.blobHere(commit, paths[0])
		if !ok {
			break
		}
		if err := fn(paths[0], size, bytes.NewReader(data)); err != nil {
			return err
		}
		paths = paths[1:]
	}
	if len(paths) == 0 {
		return nil
	}
	var ask strings.Builder
	for _, path := range paths {
		if strings.Contains(path, "\x00") || path == "" {
			return fmt.Errorf("%q is no path: %w", path, fs.ErrNotExist)
		}
		ask.WriteString(commit + ":" + path + "\x00")
	}
	pr, pw := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := s.git(ctx, call{args: []string{"cat-file", "--batch", "-z"}, stdin: strings.NewReader(ask.String()), stdout: pw})
		_ = pw.CloseWithError(firstError(err, io.ErrUnexpectedEOF))
		ended <- err
	}()
	err := readBatch(bufio.NewReaderSize(pr, 64<<10), commit, paths, fn)
	cancel()
	_ = pr.Close()
	gitErr := <-ended
	if err != nil && errors.Is(err, io.ErrUnexpectedEOF) && gitErr != nil {
		return gitErr
	}
	return err
}

// blobHere is what readBlobs says of a path, where that can be said without git.
func (s *Store) blobHere(commit, path string) (size int64, data []byte, ok bool) {
	entries, ok := s.known(commit)
	if !ok || !relative(path) {
		return 0, nil, false
	}
	id, isBlob := blobID(entries[path])
	if !isBlob {
		return -1, nil, true // a folder, a submodule, or nothing
	}
	o, ok := s.readHere(id)
	return int64(len(o.data)), o.data, ok && o.kind == "blob"
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readBatch reads the answers of "cat-file --batch" to commit:path.
func readBatch(r *bufio.Reader, commit string, paths []string, fn func(string, int64, io.Reader) error) error {
	for _, path := range paths {
		// "<id> <type> <size>", or the question itself and " missing", which
		// may hold line feeds.
		head, err := r.Peek(41)
		if err != nil && len(head) < 41 && !errors.Is(err, io.EOF) {
			return err
		}
		if len(head) < 41 || head[40] != ' ' {
			missing := make([]byte, len(commit)+1+len(path)+len(" missing\n"))
			if _, err := io.ReadFull(r, missing); err != nil {
				return err
			}
			if string(missing) != commit+":"+path+" missing\n" {
				return fmt.Errorf("read %q: answer of git not understood: %.200q", path, missing)
			}
			if err := fn(path, -1, nil); err != nil {
				return err
			}
			continue
		}
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		part := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		size := int64(-1)
		if len(part) == 3 {
			size, err = strconv.ParseInt(part[2], 10, 64)
		}
		if len(part) != 3 || err != nil || size < 0 {
			return fmt.Errorf("read %q: answer of git not understood: %.200q", path, line)
		}
		body := io.LimitReader(r, size)
		given := size
		if part[1] != "blob" {
			given = -1
		}
		if err := fn(path, given, body); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		if end, err := r.ReadByte(); err != nil || end != '\n' {
			return fmt.Errorf("read %q: answer of git is cut", path)
		}
	}
	return nil
}

// Diff returns the change from one commit or tree to another as a patch,
// renames followed, binary files named only. With paths it is limited to
// those. It is cut after MaxDiffBytes, with a last line that says so. Errors:
// *StateError for a commit that is there no more.
func (s *Store) Diff(ctx context.Context, from, to string) (string, error) {
	return s.DiffPaths(ctx, from, to, nil)
}

// DiffPaths is Diff of the given paths alone, taken literally; nil is all.
func (s *Store) DiffPaths(ctx context.Context, from, to string, paths []string) (string, error) {
	if err := checkIDs(from, to); err != nil {
		return "", fmt.Errorf("diff: %w", err)
	}
	args := []string{"diff-tree", "-r", "-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", from, to, "--"}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &cutWriter{max: MaxDiffBytes, over: func() { cancel(errDiffCut) }}
	_, err := s.git(ctx, call{args: append(args, paths...), env: []string{"GIT_LITERAL_PATHSPECS=1"}, stdout: out})
	if err != nil && !errors.Is(err, errDiffCut) {
		if gone := s.dropped(ctx, from, to); len(gone) > 0 {
			return "", missingError(gone)
		}
		return "", fmt.Errorf("diff %s %s: %w", from, to, err)
	}
	return out.text(), nil
}

var errDiffCut = errors.New("diff is cut")

// cutWriter keeps the first max bytes, then calls over once and drops the rest. It
// keeps them in the pieces that came: a diff is large, and what grows is copied.
type cutWriter struct {
	pieces [][]byte
	size   int // bytes in pieces
	max    int
	cut    bool
	over   func()
}

func (w *cutWriter) Write(p []byte) (int, error) {
	kept := p[:min(len(p), w.max-w.size)]
	if len(kept) > 0 {
		w.pieces = append(w.pieces, bytes.Clone(kept))
		w.size += len(kept)
	}
	if len(kept) < len(p) && !w.cut {
		w.cut = true
		w.over()
	}
	return len(p), nil
}

// text is what was kept; of what was cut its whole lines, and a last one that says
// so. It ends the writer.
func (w *cutWriter) text() string {
	var all strings.Builder
	const note = 64 // bytes for the last line
	if w.cut {
		w.dropTail()
	}
	all.Grow(w.size + note)
	for _, piece := range w.pieces {
		all.Write(piece)
	}
	if w.cut {
		fmt.Fprintf(&all, "[diff cut after %d bytes]\n", w.size)
	}
	return all.String()
}

// dropTail drops what follows the last line's end.
func (w *cutWriter) dropTail() {
	for last := len(w.pieces) - 1; last >= 0; last-- {
		piece := w.pieces[last]
		kept := bytes.LastIndexByte(piece, '\n') + 1
		w.size -= len(piece) - kept
		if w.pieces[last] = piece[:kept]; kept > 0 {
			return
		}
		w.pieces = w.pieces[:last]
	}
}
