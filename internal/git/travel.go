package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Limits of a record that is read from a commit.
const (
	MaxRecordFiles = 20_000
	MaxRecordBytes = 256 << 20
)

// ErrUnsure says that a push failed and that the remote could not be asked
// afterwards either: it is not known whether it arrived.
var ErrUnsure = errors.New("it is not known whether it arrived")

// UnreachableError is a remote that does not answer.
type UnreachableError struct {
	Remote string
	Err    error
}

// Error says which remote, and what git says.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the remote %q cannot be asked: %v; try again when it answers", e.Remote, e.Err)
}

// Unwrap returns git's error.
func (e *UnreachableError) Unwrap() error { return e.Err }

// oneRemote checks that name is a remote with one address, and not one that is
// read from here and written to there.
func (s *Store) oneRemote(ctx context.Context, name string) error {
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, "\x00\n") {
		return fmt.Errorf("not a remote: %q", name)
	}
	read, err := s.inUser(ctx, call{args: []string{"remote", "get-url", "--all", "--", name}, ok: []int{2}})
	if err != nil || read.code == 2 {
		return err // an address instead of a name: git itself says what is wrong with it
	}
	written, err := s.inUser(ctx, call{args: []string{"remote", "get-url", "--all", "--push", "--", name}})
	if err != nil {
		return err
	}
	if !bytes.Equal(read.out, written.out) || len(splitLines(read.out)) != 1 {
		return &StateError{"the remote " + name + " is read from one address and written to another", "name a remote that has one address"}
	}
	return nil
}

// withRemote runs git in the user's repository, with the user's credentials and
// without a question. Objects are seen in both repositories, and new ones go
// into Forge's own.
func (s *Store) withRemote(ctx context.Context, args ...string) (result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("no answer in %v", pushTimeout))
	defer cancel()
	return s.inUser(ctx, call{args: args, env: append(slices.Clone(s.push),
		"GIT_OBJECT_DIRECTORY="+filepath.Join(s.repo, "objects"),
		`GIT_ALTERNATE_OBJECT_DIRECTORIES="`+configEscape.Replace(s.objects[0])+`"`,
	)})
}

// RemoteRefs are the references of one of the user's remotes that lie at or
// below prefix, with their commits. Errors: *UnreachableError.
func (s *Store) RemoteRefs(ctx context.Context, remote, prefix string) (map[string]string, error) {
	if err := s.oneRemote(ctx, remote); err != nil {
		return nil, err
	}
	res, err := s.withRemote(ctx, "ls-remote", "--quiet", "--refs", "--", remote, prefix, prefix+"/*")
	if err != nil {
		return nil, &UnreachableError{Remote: remote, Err: err}
	}
	refs := map[string]string{}
	for _, line := range splitLines(res.out) {
		id, name, ok := strings.Cut(line, "\t")
		// The pattern also matches the ends of longer names.
		if ok && isID(id) && validRef(name) && (name == prefix || strings.HasPrefix(name, prefix+"/")) {
			refs[name] = id
		}
	}
	return refs, nil
}

