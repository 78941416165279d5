package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/work"
)

// A state folder that several checkouts share has a board for each; one whose
// folder was moved is found again.
func TestBoardsOfSeveralCheckouts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.forge("issue", "add", "mine").want(exitDone)
	other := *w
	other.root = filepath.Join(filepath.Dir(w.root), "other", filepath.Base(w.root))
	if err := os.MkdirAll(other.root, 0o755); err != nil {
		t.Fatal(err)
	}
	other.git("init", "--quiet", ".")
	other.git("commit", "--quiet", "--allow-empty", "-m", "first")
	other.forge("issue", "list").want(exitDone).says("The board is empty")
	other.forge("issue", "add", "theirs").want(exitDone).says("#1 theirs")
	w.forge("issue", "show", "1").want(exitDone).says("#1 mine")
	moved := w.root + "-moved"
	if err := os.Rename(w.root, moved); err != nil {
		t.Fatal(err)
	}
	w.root = moved
	w.forge("issue", "list").want(exitDone).says("mine")
	w.forge("issue", "add", "more").want(exitDone).says("#2 more")
	other.forge("issue", "show", "1").want(exitDone).says("#1 theirs")
}

func TestIssueDescriptionIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write("long.md", strings.Repeat("x", work.MaxIssueDescription+1))
	w.write("fits.md", strings.Repeat("x", work.MaxIssueDescription-2)+"\r\n")
	w.forge("issue", "add", "a", "--file", "long.md").want(exitUsage).warns("description: it has", "more than 262144")
	w.forge("issue", "add", "a", "--file", "fits.md").want(exitDone)
	w.fed("a\x1b[2J", "issue", "add", "b", "--description", "-").want(exitUsage).warns("line 1 has the control character U+001B")
}
