package git

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestMerge(t *testing.T) {
	b := newBed(t, files{"a": "1\n2\n3\n", "b": "b\n", "odd\nname": "o\n", ".forge/forge.toml": "x\n"})
	ours := b.result("01", files{"a": "ours\n2\n3\n", "odd\nname": "ours\n", "new": "n"})
	clean := b.result("02", files{"a": "1\n2\ntheirs\n", "exe": "! x"}, "b")
	m, err := b.Merge(b.ctx, ours, clean)
	if err != nil || len(m.Conflicts) != 0 {
		t.Fatalf("Merge = %+v, %v", m, err)
	}
	want := files{"a": "ours\n2\ntheirs\n", "odd\nname": "ours\n", "new": "n", "exe": "! x", ".forge/forge.toml": "x\n"}
	same(t, "merged", b.tree(m.Tree), want)

	theirs := b.result("03", files{"a": "theirs\n2\n3\n", "odd\nname": "theirs\n"}, "b")
	m, err = b.Merge(b.ctx, ours, theirs)
	if err != nil {
		t.Fatal(err)
	}
	sameStrings(t, "conflicts", m.Conflicts, []string{"a", "odd\nname"})
	dir := filepath.Join(b.state, "runs/r/phases/03")
	paths, err := b.ConflictFolder(b.ctx, dir, ours, theirs)
	if err != nil {
		t.Fatal(err)
	}
	sameStrings(t, "conflicts in the folder", paths, m.Conflicts)
	same(t, "folder", list(t, dir), b.tree(m.Tree))
	if got := runGit(t, dir, "rev-parse", "HEAD"); got != ours {
		t.Errorf("HEAD in the folder = %s", got)
	}
	unresolved := b.snap(dir, ours)
	marked, err := b.HasMarkers(b.ctx, unresolved.Commit, append(paths, "new", "gone", "missing\nfile"))
	if err != nil {
		t.Fatal(err)
	}
	sameStrings(t, "marked", marked, paths)
	b.write(dir, files{"a": "both\n2\n3\n", "odd\nname": "both\n"})
	resolved := b.snap(dir, ours)
	if marked, err := b.HasMarkers(b.ctx, resolved.Commit, paths); err != nil || marked != nil {
		t.Errorf("marked after resolving: %q, %v", marked, err)
	}
	same(t, "resolved", b.tree(resolved.Commit), files{"a": "both\n2\n3\n", "odd\nname": "both\n", "new": "n", ".forge/forge.toml": "x\n"})
	// ConflictFolder does not need a folder to start from.
	if _, err := b.ConflictFolder(b.ctx, filepath.Join(b.state, "runs/r/phases/04"), ours, theirs); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Merge(b.ctx, ours, strings.Repeat("1", 40)); err == nil {
		t.Error("merge with a commit that does not exist went through")
	}
}

