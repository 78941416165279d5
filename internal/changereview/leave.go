package changereview

import (
	"context"
	"path"
	"slices"
	"strings"

	"forge/internal/config"
	"forge/internal/proof"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/review"
)

// attributes by which a repository says that nobody wrote a file by hand, as code
// hosts read them.
func attributes() []string { return []string{"linguist-generated", "linguist-vendored"} }

// mostHead is the size of a file that is looked at for whether it was generated.
const mostHead = 16 << 20

// leave divides the change into what reviewers are shown and what is left out. What
// its proof rests on, and what CI runs, is shown whatever anybody says of it.
func (r *ongoing) leave(ctx context.Context, all review.Change) (shown review.Change, out []review.LeftOut, err error) {
	ignored, err := config.NewMatcher(r.Config.File.Reviews.Ignore)
	if err != nil {
		return shown, nil, err
	}
	globs := slices.DeleteFunc(slices.Concat(r.set.Verify.Protected, config.CIFiles()), func(g string) bool { return strings.HasPrefix(g, "@") })
	protected, err := config.NewMatcher(globs)
	if err != nil {
		return shown, nil, err
	}
	var paths []string
	for _, f := range all.Files {
		paths = append(paths, f.Path)
		if f.OldPath != "" {
			paths = append(paths, f.OldPath)
		}
	}
	marked, err := r.repo.Marked(ctx, r.base.Commit, paths, attributes()...)
	if err != nil {
		return shown, nil, err
	}
	vendored, err := r.vendored(ctx)
	if err != nil {
		return shown, nil, err
	}
	was, err := r.heads(ctx, r.base.Commit, paths)
	if err != nil {
		return shown, nil, err
	}
	now, err := r.heads(ctx, r.now, paths)
	if err != nil {
		return shown, nil, err
	}
	never := func(p string) bool {
		return protected.Match(p) || runs.AgentRules(p) || proof.IsTestFile(p) && !review.InPackages(p) && !vendored(p)
	}
	shown, out = review.Filter{
		Never: never, Evidence: func(p string) bool { return r.evidence[p] }, Ignored: ignored.Match, Vendored: vendored,
		Marked: func(p string) bool { return marked[p] },
		Was:    func(p string) []byte { return was[p] }, Now: func(p string) []byte { return now[p] },
	}.Shown(all)
	if kept := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !ignored.Match(p) || !never(p) && !r.evidence[p] }); len(kept) > 0 {
		r.Log.Warn("reviews.ignore names evidence or what CI runs; it is reviewed all the same", "files", len(kept), "first", r.clean(kept[0]))
	}
	return shown, out, nil
}

// heads are files of a commit.
func (r *ongoing) heads(ctx context.Context, commit string, paths []string) (map[string][]byte, error) {
	there, err := r.repo.Files(ctx, commit)
	if err != nil {
		return nil, err
	}
	has, out := setOf(there), map[string][]byte{}
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !has[p] })
	err = r.repo.Contents(ctx, commit, paths, mostHead, func(p string, data []byte) { out[p] = data[:min(len(data), review.HeadBytes)] })
	return out, err
}

// vendored says of paths whether they lie in a folder named vendor that a package
// manager filled, by what it left there in the base. Another folder of that name
// may hold anything.
func (r *ongoing) vendored(ctx context.Context) (func(string) bool, error) {
	files, err := r.repo.Files(ctx, r.base.Commit)
	if err != nil {
		return nil, err
	}
	folders := map[string]bool{}
	for _, f := range files {
		for _, left := range []string{"vendor/modules.txt", "vendor/autoload.php"} {
			if f == left || strings.HasSuffix(f, "/"+left) {
				folders[path.Dir(f)] = true
			}
		}
	}
	return func(p string) bool {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if folders[dir] {
				return true
			}
		}
		return false
	}, nil
}

// readChange reads the change that reviewers are asked about.
func (r *ongoing) readChange(ctx context.Context, reviewers *runs.Reviewers, changes []work.FileChange) error {
	all, err := reviewers.Change(ctx, r.base.Commit, r.now)
	if err != nil {
		return err
	}
	if r.shown, r.out, err = r.leave(ctx, all); err != nil {
		return err
	}
	r.whole, r.hidden = all, len(changes) > 0 && len(r.shown.Files) == 0
	reviewers.Prepare = func(in *review.Input) { in.Change = r.shown }
	if r.pull == nil {
		return nil
	}
	return r.onlyNew(ctx, reviewers.Change)
}
