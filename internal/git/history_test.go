package git

import (
	"slices"
	"strings"
	"testing"
)

// TestHistory: what a branch grew by, what each commit changed, its parents, and
// who touched a path last, also where its name reads as a pattern.
func TestHistory(t *testing.T) {
	b := newBed(t, files{"a.txt": "a\n", "[a]*.txt": "odd\n", "sub/b.txt": "b\n"})
	change := func(message string, content files) string {
		b.write(b.user, content)
		b.run("add", "-A")
		b.run("commit", "-q", "-m", message)
		return b.run("rev-parse", "HEAD")
	}
	first := change("first\n\nForge-Run: r1", files{"a.txt": "1\n"})
	b.run("checkout", "-q", "-b", "side", b.base)
	side := change("side", files{"sub/b.txt": "2\n"})
	b.run("checkout", "-q", "main")
	b.run("merge", "-q", "--no-ff", "-m", "merge", "side")
	merge := b.run("rev-parse", "HEAD")

	all, err := b.History(b.ctx, b.base, merge)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	want := []string{first, side, merge}
	slices.Sort(want)
	if !slices.Equal(ids, want) || all[2].ID != merge {
		t.Errorf("got history %v, want %v with the merge last", all, want)
	}
	// What both sides changed and the merge settled is the merge's own; a file may have
	// the name of a commit.
	b.run("checkout", "-q", "-b", "third", first)
	change("third", files{"a.txt": "3\n", ":x": "x\n", first: "named so\n"})
	third := b.run("rev-parse", "HEAD")
	b.run("checkout", "-q", "-b", "fourth", first)
	fourth := change("fourth", files{"a.txt": "4\n"})
	conflict := b.run("commit-tree", b.run("rev-parse", merge+"^{tree}"), "-p", third, "-p", fourth, "-m", "clash")
	b.run("checkout", "-q", "main")
	touched, err := b.TouchedBy(b.ctx, []string{b.base, first, third, merge, conflict})
	if err != nil {
		t.Fatal(err)
	}
	for commit, want := range map[string]string{b.base: "[a]*.txt a.txt sub/b.txt", first: "a.txt", merge: "", third: first + " :x a.txt", conflict: "a.txt sub/b.txt"} {
		got := slices.Clone(touched[commit])
		slices.Sort(got)
		words := strings.Fields(want)
		slices.Sort(words)
		if !slices.Equal(got, words) {
			t.Errorf("touched by %s: got %q, want %q", commit, got, words)
		}
	}
	if got, err := b.TouchedBy(b.ctx, nil); err != nil || len(got) != 0 {
		t.Errorf("nothing is touched by nothing: %v, %v", got, err)
	}
	// Beyond the side stand the first and the merge.
	beyond, err := b.Beyond(b.ctx, side, merge, 10)
	if err != nil || len(beyond) != 2 || !slices.Equal(beyond[merge], []string{first, side}) || !slices.Equal(beyond[first], []string{b.base}) {
		t.Errorf("beyond: %v, %v", beyond, err)
	}
	if one, err := b.Beyond(b.ctx, b.base, merge, 1); err != nil || len(one) != 1 || len(one[merge]) != 2 {
		t.Errorf("the newest beyond: %v, %v", one, err)
	}
	if names, err := b.Authors(b.ctx, b.base, merge); err != nil || len(names) != 1 || names[0] == "" {
		t.Errorf("authors: got %q, %v, want the one who committed, once", names, err)
	}
	if names, err := b.Authors(b.ctx, merge, merge); err != nil || len(names) != 0 {
		t.Errorf("authors of nothing: got %q, %v", names, err)
	}
	own, err := b.Store.WithFiles(b.ctx, merge, map[string][]byte{"own.txt": []byte("x\n")}, "own", "")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := b.Authors(b.ctx, merge, own); err != nil || len(names) != 0 {
		t.Errorf("authors of what Forge made: got %q, %v", names, err)
	}
	for commit, want := range map[string][]string{b.base: nil, first: {b.base}, merge: {first, side}} {
		if got, err := b.Parents(b.ctx, commit); err != nil || !slices.Equal(got, want) {
			t.Errorf("parents: got %v, %v, want %v", got, err, want)
		}
	}
	for path, want := range map[string]string{"a.txt": first, "[a]*.txt": b.base, "sub/b.txt": side, "none": ""} {
		got, err := b.LastTouched(b.ctx, merge, path)
		if err != nil || got.ID != want {
			t.Errorf("last touched %s: got %s, %v, want %s", path, got.ID, err, want)
		}
	}
	if got, _ := b.LastTouched(b.ctx, merge, "a.txt"); got.Message != "first\n\nForge-Run: r1\n" {
		t.Errorf("got message %q", got.Message)
	}
}
