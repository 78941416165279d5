package git

import (
	"crypto/sha1" //nolint:gosec // as git names objects
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// looseBlobs writes n objects that nothing names, all of which lie in one folder as
// though there were 256 times as many, and returns the last one.
func (b *bed) looseBlobs(n int) string {
	b.t.Helper()
	dir := b.t.TempDir()
	var paths strings.Builder
	for at := 0; n > 0; at++ {
		text := fmt.Sprintf("text %d\n", at)
		if sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))[0] != 0x17 {
			continue
		}
		path := filepath.Join(dir, fmt.Sprint(at))
		write(b.t, path, text)
		fmt.Fprintln(&paths, path)
		n--
	}
	res, err := b.git(b.ctx, call{args: []string{"-c", "core.fsync=none", "hash-object", "-w", "--stdin-paths"}, stdin: strings.NewReader(paths.String())})
	if err != nil {
		b.t.Fatal(err)
	}
	ids := splitLines(res.out)
	return ids[len(ids)-1]
}

// loose counts the objects that lie by themselves.
func (b *bed) loose() int {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.repo, "objects", "[0-9a-f][0-9a-f]", "*"))
	if err != nil {
		b.t.Fatal(err)
	}
	return len(found)
}

func TestPack(t *testing.T) {
	b := newBed(t, nil)
	named := b.looseBlobs(1)
	if _, err := b.git(b.ctx, call{args: []string{"update-ref", "refs/forge/x/y", b.base}}); err != nil {
		t.Fatal(err)
	}
	if did, err := b.Pack(b.ctx, false); did || err != nil {
		t.Fatalf("a repository with one object was packed: %v, %v", did, err)
	}
	b.looseBlobs(manyLoose + 1)
	did, err := b.Pack(b.ctx, false)
	if !did || err != nil {
		t.Fatalf("many loose objects: packed %v, %v", did, err)
	}
	if n := b.loose(); n != 0 {
		t.Errorf("%d objects still lie by themselves", n)
	}
	// No reference holds it, a journal might.
	if res, err := b.git(b.ctx, call{args: []string{"cat-file", "blob", named}}); err != nil || !strings.HasPrefix(string(res.out), "text ") {
		t.Errorf("an object that nothing names: %q, %v", res.out, err)
	}
	if res, err := b.git(b.ctx, call{args: []string{"rev-parse", "refs/forge/x/y"}}); err != nil || res.line() != b.base {
		t.Errorf("a reference: %q, %v", res.line(), err)
	}
	if did, err := b.Pack(b.ctx, false); did || err != nil {
		t.Errorf("what is packed was packed again: %v, %v", did, err)
	}
	// What the user has is not copied.
	if res, err := b.git(b.ctx, call{args: []string{"count-objects", "-v"}}); err != nil || !strings.Contains(string(res.out), fmt.Sprintf("in-pack: %d\n", manyLoose+1)) {
		t.Errorf("objects of Forge's own repository: %s, %v", res.out, err)
	}
}

func TestPackOneAtATime(t *testing.T) {
	b := newBed(t, nil)
	b.looseBlobs(3)
	other, err := os.OpenFile(filepath.Join(b.repo, "packing"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if did, err := b.Pack(b.ctx, true); did || err != nil {
		t.Errorf("packed beside another one: %v, %v", did, err)
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if did, err := b.Pack(b.ctx, true); !did || err != nil || b.loose() != 0 {
		t.Errorf("packed when the other one was over: %v, %v, %d loose", did, err, b.loose())
	}
}

// What a killed one leaves goes, what another one writes stays.
func TestPackRemovesHalfPacks(t *testing.T) {
	b := newBed(t, nil)
	left, young := filepath.Join(b.repo, "objects/pack/tmp_pack_a"), filepath.Join(b.repo, "objects/pack/tmp_pack_b")
	write(t, left, "half")
	write(t, young, "half")
	old := time.Now().Add(-2 * oldPack)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Pack(b.ctx, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("what a killed git left is still there: %v", err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("what may be written on: %v", err)
	}
}

// Snapshots are taken and read while packs are made, by this store and by others.
func TestPackBesideWork(t *testing.T) {
	b := newBed(t, nil)
	b.looseBlobs(200)
	var work sync.WaitGroup
	for k := range 2 {
		work.Go(func() {
			for n := range 15 {
				text := fmt.Sprintf("%d %d\n", k, n)
				res, err := b.git(b.ctx, call{args: []string{"-c", "core.fsync=none", "hash-object", "-w", "--stdin"}, stdin: strings.NewReader(text)})
				if err != nil {
					t.Error(err)
					return
				}
				ref := fmt.Sprintf("refs/forge/beside/%d-%d", k, n)
				if _, err := b.git(b.ctx, call{args: []string{"update-ref", ref, res.line()}}); err != nil {
					t.Error(err)
					return
				}
				got, err := b.git(b.ctx, call{args: []string{"cat-file", "blob", ref}})
				if err != nil || string(got.out) != text {
					t.Errorf("%s: %q, %v", ref, got.out, err)
				}
			}
		})
	}
	for range 6 {
		if _, err := b.Pack(b.ctx, true); err != nil {
			t.Error(err)
		}
	}
	work.Wait()
	refs, err := b.git(b.ctx, call{args: []string{"for-each-ref", "--format=%(refname)", "refs/forge/beside"}})
	if err != nil || len(splitLines(refs.out)) != 30 {
		t.Errorf("%d references of 30 are there, %v", len(splitLines(refs.out)), err)
	}
	if res, err := b.git(b.ctx, call{args: []string{"fsck", "--connectivity-only"}}); err != nil {
		t.Errorf("fsck: %s, %v", res.out, err)
	}
}

// A folder of objects that a git which packs removes at the wrong moment is made again.
func TestAFolderThatWasEmptied(t *testing.T) {
	b, bin := counted(t, `if [ "$1" = hash-object ] && [ ! -e "$0.once" ]; then
	: >"$0.once"; cat >"$0.read"
	echo 'error: unable to create temporary file: No such file or directory' >&2; exit 128
fi
exec '%s' "$@"`)
	res, err := b.git(b.ctx, call{args: []string{"hash-object", "-w", "--stdin"}, stdin: strings.NewReader("all of it")})
	if want := idOf(object{"blob", []byte("all of it")}.whole()); err != nil || res.line() != want {
		t.Errorf("written as %q, %v, want %s", res.line(), err, want)
	}
	if got := strings.Count(noted(bin), "hash-object"); got != 2 {
		t.Errorf("asked %d times, want 2", got)
	}
}
