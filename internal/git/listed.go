package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"strings"
)

// mostListed is how many paths are remembered of the trees that were read last.
const mostListed = 100_000

// listings remember what trees hold, which never changes. It is an optimisation:
// a new process begins without it.
type listings struct {
	trees map[string]map[string]string // by tree or commit; path → "mode type id"
	paths int
	mixed map[[sha256.Size]byte]string // commits that withEntries made, by what it was asked
	diffs map[[2]string]comparison     // between two trees or commits
	blobs map[string][]byte            // small files that were read, by their id
	bytes int                          // of all blobs
}

// entries maps the paths of a commit or tree to their "mode type id". The map is
// shared: nobody writes to it.
func (s *Store) entries(ctx context.Context, commit string) (map[string]string, error) {
	if err := checkIDs(commit); err != nil {
		return nil, err
	}
	if all, ok := s.known(commit); ok {
		return all, nil
	}
	res, err := s.git(ctx, call{args: []string{"ls-tree", "-r", "-z", "--full-tree", commit}})
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, rec := range splitZ(res.out) {
		entry, path, ok := strings.Cut(rec, "\t")
		if !ok {
			return nil, fmt.Errorf("read tree %s: unknown record %q", commit, rec)
		}
		all[path] = entry
	}
	s.list(commit, all)
	return all, nil
}

// staged is entries of a commit that the index of f holds and nothing else: git
// reads an index faster than trees.
func (s *Store) staged(ctx context.Context, f *folder, commit string) (map[string]string, error) {
	if all, ok := s.known(commit); ok {
		return all, nil
	}
	res, err := s.inFolder(ctx, f, call{args: []string{"ls-files", "--stage", "-z"}})
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, rec := range splitZ(res.out) {
		about, path, ok := strings.Cut(rec, "\t")
		part := strings.Split(about, " ")
		if !ok || len(part) != 3 || part[2] != "0" {
			return nil, fmt.Errorf("read index of %s: unknown record %q", commit, rec)
		}
		kind := "blob"
		if part[0] == submoduleMode {
			kind = "commit"
		}
		all[path] = part[0] + " " + kind + " " + part[1]
	}
	s.list(commit, all)
	return all, nil
}

// submoduleMode is the mode of an entry that is a commit of another repository.
const submoduleMode = "160000"

// known is entries without git: they are remembered, or read here.
func (s *Store) known(id string) (map[string]string, bool) {
	if all, ok := s.listed(id); ok {
		return all, true
	}
	all, ok := s.looseEntries(id)
	if ok {
		s.list(id, all)
	}
	return all, ok
}

func (s *Store) listed(id string) (map[string]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, ok := s.lists.trees[s.sameTree(id)]
	return all, ok
}

// list remembers what id holds, unless that is more than all that is remembered.
func (s *Store) list(id string, all map[string]string) {
	if len(all) > mostListed {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists.paths+len(all) > mostListed || s.lists.trees == nil {
		s.lists.trees, s.lists.paths = map[string]map[string]string{}, 0
	}
	s.lists.trees[s.sameTree(id)] = all
	s.lists.paths += len(all)
}

// sameTree is the tree of a commit where that is known, else the commit.
func (s *Store) sameTree(id string) string {
	if tree, ok := s.trees[id]; ok {
		return tree
	}
	return id
}

// mostDiffs is how many comparisons are remembered, and mostDiffered how many
// files each may have for that.
const (
	mostDiffs    = 100
	mostDiffered = 1000
)

// compare returns what differs between two commits or trees. It is shared: nobody
// writes to it.
func (s *Store) compare(ctx context.Context, from, to string) (comparison, error) {
	s.mu.Lock()
	pair := [2]string{s.sameTree(from), s.sameTree(to)}
	remembered, ok := s.lists.diffs[pair]
	s.mu.Unlock()
	if ok {
		return remembered, nil
	}
	diff, err := s.differ(ctx, from, to)
	if err != nil || len(diff.files) > mostDiffered {
		return diff, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lists.diffs) >= mostDiffs || s.lists.diffs == nil {
		s.lists.diffs = map[[2]string]comparison{}
	}
	s.lists.diffs[pair] = diff
	return diff, nil
}

// differ compares what is known of both. Where that is too little git does, and what
// to holds is known afterwards.
func (s *Store) differ(ctx context.Context, from, to string) (comparison, error) {
	before, ok := s.known(from)
	if ok {
		if after, ok := s.known(to); ok {
			return differences(before, after), nil
		}
	}
	res, err := s.git(ctx, call{args: []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", from, to}})
	if err != nil {
		return comparison{}, err
	}
	diff, err := parseRaw(res.out)
	if err == nil && ok {
		s.list(to, diff.on(before))
	}
	return diff, err
}

// mostBlob is how large a file may be that is remembered, and mostBlobs how many
// bytes all of them may have. Sources are smaller, and a run asks for the same ones
// for each of its proofs.
const (
	mostBlob  = 64 << 10
	mostBlobs = 8 << 20
)

// recall calls do with those of paths whose content is remembered, and returns
// those that git has to be asked about, with the ids of their blobs where these
// are known. What a tree is known not to have is in neither.
func (s *Store) recall(commit string, paths []string, most int64, do func(path string, data []byte)) (blobs map[string]string, ask []string) {
	entries, ok := s.listed(commit)
	if !ok {
		return nil, paths
	}
	blobs = map[string]string{}
	for _, path := range paths {
		entry, has := entries[path]
		if !has && fs.ValidPath(path) {
			continue // a folder, or nothing
		}
		id, isBlob := blobID(entry)
		s.mu.Lock()
		data, known := s.lists.blobs[id]
		s.mu.Unlock()
		switch {
		case !isBlob || !known:
			blobs[path] = id
			ask = append(ask, path)
		case int64(len(data)) <= most:
			do(path, bytes.Clone(data))
		}
	}
	return blobs, ask
}

// blobID is the id in an entry "mode blob id".
func blobID(entry string) (string, bool) {
	part := strings.Split(entry, " ")
	if len(part) != 3 || part[1] != "blob" {
		return "", false
	}
	return part[2], true
}

func (s *Store) rememberBlob(id string, data []byte) {
	if id == "" || len(data) > mostBlob {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.lists.blobs[id]; known {
		return
	}
	if s.lists.bytes+len(data) > mostBlobs || s.lists.blobs == nil {
		s.lists.blobs, s.lists.bytes = map[string][]byte{}, 0
	}
	s.lists.blobs[id] = bytes.Clone(data)
	s.lists.bytes += len(data)
}
