package verify

import (
	"context"
	"io/fs"
	"os"
	"slices"

	"forge/internal/installed"
	"forge/internal/proof"
)

// installed sums up what setup installed for tests alone in the folder as it is
// now, before anything ran in it. It is nil where the project has no setup.
func (c *control) installed(tree folderTree) (installed.Sums, error) {
	if len(c.req.Worktree.Setup) == 0 {
		return nil, nil
	}
	manifests := map[string][]byte{}
	for _, file := range tree.Paths() {
		if _, ok := proof.WantedBy(file, nil); !ok {
			continue
		}
		content, err := tree.Read(file)
		if err != nil {
			return nil, err
		}
		manifests[file] = content
	}
	dirs := []string{c.req.Dir, homeOf(c.req.Dir)}
	if l := c.shell.laid; l != nil {
		// It was made for an accepted commit, and lies below the folder.
		dirs = slices.DeleteFunc([]string{l.folder, l.home}, func(dir string) bool { return dir == "" })
	}
	var trees []fs.FS
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		trees = append(trees, root.FS())
	}
	return installed.Find(trees, manifests)
}

// begins notes what is needed of a folder of the commit that is judged before a
// runner runs in it: what is installed for tests alone, against the trusted state,
// and which files nothing read yet.
func (c *control) begins(tree folderTree, k known) func() error {
	return func() error {
		if !c.compared {
			now, err := c.installed(tree)
			if err != nil {
				return err
			}
			c.compared, c.nowInstalled = true, now
			c.replaced = len(k.Installed.Changed(now)) > 0
		}
		return c.setUnread()
	}
}

// holdInstalled reports what is installed otherwise than on the trusted state. That
// is set up once more before: where no exact versions are named, a registry may
// have given out others meanwhile.
func (c *control) holdInstalled(ctx context.Context) error {
	if !c.replaced {
		return nil
	}
	tree, err := c.files(ctx, c.req.Trusted)
	if err != nil {
		return err
	}
	if _, err := c.ready(ctx, c.req.Trusted, false); err != nil {
		return err
	}
	trusted, err := c.installed(tree)
	if err != nil {
		return err
	}
	c.rep.Replaced = append(c.rep.Replaced, trusted.Changed(c.nowInstalled)...)
	return nil
}
