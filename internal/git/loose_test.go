package git

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// drawTree is the entries of a tree whose names lie close to each other in git's order,
// with files and folders of one name in different trees.
func drawTree(r *rand.Rand, blobs []string, link string) map[string]string {
	names := []string{"a", "a-b", "a.txt", "a0", "b", "ü", "sp ace", "new\nline", "\xe9", "Z"}
	entries := listing{files: map[string]string{}}
	for range r.IntN(12) {
		path := names[r.IntN(len(names))]
		for range r.IntN(3) {
			path += "/" + names[r.IntN(len(names))]
		}
		mode := []string{"100644", "100644", "100755", "120000", submoduleMode}[r.IntN(5)]
		entry := mode + " blob " + blobs[r.IntN(len(blobs))]
		if mode == submoduleMode {
			entry = mode + " commit " + link
		}
		if err := entries.put(path, entry); err != nil {
			panic(err)
		}
	}
	return entries.files
}

// gitTree has git write the tree of what records say, onto what a tree has.
func (b *bed) gitTree(on, records string) string {
	b.t.Helper()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(b.t.TempDir(), "index")}
	for _, c := range []call{
		{args: []string{"read-tree", on}},
		{args: []string{"update-index", "--add", "--replace", "-z", "--index-info"}, stdin: strings.NewReader(records)},
	} {
		c.env = env
		if _, err := b.git(b.ctx, c); err != nil {
			b.t.Fatal(err)
		}
	}
	res, err := b.git(b.ctx, call{args: []string{"write-tree"}, env: env})
	if err != nil {
		b.t.Fatal(err)
	}
	return res.line()
}

