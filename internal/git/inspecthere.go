package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"forge/internal/work"
)

// inspectHere is inspectAtOnce without git, since each command of Forge begins with it:
// of a repository that lies in its checkout, is laid out as git has done since ever, and
// whose last commit lies in a file of its own. ok is false where git has to be asked.
func inspectHere(dir string) (base work.Base, gitDir string, ok bool) {
	root, ok := checkoutHere(dir)
	if !ok {
		return work.Base{}, "", false
	}
	gitDir = filepath.Join(root, ".git")
	if !plainConfig(gitDir) || !exists(gitDir, "refs") || exists(gitDir, "commondir") {
		return work.Base{}, "", false
	}
	ref, id, ok := headIn(gitDir)
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	if !ok || ref != "" && !isBranch || branchInTheWay(gitDir) {
		return work.Base{}, "", false
	}
	if !isCommitIn(objectDirs(filepath.Join(gitDir, "objects")), id) {
		return work.Base{}, "", false
	}
	return work.Base{RepoRoot: root, Commit: id, Branch: branch, Shallow: exists(gitDir, "shallow")}, gitDir, true
}

// checkoutHere is the folder with the .git that git finds from dir on upwards, on the
// same file system. It is false where that is no folder, and in one that may be a .git.
func checkoutHere(dir string) (root string, ok bool) {
	root, err := filepath.Abs(dir)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return "", false
	}
	var first, now syscall.Stat_t
	for at := root; ; at = filepath.Dir(at) {
		if err := syscall.Stat(at, &now); err != nil || at != root && now.Dev != first.Dev {
			return "", false
		}
		if at == root {
			if first = now; first.Mode&syscall.S_IFMT != syscall.S_IFDIR {
				return "", false
			}
		}
		switch info, err := os.Lstat(filepath.Join(at, ".git")); {
		case err == nil:
			return at, info.IsDir()
		case !absent(err), exists(at, "HEAD"), at == filepath.Dir(at):
			return "", false
		}
	}
}

// plainConfig says that the configuration of a repository has nothing in it by which git
// takes another folder for its checkout, its objects or its references, and that the
// names of files are what they are written as. Anything that only looks so counts.
func plainConfig(gitDir string) bool {
	config, err := readSmall(filepath.Join(gitDir, "config"))
	if err != nil || config == nil {
		return false
	}
	for line := range strings.Lines(strings.ToLower(string(config))) {
		line = strings.TrimSpace(line)
		for word, allowed := range map[string]string{
			"bare": "bare = false", "repositoryformatversion": "repositoryformatversion = 0",
			"worktree": "", "extensions": "", "ignorecase": "", "precompose": "",
		} {
			if strings.Contains(line, word) && line != allowed {
				return false
			}
		}
	}
	return true
}

// branchInTheWay says that there may be a branch with the name of the folder that
// Forge's branches lie in: in any case, as on some file systems both are one.
func branchInTheWay(gitDir string) bool {
	isForge := func(name string) bool { return strings.EqualFold(name, "forge") }
	entries, err := os.ReadDir(filepath.Join(gitDir, "refs", "heads"))
	if err != nil && !absent(err) {
		return true
	}
	packed, ok := packedRefs(gitDir, "refs/heads/")
	if !ok {
		return true
	}
	for ref := range packed {
		if isForge(strings.TrimPrefix(ref, "refs/heads/")) {
			return true
		}
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return isForge(e.Name()) && !e.IsDir() })
}

// exists says that a folder has such an entry, as far as can be told.
func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return !absent(err)
}
