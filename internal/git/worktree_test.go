package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// workTree records the checkout and holds that nothing of the user's changed.
func (b *bed) workTree() (commit string, left []string) {
	b.t.Helper()
	before := b.userState()
	commit, left, err := b.WorkTree(b.ctx, b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	if after := b.userState(); after != before {
		b.t.Errorf("the user's repository changed:\n%s\n%s", before, after)
	}
	return commit, left
}

func TestWorkTreeHoldsWhatTheCheckoutHolds(t *testing.T) {
	b := newBed(t, nil)
	if commit, left := b.workTree(); commit != b.base || left != nil {
		t.Fatalf("a clean checkout is %s, %q", commit, left)
	}
	b.write(b.user, files{"a.txt": "staged\n"})
	b.run("add", "a.txt")
	b.write(b.user, files{"a.txt": "changed\n", "new/c.txt": "c\n", "x.log": "ignored\n", ".forge/forge.toml": "[agent]\nuse = \"x\"\n"})
	if err := os.Remove(filepath.Join(b.user, "src", "b.txt")); err != nil {
		t.Fatal(err)
	}
	commit, left := b.workTree()
	got, err := b.Changes(b.ctx, b.base, commit)
	if err != nil || left != nil {
		t.Fatal(left, err)
	}
	var said []string
	for _, c := range got {
		said = append(said, c.Status+" "+c.Path)
	}
	if want := []string{"M .forge/forge.toml", "M a.txt", "A new/c.txt", "D src/b.txt"}; !slices.Equal(said, want) {
		t.Errorf("the change is %q, want %q", said, want)
	}
	if text, err := b.Show(b.ctx, commit, "a.txt"); err != nil || string(text) != "changed\n" {
		t.Errorf("a.txt is %q, %v", text, err)
	}
	if names, err := os.ReadDir(filepath.Dir(b.user)); err != nil || len(names) != 2 {
		t.Errorf("beside the checkout and the state folder there is more: %v, %v", names, err)
	}
}

func TestWorkTreeNamesWhatGitCannotRecord(t *testing.T) {
	b := newBed(t, nil)
	b.write(b.user, files{"fine.txt": "x\n"})
	empty := filepath.Join(b.user, "nested")
	mkdir(t, empty)
	b.run("init", "-q", empty)
	commit, left := b.workTree()
	if !slices.Equal(left, []string{"nested/"}) {
		t.Errorf("left out: %q", left)
	}
	if files, err := b.Files(b.ctx, commit); err != nil || !slices.Contains(files, "fine.txt") {
		t.Errorf("what is fine is not recorded: %q, %v", files, err)
	}
}

// A file at which git gives up does not take the others with it.
func TestWorkTreeWithAFileThatStopsGit(t *testing.T) {
	b := newBed(t, nil)
	b.write(b.user, files{".gitattributes": "*.u working-tree-encoding=UTF-16\n", "bad.u": "a", "fine.txt": "x\n"})
	commit, left := b.workTree()
	if !slices.Equal(left, []string{"bad.u"}) {
		t.Errorf("left out: %q", left)
	}
	if files, err := b.Files(b.ctx, commit); err != nil || !slices.Contains(files, "fine.txt") || slices.Contains(files, "bad.u") {
		t.Errorf("recorded: %q, %v", files, err)
	}
}

func TestWorkTreeOfSparseCheckout(t *testing.T) {
	b := newBed(t, nil)
	b.run("sparse-checkout", "set", "--no-cone", "/a.txt", "/.forge/")
	b.open()
	if _, err := os.Stat(filepath.Join(b.user, "src")); err == nil {
		t.Fatal("the checkout is not sparse")
	}
	if commit, left := b.workTree(); commit != b.base || left != nil {
		changes, err := b.Changes(b.ctx, b.base, commit)
		t.Errorf("files that are left out count as changed: %v %v, %v", changes, left, err)
	}
}

func TestWhereAChangeBegins(t *testing.T) {
	b := newBed(t, nil)
	b.run("checkout", "-q", "-b", "side")
	side := b.commitFiles(files{"side.txt": "1\n"})
	b.run("checkout", "-q", "main")
	main := b.commitFiles(files{"main.txt": "1\n"})
	if got, err := b.MergeBase(b.ctx, side, main); err != nil || got != b.base {
		t.Errorf("merge base %q, %v; want %s", got, err, b.base)
	}
	b.run("checkout", "-q", "--orphan", "alone")
	alone := b.commitFiles(files{"alone.txt": "1\n"})
	if got, err := b.MergeBase(b.ctx, alone, main); err != nil || got != "" {
		t.Errorf("two histories have the merge base %q, %v", got, err)
	}
	for rev, want := range map[string]string{"main": main, "main^": b.base, "refs/heads/side": side, "nowhere": "", "--all": "", "main:a.txt": "", "": ""} {
		if got, err := b.FindCommit(b.ctx, rev); err != nil || got != want {
			t.Errorf("FindCommit(%q) = %q, %v; want %q", rev, got, err, want)
		}
	}
	if got, err := b.Upstream(b.ctx); err != nil || got != "" {
		t.Errorf("upstream %q, %v of a branch that follows nothing", got, err)
	}
	b.run("checkout", "-q", "side")
	b.run("branch", "-q", "--set-upstream-to=main")
	if got, err := b.Upstream(b.ctx); err != nil || got != "refs/heads/main" {
		t.Errorf("upstream %q, %v", got, err)
	}
}