// What is read, compared and written here is what git reads, compares and writes.
func TestTreesHereAreGits(t *testing.T) {
	b := newBed(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	var blobs []string
	for i := range 4 {
		id, err := b.writeHere(object{"blob", []byte(fmt.Sprint("blob ", i))})
		if err != nil {
			t.Fatal(err)
		}
		blobs = append(blobs, id)
	}
	empty := b.gitTree(b.base, "0 "+ZeroID+"\t.forge/forge.toml\x000 "+ZeroID+"\ta.txt\x000 "+ZeroID+"\tsrc/b.txt\x000 "+ZeroID+"\t.gitignore\x00")
	last, lastHas := empty, map[string]string{}
	seen := map[string]bool{}
	for range 60 {
		has := drawTree(r, blobs, b.base)
		var records strings.Builder
		for path := range lastHas {
			if _, ok := has[path]; !ok {
				records.WriteString("0 " + ZeroID + "\t" + path + "\x00")
			}
		}
		for path, entry := range has {
			records.WriteString(entry + "\t" + path + "\x00")
		}
		want := b.gitTree(last, records.String())
		root, err := trees(has, func(o object) (string, error) { return idOf(o.whole()), nil })
		if err != nil || root != want {
			t.Fatalf("%q is the tree %s, %v; git says %s", has, root, err, want)
		}
		// Written by git as well: with an object less there nothing would be proven.
		if err := os.Remove(looseFile(b.Objects(), root)); err != nil && len(has) > 0 {
			t.Fatal(err)
		}
		if got, err := b.writeTrees(last, lastHas, has); err != nil || got != want {
			t.Fatalf("%q is written as %s, %v; git says %s", has, got, err, want)
		}
		if out := b.ownGit("ls-tree", "-r", "-z", "--full-tree", want); len(has) > 0 {
			list := map[string]string{}
			for _, rec := range splitZ([]byte(out)) {
				entry, path, _ := strings.Cut(rec, "\t")
				list[path] = entry
			}
			if here, ok := b.looseEntries(want); !ok || !maps.Equal(here, list) || !maps.Equal(here, has) {
				t.Fatalf("read as %q (%v), by git as %q, of %q", here, ok, list, has)
			}
		}
		diff, err := parseRaw([]byte(b.ownGit("diff-tree", "-r", "-z", "--raw", "--no-renames", last, want)))
		if err != nil {
			t.Fatal(err)
		}
		here := differences(lastHas, has)
		if fmt.Sprint(here) != fmt.Sprint(diff) {
			t.Fatalf("from %q to %q differs\n%v, by git\n%v", lastHas, has, here, diff)
		}
		if on := diff.on(lastHas); !maps.Equal(on, has) {
			t.Fatalf("what differs makes %q of %q, want %q", on, lastHas, has)
		}
		for _, f := range diff.files {
			seen[f.Status] = true
		}
		last, lastHas = want, has
	}
	if len(seen) != 4 {
		t.Errorf("of A, D, M and T only %v were drawn", seen)
	}
}

// Records put onto a tree make what git's index makes of them: a file makes room for a
// folder and a folder for a file.
func TestEntriesAreReplacedAsGitDoes(t *testing.T) {
	b := newBed(t, nil)
	r := rand.New(rand.NewPCG(3, 4))
	one, err := b.writeHere(object{"blob", []byte("one")})
	if err != nil {
		t.Fatal(err)
	}
	commit := b.base
	for range 40 {
		var records strings.Builder
		for range 1 + r.IntN(5) {
			path := strings.Repeat("a/", r.IntN(3)) + []string{"a", "b", "a.txt"}[r.IntN(3)]
			if r.IntN(4) == 0 {
				records.WriteString("0 " + ZeroID + "\t" + path + "\x00")
				continue
			}
			records.WriteString("100644 blob " + one + "\t" + path + "\x00")
		}
		want := b.gitTree(commit, records.String())
		next, err := b.withEntries(b.ctx, commit, records.String(), "put\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := b.ownGit("rev-parse", next+"^{tree}"); got != want {
			t.Fatalf("%q on %s makes %s, by git %s", records.String(), commit, got, want)
		}
		commit = next
	}
	b.ownGit("fsck", "--full", "--strict", commit)
	for _, path := range []string{"../x", "a/../b", "/a", ".git/config", "x/.GIT/hooks", "a//b", "."} {
		if got, err := b.withEntries(b.ctx, commit, "100644 blob "+one+"\t"+path+"\x00", "put\n"); err == nil {
			t.Errorf("%q went into %s", path, got)
		}
	}
}

// Many new files go onto a large tree at the cost of looking through it once: x-floor is
// the cost beside that of a copy of the list.
func BenchmarkPutNewFiles(b *testing.B) {
	const there, added = 100_000, 1000
	files := map[string]string{}
	for i := range there {
		files[fmt.Sprintf("d%d/e%d/f%d", i%100, i%1000, i)] = "100644 blob x"
	}
	var put, floor time.Duration
	for b.Loop() {
		start := time.Now()
		l := listing{files: maps.Clone(files)}
		floor += time.Since(start)
		for i := range added {
			if err := l.put(fmt.Sprintf("d%d/new%d", i%100, i), "100644 blob x"); err != nil {
				b.Fatal(err)
			}
		}
		put += time.Since(start)
	}
	b.ReportMetric(float64(put)/float64(floor), "x-floor")
}

// A commit that is written here is byte for byte git's.
func TestCommitsHereAreGits(t *testing.T) {
	b := newBed(t, nil)
	tree, err := b.treeOf(b.ctx, b.base)
	if err != nil {
		t.Fatal(err)
	}
	other := b.result("01", files{"x": "1"})
	for _, c := range []struct {
		parents []string
		message string
		env     []string
		here    bool
	}{
		{[]string{b.base}, "one\n", nil, true},
		{nil, "alone\n\nwith more\n", nil, true},
		{nil, "", nil, true},
		{[]string{b.base, other}, "ünicode\n", []string{"GIT_AUTHOR_NAME=Ånn O'Hara Jr", "GIT_AUTHOR_EMAIL=a@example.invalid"}, true},
		{[]string{b.base, b.base}, "twice\n", nil, false},
		{[]string{b.base}, "stripped\n", []string{"GIT_AUTHOR_NAME=Ann Jr.", "GIT_AUTHOR_EMAIL=a@example.invalid"}, false},
		{[]string{b.base}, "stripped\n", []string{"GIT_AUTHOR_NAME=A <b>", "GIT_AUTHOR_EMAIL=a@example.invalid"}, false},
		{[]string{b.base}, "what is seen\n\n\tAndré, 日本, \ufffd", nil, true},
		{[]string{b.base}, "nul\x00\n", nil, false},
		{[]string{b.base}, "no UTF-8: \xff\n", nil, false},
		{[]string{b.base}, "no characters: \ufffe\n", nil, false},
		{[]string{b.base}, "no characters: \U0001ffff\n", nil, false},
		{[]string{b.base}, "no characters: \ufdd0\n", nil, false},
		{[]string{b.base}, "a name\n", []string{"GIT_AUTHOR_NAME=A\ufdefb", "GIT_AUTHOR_EMAIL=a@example.invalid"}, false},
		{[]string{b.base}, "dated\n", []string{"GIT_AUTHOR_DATE=1700000000 +0000"}, false},
	} {
		id, here, err := b.commitHere(tree, c.parents, c.message, c.env)
		if err != nil || here != c.here {
			t.Errorf("%q by %q: here %v, %v", c.message, c.env, here, err)
		}
		if !here {
			continue
		}
		text := b.ownGit("cat-file", "commit", id)
		_, date, _ := strings.Cut(text, "committer Forge <"+forgeEmail+"> ")
		date, _, _ = strings.Cut(date, "\n")
		args := []string{"commit-tree", tree}
		for _, p := range c.parents {
			args = append(args, "-p", p)
		}
		env := append(slices.Clone(c.env), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		res, err := b.git(b.ctx, call{args: args, stdin: strings.NewReader(c.message), env: env})
		if err != nil || res.line() != id {
			t.Errorf("%q by %q is %s, by git %s, %v:\n%s", c.message, c.env, id, res.line(), err, text)
		}
	}
	gone := strings.Repeat("1", 40)
	for _, id := range []string{gone, tree} {
		if _, here, _ := b.commitHere(tree, []string{id}, "m\n", nil); here {
			t.Errorf("%s passes for a commit", id)
		}
	}
	if _, here, _ := b.commitHere(b.base, nil, "m\n", nil); here {
		t.Error("a commit passes for a tree")
	}
	if id, err := b.CommitTree(b.ctx, tree, []string{gone}, "m\n", ""); err == nil {
		t.Errorf("%s has a parent that is not there", id)
	}
}

// A file that does not hold what its name says is not believed, and git says what is wrong.
func TestADamagedObjectIsNotBelieved(t *testing.T) {
	b := newBed(t, nil)
	commit := b.result("01", files{"x": "1"})
	for name, damage := range map[string]func(path string){
		"another":  func(path string) { write(t, path, string(deflated(t, object{"blob", []byte("other")}))) },
		"cut":      func(path string) { cut(t, path) },
		"empty":    func(path string) { write(t, path, "") },
		"no zlib":  func(path string) { write(t, path, "commit") },
		"a folder": func(path string) { mkdir(t, path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := looseFile(b.Objects(), commit)
			kept, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			remove(t, path)
			damage(path)
			if o, ok := b.readHere(commit); ok {
				t.Errorf("believed: %q", o.data)
			}
			b.open()
			if tree, err := b.treeOf(b.ctx, commit); err == nil {
				t.Errorf("has the tree %s", tree)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, kept, 0o444); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, ok := b.readHere(commit); !ok {
		t.Error("what is in order again is not read")
	}
}

func deflated(t *testing.T, o object) []byte {
	t.Helper()
	var b bytes.Buffer
	z := newDeflater()
	z.Reset(&b)
	if _, err := z.Write(o.whole()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func cut(t *testing.T, path string) {
	t.Helper()
	write(t, path, "x")
	data := deflated(t, object{"blob", bytes.Repeat([]byte("x"), 100)})
	write(t, path, string(data[:len(data)/2]))
}

// An object that is written again is as young as a new one.
func TestWrittenAgainIsYoung(t *testing.T) {
	b := newBed(t, nil)
	o := object{"blob", []byte("again")}
	id, err := b.writeHere(o)
	if err != nil {
		t.Fatal(err)
	}
	path, old := looseFile(b.Objects(), id), time.Now().Add(-48*time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if again, err := b.writeHere(o); err != nil || again != id {
		t.Fatalf("%s, %v", again, err)
	}
	if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) > time.Hour || info.Mode() != 0o444 {
		t.Errorf("%v, %v", info, err)
	}
}

// A pipe where an object or a reference should be is not waited for.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	b := newBed(t, nil)
	id := strings.Repeat("1", 40)
	for _, path := range []string{looseFile(b.Objects(), id), filepath.Join(b.repo, "refs/forge/pipe"), filepath.Join(b.repo, "packed-refs")} {
		mkdir(t, filepath.Dir(path))
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{id, "", "1"} {
		if o, ok := b.readHere(id); ok {
			t.Errorf("%q is read: %q", id, o.data)
		}
	}
	for _, ref := range []string{"refs/forge/pipe", "refs/forge/other"} {
		if at, ok := b.refHere(ref); ok {
			t.Errorf("%s is at %q", ref, at)
		}
	}
	if refs, ok := refsIn(b.repo, "refs/forge/"); ok {
		t.Errorf("references: %q", refs)
	}
}

// What a power cut left empty is written again.
func TestAnEmptyObjectIsWrittenAgain(t *testing.T) {
	b := newBed(t, nil)
	o := object{"blob", []byte("whole")}
	path := looseFile(b.Objects(), idOf(o.whole()))
	write(t, path, "")
	id, err := b.writeHere(o)
	if got := b.ownGit("cat-file", "blob", id); err != nil || got != "whole" {
		t.Errorf("%s holds %q, %v", id, got, err)
	}
}

// A tree of another tool's, with a folder that holds no file, is one that git would not
// write: what is put onto it has all of its trees.
func TestFilesOntoATreeWithAnEmptyFolder(t *testing.T) {
	b := newBed(t, nil)
	mktree := func(list string) string {
		t.Helper()
		res, err := b.git(b.ctx, call{args: []string{"mktree"}, stdin: strings.NewReader(list)})
		if err != nil {
			t.Fatal(err)
		}
		return res.line()
	}
	blob, err := b.writeHere(object{"blob", []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	inner := mktree("100644 blob " + blob + "\tfile\n040000 tree " + mktree("") + "\tempty\n")
	commit, err := b.CommitTree(b.ctx, mktree("040000 tree "+inner+"\tdir\n"), nil, "odd\n", "")
	if err != nil {
		t.Fatal(err)
	}
	next, err := b.WithFiles(b.ctx, commit, map[string][]byte{"new": []byte("n")}, "more\n", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.ownGit("ls-tree", "-r", "--name-only", next); got != "dir/file\nnew" {
		t.Errorf("holds %q", got)
	}
}
