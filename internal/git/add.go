package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/work"
)

// emptyBlob is the id of a file without content.
const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

// placeholder is the name of an index entry that stands for no file.
const placeholder = ".forge-placeholder"

// addAll brings the private index to the content of the folder, in one git
// command as long as nothing is odd. It returns what is not carried: edits
// below .forge/, and files that git cannot record.
func (s *Store) addAll(ctx context.Context, f *folder, parent string) ([]string, error) {
	add := call{args: []string{"add", "--all", "--verbose", "--ignore-errors"}, ok: []int{1, 128}}
	res, err := s.inFolder(ctx, f, add)
	if err != nil {
		return nil, err
	}
	odd := res.code != 0 || res.cut
	if strings.Contains(res.stderr, "embedded git repository") || strings.Contains(res.stderr, "does not have a commit checked out") {
		odd = true
		if err := s.flattenRepositories(ctx, f); err != nil {
			return nil, err
		}
		if res, err = s.inFolder(ctx, f, add); err != nil {
			return nil, err
		}
	}
	if res.code == 128 {
		// One file can stop all of it, say one that is not in the encoding
		// that .gitattributes promises.
		if err := s.addOneByOne(ctx, f, res); err != nil {
			return nil, err
		}
	}
	var dropped []string
	if odd || strings.Contains(res.stderr, "ermission denied") {
		if dropped, err = s.leftOut(ctx, f, res.stderr); err != nil {
			return nil, err
		}
	}
	if odd || touchesForge(res.out) {
		edits, err := s.restoreForge(ctx, f, parent, dropped)
		if err != nil {
			return nil, err
		}
		dropped = append(dropped, edits...)
	}
	slices.Sort(dropped)
	return slices.Compact(dropped), nil
}

// touchesForge looks for .forge in what "add --verbose" says it did. A file
// name with a line feed may imitate such a line; that only costs time.
func touchesForge(out []byte) bool {
	for _, line := range splitLines(out) {
		for _, verb := range []string{"add '", "remove '"} {
			path, ok := strings.CutPrefix(line, verb)
			if ok && (strings.HasPrefix(path, ".forge/") || strings.HasPrefix(path, ".forge'")) {
				return true
			}
		}
	}
	return false
}

// restoreForge puts .forge back, in index and folder, as it is in parent and
// returns what was different. leftOut are the paths that the index does not
// know about.
func (s *Store) restoreForge(ctx context.Context, f *folder, parent string, leftOut []string) ([]string, error) {
	unknown := false
	for _, path := range leftOut {
		if strings.HasPrefix(path, ".forge/") && !linked(f.dir, path) {
			unknown = true
			if err := removeAll(filepath.Join(f.dir, filepath.FromSlash(path))); err != nil {
				return nil, err
			}
		}
	}
	res, err := s.inFolder(ctx, f, call{args: []string{"diff-index", "--cached", "-z", "--raw", "--no-renames", parent, "--", ".forge"}})
	if err != nil {
		return nil, err
	}
	edits, err := parseRaw(res.out)
	if err != nil || len(edits.files) == 0 && !unknown {
		return nil, err
	}
	restore := call{args: []string{"restore", "--quiet", "--source=" + parent, "--staged", "--worktree", "--", ".forge"}}
	if _, err := s.inFolder(ctx, f, restore); err != nil {
		// Read-only folders, or a repository made of .forge itself.
		if err := removeAll(filepath.Join(f.dir, ".forge")); err != nil {
			return nil, err
		}
		if _, err := s.inFolder(ctx, f, restore); err != nil {
			return nil, err
		}
	}
	return paths(edits.files), nil
}

func paths(changes []work.FileChange) []string {
	all := make([]string, len(changes))
	for i, c := range changes {
		all[i] = c.Path
	}
	return all
}

// flattenRepositories makes git see the repositories in the folder as
// ordinary folders. Git does so where the index has an entry below one, so
// each gets an entry, which the next add removes since it has no file.
func (s *Store) flattenRepositories(ctx context.Context, f *folder) error {
	repos, err := nestedRepositories(ctx, f)
	if err != nil {
		return err
	}
	var info strings.Builder
	for _, repo := range repos {
		info.WriteString("0 " + ZeroID + "\t" + repo + "\x00") // the link that add made of it
	}
	for _, repo := range repos {
		info.WriteString("100644 " + emptyBlob + " 0\t" + repo + "/" + placeholder + "\x00")
	}
	if _, err = s.inFolder(ctx, f, call{
		args:  []string{"update-index", "--replace", "-z", "--index-info"},
		stdin: strings.NewReader(info.String()),
	}); err != nil {
		return fmt.Errorf("take in %q: %w", repos, err)
	}
	return nil
}

