package server

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	charm "charm.land/log/v2"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/text"
)

// Candidate is a checkout below the server's roots that may become a project.
type Candidate struct {
	Dir     string // without links
	Changed time.Time
}

// Candidates are the checkouts below the server's roots, where Checkouts looks,
// but for those in but; the one that somebody committed to last comes first. No
// program is run to find them, and no link leads out of the roots.
func Candidates(log *charm.Logger, set config.WebServer, but []string) []Candidate {
	var out []Candidate
	for _, root := range set.Roots {
		dirs, err := foldersIn(root)
		if err == nil {
			root, err = filepath.EvalSymlinks(root)
		}
		if err != nil {
			log.Warn("a folder of server.roots cannot be read", "folder", root, "err", err)
			continue
		}
		for _, dir := range dirs {
			real, err := filepath.EvalSymlinks(dir)
			if err != nil || !within(root, real) || text.Hides(real) {
				continue
			}
			changed, ok := checkoutSince(real)
			known := slices.ContainsFunc(but, func(other string) bool { return project.SameDir(other, real) }) ||
				slices.ContainsFunc(out, func(c Candidate) bool { return c.Dir == real })
			if ok && !known {
				out = append(out, Candidate{real, changed})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Candidate) int {
		return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.Dir, b.Dir))
	})
	return out
}

// checkoutSince says whether a folder is a checkout, and when its head moved last.
func checkoutSince(dir string) (time.Time, bool) {
	if info, err := os.Lstat(filepath.Join(dir, ".git")); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		return time.Time{}, false
	}
	for _, name := range []string{".git/logs/HEAD", ".git/HEAD", ".git"} {
		if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			return info.ModTime(), true
		}
	}
	return time.Time{}, false
}
