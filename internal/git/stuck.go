package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// stuckAfter is how long a git may work in a folder before Forge looks for
// what could make it wait for ever.
const stuckAfter = 2 * time.Second

var errStuck = errors.New("git waits on a pipe that lies in the folder")

// unstuck runs do. Git opens files named .gitignore, .gitattributes and
// .gitmodules wherever it meets them; on a named pipe that never returns. When
// do takes long, such pipes are looked for, removed, and do is run again.
func (s *Store) unstuck(ctx context.Context, dir string, do func(context.Context) (result, error)) (result, error) {
	for {
		inner, cancel := context.WithCancelCause(ctx)
		done := make(chan struct{})
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			t := time.NewTimer(stuckAfter)
			defer t.Stop()
			select {
			case <-done:
			case <-t.C:
				if pipes := namedPipes(inner, dir); len(pipes) > 0 {
					cancel(errStuck)
				}
			}
		}()
		res, err := do(inner)
		close(done)
		<-watched
		stuck := errors.Is(context.Cause(inner), errStuck)
		cancel(nil)
		if err == nil || !stuck {
			return res, err
		}
		for _, pipe := range namedPipes(ctx, dir) {
			if err := os.Remove(pipe); err != nil {
				return res, err
			}
		}
	}
}

// namedPipes finds what is no regular file, folder or link under a name that
// git opens by itself.
func namedPipes(ctx context.Context, dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || d.Type().IsRegular() || d.Type()&(fs.ModeDir|fs.ModeSymlink) != 0 {
			return nil
		}
		switch d.Name() {
		case ".gitignore", ".gitattributes", ".gitmodules":
			found = append(found, path)
		}
		return nil
	})
	return found
}