func TestMarkers(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a\n=======\nb\n": false, "<<<<<<< ours\n": true, "x\n>>>>>>> theirs\n": true, "x\n>>>>>>>": true, "||||||| base\r\n": true,
		"<<<<<<<<< deep\n": true, " <<<<<<< x\n": false, "<<<<<<\n": false, "<<<<<<<x\n": false, "\n<<<<<<<\r\n": true,
		strings.Repeat("x", 100_000) + "<<<<<<< ours\n":   false,
		strings.Repeat("x", 100_000) + "\n<<<<<<< ours\n": true,
	} {
		if got, err := markers(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("markers(%.40q) = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestSquashAndCommitTree(t *testing.T) {
	b := newBed(t, nil)
	dir := b.folder("01")
	b.write(dir, files{"one": "1"})
	snap := b.snap(dir, b.base)
	message := "subject\n\nForge-Run: r1\nForge-Phase: 01\n"
	id, err := b.Squash(b.ctx, snap.Tree, b.base, message, "refs/forge/head")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.ownGit("log", "-1", "--format=%P|%T|%an|%ae|%cn|%ce|%(trailers:key=Forge-Run,valueonly,separator=)", id); got != strings.Join([]string{b.base, snap.Tree, "Test", "test@example.invalid", "Test", "test@example.invalid", "r1"}, "|") {
		t.Errorf("squash = %q", got)
	}
	if same, err := b.Squash(b.ctx, snap.Tree, id, "nothing", "refs/forge/head2"); err != nil || same != id {
		t.Errorf("empty squash = %s, %v, want %s", same, err, id)
	}
	if got, _ := b.ReadRef(b.ctx, "refs/forge/head2"); got != id {
		t.Errorf("reference after an empty squash = %s", got)
	}
	two, err := b.CommitTree(b.ctx, snap.Tree, []string{id, snap.Commit}, "zero\x00byte", "refs/forge/merge")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.ownGit("log", "-1", "--format=%P|%an|%s", two); got != id+" "+snap.Commit+"|Forge|zerobyte" {
		t.Errorf("commit = %q", got)
	}
	if name, _, ok := b.Identity(); name != "Test" || !ok {
		t.Errorf("identity = %s, %v", name, ok)
	}
	for _, nobody := range []string{"", " .,;"} {
		b.run("config", "user.name", nobody)
		b.open()
		if name, email, ok := b.Identity(); name != "Forge" || email != "forge@localhost" || ok {
			t.Errorf("identity of %q = %s <%s>, %v", nobody, name, email, ok)
		}
		if _, err := b.Squash(b.ctx, snap.Tree, b.base, "m", "refs/forge/head"); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range [][2]string{{"HEAD", b.base}, {snap.Tree, "-p"}, {"", b.base}} {
		if _, err := b.CommitTree(b.ctx, bad[0], []string{bad[1]}, "m", ""); err == nil {
			t.Errorf("CommitTree(%q) went through", bad)
		}
	}
	if _, err := b.CommitTree(b.ctx, snap.Tree, nil, "m", "HEAD"); err == nil {
		t.Error("CommitTree to HEAD went through")
	}
}

func TestWithFilesFrom(t *testing.T) {
	b := newBed(t, files{"Makefile": "test:\n", "t/a_test": "a\n", "t/gone": "g\n", "code": "c\n", "f": "f\n"})
	commit := b.result("01", files{"Makefile": "evil:\n", "t/new_test": "n\n", "code": "changed\n", "f/g": "folder\n"}, "t/gone", "f")
	id, err := b.WithFilesFrom(b.ctx, commit, b.base, []string{"Makefile", "t/a_test", "t/gone", "t/new_test", "f", "never/was"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "mixed", b.tree(id), files{"Makefile": "test:\n", "t/a_test": "a\n", "t/gone": "g\n", "code": "changed\n", "f": "f\n"})
	for _, paths := range [][]string{nil, {"t/a_test"}} {
		if same, err := b.WithFilesFrom(b.ctx, commit, b.base, paths); err != nil || same != commit {
			t.Errorf("WithFilesFrom(%q) = %s, %v, want the commit itself", paths, same, err)
		}
	}
}

func TestWithContents(t *testing.T) {
	b := newBed(t, files{"package.json": "{}\n", "run": "! x\n", "other": "o\n"})
	id, err := b.WithContents(b.ctx, b.base, map[string][]byte{"package.json": []byte("{\"a\":1}\r\n"), "run": nil})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "contents", b.tree(id), files{"package.json": "{\"a\":1}\r\n", "run": "! ", "other": "o\n"})
	if same, err := b.WithContents(b.ctx, b.base, map[string][]byte{"other": []byte("o\n")}); err != nil || same != b.base {
		t.Errorf("same contents = %s, %v", same, err)
	}
	if _, err := b.WithContents(b.ctx, b.base, map[string][]byte{"new": nil}); err == nil {
		t.Error("a file that is not there went through")
	}
}

func TestReading(t *testing.T) {
	b := newBed(t, files{"a": "a\n", "link": "-> /etc/passwd", "bin": "\x00\x01", "old": strings.Repeat("line\n", 50), "d/:(top)f": "f\n"})
	commit := b.result("01", files{"a": "b\n", "bin": "\x00\x02", "renamed": strings.Repeat("line\n", 50), "d/:(top)f": "g\n"}, "old")
	b.run("config", "diff.external", "false")
	all, err := b.Changes(b.ctx, b.base, commit)
	if err != nil {
		t.Fatal(err)
	}
	want := []work.FileChange{{Path: "a", Status: "M"}, {Path: "bin", Status: "M"}, {Path: "d/:(top)f", Status: "M"}, {Path: "old", Status: "D"}, {Path: "renamed", Status: "A"}}
	if !slices.Equal(all, want) {
		t.Errorf("Changes = %v, want %v", all, want)
	}
	diff, err := b.Diff(b.ctx, b.base, commit)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"-a\n+b\n", "Binary files", "rename from old\nrename to renamed"} {
		if !strings.Contains(diff, s) {
			t.Errorf("diff lacks %q:\n%s", s, diff)
		}
	}
	if part, err := b.DiffPaths(b.ctx, b.base, commit, []string{"d/:(top)f", "*"}); err != nil || strings.Contains(part, "Binary") || !strings.Contains(part, "+g") {
		t.Errorf("diff of a path = %q, %v", part, err)
	}
	if data, err := b.Show(b.ctx, b.base, "link"); err != nil || string(data) != "/etc/passwd" {
		t.Errorf("Show(link) = %q, %v", data, err)
	}
	for _, path := range []string{"nothing", "no\nthing", "d"} {
		if _, err := b.Show(b.ctx, b.base, path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Show(%q): %v", path, err)
		}
	}
	if ok, err := b.Exists(b.ctx, commit); !ok || err != nil {
		t.Errorf("Exists = %v, %v", ok, err)
	}
	if ok, err := b.Exists(b.ctx, strings.Repeat("1", 40)); ok || err != nil {
		t.Errorf("Exists(nothing) = %v, %v", ok, err)
	}
	list, err := b.Files(b.ctx, b.base)
	if err != nil {
		t.Fatal(err)
	}
	sameStrings(t, "Files", list, []string{"a", "bin", "d/:(top)f", "link", "old"})
	big := b.result("02", files{"big": strings.Repeat("0123456789abcde\n", MaxDiffBytes/16+1)})
	var large *TooLargeError
	if _, err := b.Show(b.ctx, big, "big"); !errors.As(err, &large) || large.Size != MaxDiffBytes+16 {
		t.Errorf("Show(big): %v", err)
	}
	if diff, err = b.Diff(b.ctx, b.base, big); err != nil || len(diff) > MaxDiffBytes+100 || !strings.HasSuffix(diff, "bytes]\n") {
		t.Errorf("big diff: %d bytes, %v", len(diff), err)
	}
}
