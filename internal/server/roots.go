package server

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	charm "charm.land/log/v2"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
)

// Checkouts are the projects below the server's roots: checkouts with .forge/,
// the roots themselves or one level below them. A link in a root leads to none
// that lies elsewhere: whoever may write there cannot give the server another
// folder to work on.
func Checkouts(ctx context.Context, log *charm.Logger, set config.WebServer) ([]string, error) {
	var dirs, roots []string
	bad := &config.Problems{}
	for n, root := range set.Roots {
		below, err := foldersIn(root)
		if err == nil {
			root, err = filepath.EvalSymlinks(root)
		}
		if err != nil {
			bad.List = append(bad.List, set.BadRoot(n, "server.roots names a folder that cannot be read: "+err.Error(), "make it, or take it out"))
			continue
		}
		dirs, roots = append(dirs, below...), append(roots, root)
	}
	if len(bad.List) > 0 {
		return nil, bad
	}
	var found []string
	for _, dir := range dirs {
		if info, err := os.Stat(filepath.Join(dir, ".forge")); err != nil || !info.IsDir() {
			continue
		}
		base, err := git.Inspect(ctx, dir)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			log.Warn("a folder with .forge/ is no project", "folder", dir, "why", text.FirstLine(err.Error(), 200))
			continue
		}
		real, err := filepath.EvalSymlinks(base.RepoRoot)
		if err != nil || !project.SameDir(real, dir) {
			continue // a folder within a checkout is not one
		}
		if !slices.ContainsFunc(roots, func(root string) bool { return within(root, real) }) {
			log.Warn("a link leads out of server.roots: what it leads to is no project", "link", dir, "folder", real)
			continue
		}
		if !slices.Contains(found, real) {
			found = append(found, real)
		}
	}
	return found, nil
}

// Projects are the folders of the projects of a server that names none: those below
// its roots, or the one around its own folder where it has no roots. There may be
// none yet where people can add one in a browser, and the server waits for them.
func Projects(ctx context.Context, env project.Env, set config.WebServer, waits bool) ([]string, error) {
	if len(set.Roots) == 0 {
		return []string{env.Dir}, nil
	}
	found, err := Checkouts(ctx, env.Log, set)
	if err != nil || len(found) > 0 {
		return found, err
	}
	none := "no checkout with .forge/ is in server.roots: " + strings.Join(set.Roots, ", ")
	if set.Listen == config.ListenOff || !waits {
		return nil, refusal.New("forge init makes one", "%s", none)
	}
	env.Log.Warn(none, "way out", "add a project in the browser, or forge init in its folder")
	return nil, nil
}

// foldersIn is a folder and what lies in it, but for what is hidden.
func foldersIn(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	dirs := []string{root}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			dirs = append(dirs, filepath.Join(root, e.Name()))
		}
	}
	return dirs, nil
}

// within says whether a path without links is root or below it.
func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && filepath.IsLocal(rel)
}
