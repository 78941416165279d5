package git

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Branches are told apart by where they are; a remote may have a slash in its name.
func TestBranches(t *testing.T) {
	b := newBed(t, nil)
	there := filepath.Join(t.TempDir(), "there.git")
	b.run("init", "-q", "--bare", there)
	b.run("branch", "vk/one")
	b.run("branch", "vk/two")
	b.run("remote", "add", "my/own", there)
	b.run("push", "-q", "my/own", "vk/two")
	b.run("branch", "-D", "vk/two")

	here, remote, err := Branches(b.ctx, os.Environ(), filepath.Join(b.user, "src"))
	got := strings.Join(slices.Sorted(maps.Keys(here)), " ") + "; " + strings.Join(slices.Sorted(maps.Keys(remote)), " ")
	if err != nil || got != "main vk/one; vk/two" {
		t.Errorf("%s, %v", got, err)
	}
	if _, _, err := Branches(b.ctx, os.Environ(), t.TempDir()); err == nil {
		t.Error("a folder without a repository has branches")
	}
}
