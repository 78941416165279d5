package verify

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// longAgo is an access time before every other: the next read of the file
// changes it on file systems that keep access times at all.
func longAgo() time.Time { return time.Unix(1_000_000_000, 0) }

// reading is what is known of which changed files are opened.
type reading struct {
	works  bool
	asked  bool
	opened map[string]bool
}

// setUnread sets the access times of the changed product files back.
func (c *control) setUnread() error {
	if !c.reading.asked {
		works, err := keepsAccess(c.req.Dir)
		if err != nil {
			return err
		}
		c.reading = reading{asked: true, works: works, opened: map[string]bool{}}
	}
	if !c.reading.works {
		return nil
	}
	root, err := os.OpenRoot(c.req.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range c.req.Product {
		// What cannot be set back was removed, or counts as read.
		if info, err := root.Lstat(p); err == nil && info.Mode().IsRegular() {
			_ = root.Chtimes(p, longAgo(), info.ModTime())
		}
	}
	return nil
}

// noteRead adds what was opened since.
func (c *control) noteRead() error {
	if !c.reading.works {
		return nil
	}
	for _, p := range c.req.Product {
		info, err := os.Lstat(filepath.Join(c.req.Dir, filepath.FromSlash(p)))
		switch {
		case err != nil || !info.Mode().IsRegular():
			c.reading.opened[p] = true // removed, or a link: there is nothing to read
		default:
			at, ok := accessTime(info)
			if !ok || at.After(longAgo()) {
				c.reading.opened[p] = true
			}
		}
	}
	return nil
}

// readBack names the changed product files that nothing opened: not the
// runners, and not the verify commands, which are run once more where there is
// doubt.
func (c *control) readBack(ctx context.Context) error {
	switch {
	case !c.reading.asked:
		if len(c.req.Product) > 0 {
			c.skip("which changed files are read was not asked: no runner can be")
		}
		return nil
	case !c.reading.works:
		c.skip("which changed files are read cannot be seen: this file system keeps no access times")
		return nil
	}
	if len(c.unread()) == 0 {
		return nil
	}
	c.say("which changed files the verify commands read")
	// With the claim's own new tests: what they alone need is read by them.
	sh, err := c.ready(ctx, c.req.Snapshot, false)
	if err != nil {
		return err
	}
	if err := c.setUnread(); err != nil {
		return err
	}
	if _, err := sh.run(ctx, c.req.Commands); err != nil {
		return err
	}
	if err := c.noteRead(); err != nil {
		return err
	}
	c.rep.Unread = c.unread()
	return nil
}

func (c *control) unread() []string {
	return slices.DeleteFunc(slices.Clone(c.req.Product), func(p string) bool { return c.reading.opened[p] || isDocument(p) || isDeclaration(p) })
}

// isDeclaration says whether a file holds types alone: nothing runs it, and one
// that a compiler read is not asked about.
func isDeclaration(p string) bool {
	return slices.ContainsFunc([]string{".d.ts", ".d.mts", ".d.cts", ".pyi", ".rbs"}, func(end string) bool { return strings.HasSuffix(p, end) })
}

// isDocument says whether a file is for people only: no proof reads it.
func isDocument(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".md", ".markdown", ".rst", ".adoc", ".txt", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf":
		return true
	}
	base := strings.ToUpper(path.Base(p))
	return path.Ext(base) == "" && slices.Contains([]string{"LICENSE", "LICENCE", "NOTICE", "AUTHORS", "README", "CHANGELOG", "COPYING"}, base)
}