// PushRef makes ref of one of the user's remotes point at commit when it points
// at old now; old "" means that it must not exist. What is there is never
// thrown away: commit must grow out of old. Doing it twice is doing it once.
// Errors: *MovedError when the reference is somewhere else; ErrUnsure.
func (s *Store) PushRef(ctx context.Context, remote, ref, commit, old string) error {
	verb := fmt.Sprintf("push %s to %s", ref, remote)
	err := errors.Join(checkRef(ref), checkIDs(commit), s.oneRemote(ctx, remote))
	if err == nil && old != "" {
		var grown bool
		if grown, err = s.grown(ctx, commit, old); err == nil && !grown {
			err = &MovedError{Ref: ref, Want: old}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	_, err = s.withRemote(ctx, "push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no",
		"--force-with-lease="+ref+":"+old, "--", remote, commit+":"+ref)
	if err == nil {
		return nil
	}
	// Another push, or this one before its answer was lost.
	refs, rerr := s.RemoteRefs(ctx, remote, ref)
	switch at := refs[ref]; {
	case rerr != nil:
		err = fmt.Errorf("%w (%w)", err, ErrUnsure)
	case at == commit:
		return nil
	case at != old:
		err = &MovedError{Ref: ref, Want: old}
	default:
		err = refused(remote, ref, err)
	}
	return fmt.Errorf("%s: %w", verb, err)
}

func (s *Store) grown(ctx context.Context, commit, old string) (bool, error) {
	if err := checkIDs(old); err != nil {
		return false, err
	}
	there, err := s.Exists(ctx, old)
	if err != nil || !there {
		return false, err
	}
	return s.Holds(ctx, commit, old)
}

// PushBranch makes a branch of one of the user's remotes point at commit, which
// may lie in Forge's own repository. It never forces.
func (s *Store) PushBranch(ctx context.Context, remote, branch, commit string) error {
	ref := "refs/heads/" + branch
	err := errors.Join(checkRef(ref), checkIDs(commit), s.oneRemote(ctx, remote))
	if err == nil {
		_, err = s.withRemote(ctx, "push", "--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", "--", remote, commit+":"+ref)
		err = refused(remote, branch, err)
	}
	if err != nil {
		return fmt.Errorf("push %s to %s: %w", branch, remote, err)
	}
	return nil
}

// FetchRefs brings the commits of references of one of the user's remotes into
// Forge's own repository. No reference is made; the user's repository stays as
// it is.
func (s *Store) FetchRefs(ctx context.Context, remote string, refs ...string) error {
	err := s.oneRemote(ctx, remote)
	for _, ref := range refs {
		err = errors.Join(err, checkRef(ref))
	}
	if err == nil && len(refs) > 0 {
		_, err = s.withRemote(ctx, append([]string{"fetch", "--quiet", "--no-tags", "--no-prune", "--refmap=", "--no-write-fetch-head",
			"--no-recurse-submodules", "--no-auto-maintenance", "--", remote}, refs...)...)
	}
	if err != nil {
		return fmt.Errorf("fetch from %s: %w", remote, err)
	}
	return nil
}

// FetchNew brings the commits of one reference of a remote, by its name or address,
// into Forge's own repository. have is a commit of it that is here with all that it is
// made of, "" = none: what that holds is not sent again. No reference is made.
// Errors: *UnreachableError.
func (s *Store) FetchNew(ctx context.Context, remote, ref, have string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-prune", "--refmap=", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance"}
	err := errors.Join(checkRef(ref), s.oneRemote(ctx, remote))
	if have != "" {
		err = errors.Join(err, checkIDs(have))
		args = append(args, "--negotiation-tip="+have)
	}
	if err != nil {
		return fmt.Errorf("fetch %s: %w", ref, err)
	}
	if _, err := s.withRemote(ctx, append(args, "--", remote, ref)...); err != nil {
		return &UnreachableError{Remote: remote, Err: err}
	}
	return nil
}

// CommitRecord makes a commit of files, by their paths of one or two parts, on
// parents; of those that are named twice one counts.
func (s *Store) CommitRecord(ctx context.Context, files map[string][]byte, parents []string, message string) (string, error) {
	id, err := s.commitRecord(ctx, files, parents, message)
	if err != nil {
		return "", fmt.Errorf("commit a record: %w", err)
	}
	return id, nil
}

func (s *Store) commitRecord(ctx context.Context, files map[string][]byte, parents []string, message string) (string, error) {
	if err := checkIDs(parents...); err != nil {
		return "", err
	}
	tmp, drop, err := s.tempDir()
	if err != nil {
		return "", err
	}
	defer drop()
	names, paths := slices.Sorted(maps.Keys(files)), []string{}
	for i, name := range names {
		path := filepath.Join(tmp, strconv.Itoa(i))
		if err := os.WriteFile(path, files[name], 0o600); err != nil {
			return "", err
		}
		paths = append(paths, path)
	}
	res, err := s.git(ctx, call{args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}, stdin: strings.NewReader(strings.Join(paths, "\n") + "\n")})
	if err != nil {
		return "", err
	}
	ids := splitLines(res.out)
	if len(ids) < len(names) {
		return "", errors.New("git stored fewer files than it was given")
	}
	root, folders := "", map[string]string{}
	for i, name := range names {
		folder, file, ok := strings.Cut(name, "/")
		if !ok {
			root += "100644 blob " + ids[i] + "\t" + name + "\x00"
			continue
		}
		folders[folder] += "100644 blob " + ids[i] + "\t" + file + "\x00"
	}
	mktree := func(entries string) (string, error) {
		res, err := s.git(ctx, call{args: []string{"mktree", "-z"}, stdin: strings.NewReader(entries)})
		return res.line(), err
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		id, err := mktree(folders[folder])
		if err != nil {
			return "", err
		}
		root += "040000 tree " + id + "\t" + folder + "\x00"
	}
	tree, err := mktree(root)
	if err != nil {
		return "", err
	}
	var once []string
	for _, p := range parents {
		if !slices.Contains(once, p) {
			once = append(once, p)
		}
	}
	return s.commit(ctx, tree, once, message, "", nil)
}

// ReadRecord reads all files of a commit that came from elsewhere, and its
// parents. Nothing of it is believed: more files or bytes than the limits, and
// anything but plain files, are refused.
func (s *Store) ReadRecord(ctx context.Context, commit string) (files map[string][]byte, parents []string, err error) {
	files, parents, err = s.readRecord(ctx, commit)
	if err != nil {
		return nil, nil, fmt.Errorf("read the record in %s: %w", commit, err)
	}
	return files, parents, nil
}

