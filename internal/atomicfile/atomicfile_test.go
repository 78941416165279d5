package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func wantFile(t *testing.T, path, content string, perm fs.FileMode) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != content || fi.Mode() != perm {
		t.Errorf("%s holds %q with mode %v, want %q with %v", path, b, fi.Mode(), content, perm)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	// 0666 would lose bits to the usual umask.
	for _, c := range []struct {
		content string
		perm    fs.FileMode
	}{{"one", 0o600}, {"two, longer", 0o666}, {"", 0o755}, {"three", 0o400}, {"four", 0o644}} {
		if err := Write(path, []byte(c.content), c.perm); err != nil {
			t.Fatal(err)
		}
		wantFile(t, path, c.content, c.perm)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("the folder holds %q", got)
	}
}

func TestWriteReplacesALinkNotItsTarget(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFile(t, target, "old", 0o644)
	wantFile(t, link, "new", 0o600)
}

// Every failure names the file and leaves neither a temporary file nor a
// changed one.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		path  string
		write func(string, []byte, fs.FileMode) error
		want  error
	}{
		{"no folder", filepath.Join(dir, "none", "a"), Write, fs.ErrNotExist},
		{"no folder, new", filepath.Join(dir, "none", "a"), WriteNew, fs.ErrNotExist},
		{"a file as folder", filepath.Join(file, "a"), Write, syscall.ENOTDIR},
		{"onto a folder", folder, Write, nil},
		{"new onto a folder", folder, WriteNew, fs.ErrExist},
		{"new onto a file", file, WriteNew, fs.ErrExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.write(c.path, []byte("new"), 0o600)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if !strings.Contains(err.Error(), c.path+": ") || strings.Contains(err.Error(), ".tmp-") {
				t.Errorf("error %q should name %s and no temporary file", err, c.path)
			}
			if got := names(t, dir); len(got) != 2 {
				t.Errorf("the folder holds %q", got)
			}
			wantFile(t, file, "old", 0o644)
		})
	}
}

func TestReadOnlyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locked")
	if err := os.Mkdir(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if probe, err := os.Create(filepath.Join(dir, "probe")); err == nil {
		probe.Close()
		t.Skip("this user may write to read-only folders")
	}
	path := filepath.Join(dir, "a")
	for _, write := range []func(string, []byte, fs.FileMode) error{Write, WriteNew} {
		if err := write(path, nil, 0o600); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want one of permission that names %s", err, path)
		}
	}
}

func TestWriteNewHasOneWinner(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	const n = 16
	errs := make([]error, n)
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = WriteNew(path, []byte{byte('a' + i)}, 0o600)
		})
	}
	close(start)
	all.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case err == nil:
			t.Errorf("%d and %d both won", winner, i)
		case !errors.Is(err, fs.ErrExist):
			t.Errorf("loser %d: %v", i, err)
		}
	}
	if winner < 0 {
		t.Fatal("nobody won")
	}
	wantFile(t, path, string(rune('a'+winner)), 0o600)
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("the folder holds %q", got)
	}
}

// A reader sees the old content or the new, never a mixture or nothing.
func TestReadersSeeWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	content := func(c string) string { return strings.Repeat(c, 1<<16) }
	if err := Write(path, []byte(content("x")), 0o600); err != nil {
		t.Fatal(err)
	}
	var writer sync.WaitGroup
	done := make(chan struct{})
	writer.Go(func() {
		defer close(done)
		for i := range 20 {
			if err := Write(path, []byte(content([]string{"x", "y"}[i%2])), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	for {
		b, err := os.ReadFile(path)
		if err != nil || string(b) != content("x") && string(b) != content("y") {
			t.Fatalf("read %d bytes, %v", len(b), err)
		}
		select {
		case <-done:
			writer.Wait()
			return
		default:
		}
	}
}
