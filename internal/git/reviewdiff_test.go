package git

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReviewDiffIgnoresAttributes: what a commit says of its own files hides
// no line of them from a reviewer and starts no program.
func TestReviewDiffIgnoresAttributes(t *testing.T) {
	mark := filepath.Join(realPath(t, t.TempDir()), "ran")
	b := newBed(t, files{"a.go": "one\n", ".gitattributes": "*.go diff=conv\n"})
	b.run("config", "diff.conv.textconv", "touch "+mark+"; cat")
	b.run("config", "diff.conv.command", "touch "+mark+"; true")
	b.run("config", "diff.noprefix", "true")
	b.run("config", "diff.context", "0")
	write(t, filepath.Join(b.user, "attributes"), "*.go -diff\n")
	b.run("config", "core.attributesFile", filepath.Join(b.user, "attributes"))
	b.open()
	to := b.commitFiles(files{"a.go": "one\ntwo\n", ".gitattributes": "*.go binary\n* -diff\n", "with space": "x\n"})
	text, cut, err := b.ReviewDiff(b.ctx, b.base, to)
	if err != nil || cut {
		t.Fatalf("cut %v, %v", cut, err)
	}
	for _, want := range []string{":100644 100644 ", "M\x00a.go\x00", "A\x00with space\x00", "\n one\n+two\n", "--- a/a.go\n+++ b/a.go\n"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the text lacks %q:\n%q", want, text)
		}
	}
	if bytes.Contains(text, []byte("Binary files")) {
		t.Errorf("an attribute hid lines:\n%s", text)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("an attribute ran a program")
	}
}

func TestReviewDiffIsCut(t *testing.T) {
	b := newBed(t, files{"a": "a\n"})
	to := b.commitFiles(files{"b": strings.Repeat("0123456789abcde\n", MaxReviewBytes/16), "c": "c\n"})
	text, cut, err := b.ReviewDiff(b.ctx, b.base, to)
	if err != nil || !cut || len(text) != MaxReviewBytes {
		t.Fatalf("%d bytes, cut %v, %v", len(text), cut, err)
	}
	if !bytes.Contains(text[:1000], []byte("A\x00c\x00")) {
		t.Error("a file behind the cut is not in the list")
	}
	if _, _, err := b.ReviewDiff(b.ctx, "HEAD", to); err == nil {
		t.Error("a name was taken for a commit")
	}
}

func TestDiffer(t *testing.T) {
	b := newBed(t, files{"a": "a\n", "old": strings.Repeat("line\n", 20), "mode": "m\n", "same": "s\n"})
	b.run("mv", "old", "n\new")
	b.run("update-index", "--chmod=+x", "mode")
	b.write(b.user, files{"a": "b\n"})
	b.run("add", "a")
	b.run("commit", "-q", "-m", "two")
	to := b.run("rev-parse", "HEAD")
	got, err := b.Differ(b.ctx, b.base, to)
	if want := []string{"a", "mode", "n\new", "old"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if got, err := b.Differ(b.ctx, to, to); err != nil || len(got) != 0 {
		t.Errorf("the same commit: %q, %v", got, err)
	}
}

// commitFiles commits contents on the user's branch.
func (b *bed) commitFiles(content files) string {
	b.t.Helper()
	b.write(b.user, content)
	b.run("add", "-A")
	b.run("commit", "-q", "-m", "more")
	return b.run("rev-parse", "HEAD")
}

func TestCloseFolder(t *testing.T) {
	b := newBed(t, nil)
	dir := b.folder("review")
	if err := os.Chmod(filepath.Join(dir, "src"), 0o500); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.CloseFolder(dir); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(dir + "*"); err != nil || len(left) > 0 {
			t.Fatalf("left: %q, %v", left, err)
		}
	}
	if err := b.OpenFolder(b.ctx, dir, b.base); err != nil {
		t.Fatal(err)
	}
	same(t, "opened again", list(t, dir), b.tree(b.base))
	if err := b.CloseFolder("relative"); err == nil {
		t.Error("a relative path was taken")
	}
}