func (s *Store) readRecord(ctx context.Context, commit string) (map[string][]byte, []string, error) {
	if err := checkIDs(commit); err != nil {
		return nil, nil, err
	}
	res, err := s.git(ctx, call{args: []string{"rev-parse", commit + "^@"}})
	if err != nil {
		return nil, nil, err
	}
	var parents []string
	for _, id := range splitLines(res.out) {
		if isID(id) {
			parents = append(parents, id)
		}
	}
	res, err = s.git(ctx, call{args: []string{"ls-tree", "-r", "-z", "-l", "--full-tree", commit}})
	if err != nil {
		return nil, nil, err
	}
	var names []string
	var total int64
	for _, entry := range splitZ(res.out) {
		how, name, ok := strings.Cut(entry, "\t")
		field := strings.Fields(how)
		if !ok || len(field) != 4 || field[0] != "100644" || field[1] != "blob" {
			return nil, nil, fmt.Errorf("%.100q is no plain file", name)
		}
		size, err := strconv.ParseInt(field[3], 10, 64)
		if err != nil {
			return nil, nil, fmt.Errorf("%.100q has no size", name)
		}
		names = append(names, name)
		if total += size; total > MaxRecordBytes || len(names) > MaxRecordFiles {
			return nil, nil, fmt.Errorf("it has more than %d files or %d MB", MaxRecordFiles, MaxRecordBytes>>20)
		}
	}
	files := map[string][]byte{}
	err = s.readBlobs(ctx, commit, names, func(name string, size int64, r io.Reader) error {
		if size < 0 {
			return fmt.Errorf("%.100q is missing", name)
		}
		data, err := io.ReadAll(r)
		files[name] = data
		return err
	})
	return files, parents, err
}

// RefsBelow are Forge's own references below prefixes, with their commits.
func (s *Store) RefsBelow(ctx context.Context, prefixes ...string) (map[string]string, error) {
	if refs, ok := s.refsBelowHere(prefixes); ok {
		return refs, nil
	}
	res, err := s.git(ctx, call{args: append([]string{"for-each-ref", "--format=%(objectname) %(objecttype) %(refname)"}, prefixes...)})
	if err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	refs := map[string]string{}
	for _, line := range splitLines(res.out) {
		if field := strings.Fields(line); len(field) == 3 && field[1] == "commit" {
			refs[field[2]] = field[0]
		}
	}
	return refs, nil
}

// refsBelowHere is RefsBelow where all of them can be read here.
func (s *Store) refsBelowHere(prefixes []string) (map[string]string, bool) {
	all := map[string]string{}
	for _, prefix := range prefixes {
		refs, ok := refsIn(s.repo, prefix)
		if !ok || !strings.HasSuffix(prefix, "/") {
			return nil, false
		}
		for ref, id := range refs {
			o, ok := s.readHere(id)
			if !ok {
				return nil, false
			}
			if o.kind == "commit" {
				all[ref] = id
			}
		}
	}
	return all, true
}

// Tip is the commit of a reference of Forge's own.
type Tip struct {
	Ref, Commit string
	Parents     []string
}

// TipsBelow are Forge's own references below a prefix, with their commits and the
// parents of those: one question, however many there are.
func (s *Store) TipsBelow(ctx context.Context, prefix string) ([]Tip, error) {
	res, err := s.git(ctx, call{args: []string{"for-each-ref", "--format=%(refname) %(objecttype) %(objectname) %(parent)", prefix}})
	if err != nil {
		return nil, fmt.Errorf("list references: %w", err)
	}
	var tips []Tip
	for _, line := range splitLines(res.out) {
		if field := strings.Fields(line); len(field) >= 3 && field[1] == "commit" {
			tips = append(tips, Tip{Ref: field[0], Commit: field[2], Parents: field[3:]})
		}
	}
	return tips, nil
}

// SetRefs points references of Forge's own at commits, all or none.
func (s *Store) SetRefs(ctx context.Context, refs map[string]string) error {
	var b strings.Builder
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if err := errors.Join(checkRef(ref), checkIDs(refs[ref])); err != nil {
			return fmt.Errorf("set references: %w", err)
		}
		fmt.Fprintf(&b, "update %s\x00%s\x00\x00", ref, refs[ref])
	}
	if _, err := s.git(ctx, call{args: []string{"update-ref", "--no-deref", "-z", "--stdin"}, stdin: strings.NewReader(b.String())}); err != nil {
		return fmt.Errorf("set references: %w", err)
	}
	return nil
}

// InUser says whether the user's repository itself has a commit.
func (s *Store) InUser(ctx context.Context, commit string) (bool, error) {
	if err := checkIDs(commit); err != nil {
		return false, err
	}
	res, err := s.inUser(ctx, call{args: []string{"cat-file", "-e", commit + "^{commit}"}, ok: []int{1, 128}})
	return err == nil && res.code == 0, err
}