// nestedRepositories finds the folders below f's with something named .git in
// them, but not the submodules.
func nestedRepositories(ctx context.Context, f *folder) ([]string, error) {
	subs := map[string]bool{}
	for _, sub := range f.subs {
		subs[sub] = true
	}
	var repos []string
	err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || path == f.dir {
			return nil // unreadable: git does not see into it either
		}
		rel, err := filepath.Rel(f.dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && subs[rel] {
			return fs.SkipDir
		}
		if d.Name() != ".git" {
			return nil
		}
		if up := filepath.ToSlash(filepath.Dir(rel)); up != "." && recordable(up) {
			repos = append(repos, up)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return repos, err
}

// recordable says that git takes path into an index: no part of it passes for
// .git on some file system (git's verify_path).
func recordable(path string) bool {
	for _, part := range strings.Split(strings.ToLower(path), "/") {
		for _, name := range []string{".git", "git~1"} {
			rest, ok := strings.CutPrefix(part, name)
			rest = strings.TrimLeft(rest, " .")
			if ok && (rest == "" || rest[0] == '\\' || rest[0] == ':') {
				return false
			}
		}
	}
	return true
}

// addOneByOne adds what a failed add left behind, and leaves out the files
// that make git give up. first is the failed add.
func (s *Store) addOneByOne(ctx context.Context, f *folder, first result) error {
	list, err := s.unrecorded(ctx, f)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return &CommandError{Verb: "add", Code: first.code, Stderr: first.stderr}
	}
	var try func(list []string) error
	try = func(list []string) error {
		res, err := s.inFolder(ctx, f, call{
			args:  []string{"add", "--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"},
			env:   []string{"GIT_LITERAL_PATHSPECS=1"},
			stdin: strings.NewReader(strings.Join(list, "\x00") + "\x00"),
			ok:    []int{1, 128},
		})
		if err != nil || res.code != 128 || len(list) == 1 {
			return err
		}
		return errors.Join(try(list[:len(list)/2]), try(list[len(list)/2:]))
	}
	// A disk that is full fails for every file: that is no odd file.
	if full(first.stderr) {
		return &CommandError{Verb: "add", Code: first.code, Stderr: first.stderr}
	}
	return try(list)
}

// full recognises that git could not write, which is never a file's fault.
func full(stderr string) bool {
	for _, s := range []string{"No space left", "Read-only file system", "Disk quota", "unable to write", "insufficient permission", "unable to create temporary"} {
		if strings.Contains(stderr, s) {
			return true
		}
	}
	return false
}

// unrecorded lists what is in the folder and not, or not so, in the index.
func (s *Store) unrecorded(ctx context.Context, f *folder) ([]string, error) {
	res, err := s.inFolder(ctx, f, call{args: []string{"ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard"}})
	if err != nil {
		return nil, err
	}
	list := splitZ(res.out)
	slices.Sort(list)
	return slices.Compact(list), nil
}

// leftOut lists what add could not record. What it could not even look into
// is named from its messages.
func (s *Store) leftOut(ctx context.Context, f *folder, stderr string) ([]string, error) {
	if full(stderr) {
		return nil, &CommandError{Verb: "add", Code: 1, Stderr: stderr}
	}
	list, err := s.unrecorded(ctx, f)
	if err != nil {
		return nil, err
	}
	for _, line := range splitLines([]byte(stderr)) {
		if rest, ok := strings.CutPrefix(line, "warning: could not open directory '"); ok {
			if path, _, ok := strings.Cut(rest, "':"); ok {
				list = append(list, path)
			}
		}
	}
	var there []string
	for _, path := range list {
		if _, err := os.Lstat(filepath.Join(f.dir, filepath.FromSlash(path))); err == nil || !errors.Is(err, fs.ErrNotExist) {
			there = append(there, path)
		}
	}
	return there, nil
}
