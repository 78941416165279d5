package git

import (
	"errors"
	"path/filepath"
	"testing"

	"forge/internal/work"
)

func TestNewBranchIsMadeOnce(t *testing.T) {
	b := newBed(t, nil)
	one, two := b.result("01", files{"one": "1"}), b.result("02", files{"two": "2"})
	before := b.userState()
	if err := b.NewBranch(b.ctx, "mine", one); err != nil {
		t.Fatal(err)
	}
	if got := b.run("show", "mine:one"); got != "1" {
		t.Errorf("file of the branch = %q", got)
	}
	b.run("branch", "-m", "mine", "kept")
	b.run("branch", "-D", "kept")
	if got := b.userState(); got != before {
		t.Errorf("the checkout is\n%s\nwant\n%s", got, before)
	}

	if err := b.NewBranch(b.ctx, "mine", one); err != nil {
		t.Fatal(err)
	}
	var there *BranchError
	if err := b.NewBranch(b.ctx, "mine", two); !errors.As(err, &there) {
		t.Errorf("a branch that is there: %v", err)
	}
	if got := b.run("rev-parse", "mine"); got != one {
		t.Errorf("the branch moved to %s", got)
	}
	if err := b.NewBranch(b.ctx, "a..b", two); err == nil {
		t.Error("a name that git does not take was taken")
	}
}

func TestStageIsTakenBack(t *testing.T) {
	b := newBed(t, nil)
	commit := b.result("01", files{"a.txt": "changed\n", "new/one": "1"}, "src/b.txt")
	before := list(t, b.user)
	base := work.Base{Commit: b.base, Branch: "main"}
	if why, err := b.Stage(b.ctx, base, commit); err != nil || why != "" {
		t.Fatalf("Stage = %q, %v", why, err)
	}
	if got, want := b.run("status", "--porcelain"), "M  a.txt\nA  new/one\nD  src/b.txt"; got != want {
		t.Errorf("status is\n%s\nwant\n%s", got, want)
	}
	if got := b.run("rev-parse", "HEAD"); got != b.base {
		t.Errorf("HEAD moved to %s", got)
	}
	b.run("reset", "--quiet", "--merge")
	if got := b.run("status", "--porcelain"); got != "" {
		t.Errorf("taken back, git status says %q", got)
	}
	same(t, "the checkout, taken back,", list(t, b.user), before)
}

func TestStageTouchesNothingOfTheUsers(t *testing.T) {
	for name, in := range map[string]struct {
		path, why string
		staged    bool
	}{
		"a changed file":   {"a.txt", "tracked file a.txt is changed", false},
		"a staged file":    {"other", "tracked file other is changed", true},
		"a file of no one": {"new/one", "untracked file new/one is in the way", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, nil)
			commit := b.result("01", files{"a.txt": "changed\n", "new/one": "1"})
			write(t, filepath.Join(b.user, in.path), "mine\n")
			if in.staged {
				b.run("add", in.path)
			}
			before := b.userState()
			why, err := b.Stage(b.ctx, work.Base{Commit: b.base, Branch: "main"}, commit)
			if err != nil || why != in.why {
				t.Errorf("Stage = %q, %v, want %q", why, err, in.why)
			}
			if got := b.userState(); got != before {
				t.Errorf("the checkout is\n%s\nwant\n%s", got, before)
			}
		})
	}
}
