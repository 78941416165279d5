package git

import (
	"context"
	"fmt"
	"strings"
)

// Branches are the branches of the user's repository around a folder: those of its
// own, and what its remotes had when they were last asked, without the remotes'
// names. Nothing is asked of a remote.
func Branches(ctx context.Context, environ []string, dir string) (here, remote map[string]bool, err error) {
	r, err := newRunner(environ)
	if err != nil {
		return nil, nil, err
	}
	res, err := r.run(ctx, call{dir: dir, args: []string{"for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"}})
	if err != nil {
		return nil, nil, fmt.Errorf("list branches: %w", err)
	}
	remotes, err := r.run(ctx, call{dir: dir, args: []string{"remote"}})
	if err != nil {
		return nil, nil, fmt.Errorf("list remotes: %w", err)
	}

	here, remote = map[string]bool{}, map[string]bool{}
	for ref := range strings.SplitSeq(res.line(), "\n") {
		if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
			here[name] = true
		}
		for of := range strings.SplitSeq(remotes.line(), "\n") {
			if name, ok := strings.CutPrefix(ref, "refs/remotes/"+of+"/"); ok && of != "" {
				remote[name] = true
			}
		}
	}
	return here, remote, nil
}
