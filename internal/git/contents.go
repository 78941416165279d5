package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// WithContents returns a commit on commit whose tree is commit's with other
// contents for the files named; each must exist there and keeps its mode.
func (s *Store) WithContents(ctx context.Context, commit string, contents map[string][]byte) (string, error) {
	entries, err := s.entries(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("put contents into %s: %w", commit, err)
	}
	var info strings.Builder
	for _, path := range slices.Sorted(maps.Keys(contents)) {
		entry, ok := entries[path]
		if !ok || strings.HasPrefix(entry, "160000 ") {
			return "", fmt.Errorf("put contents into %s: it has no file %q", commit, path)
		}
		res, err := s.git(ctx, call{args: []string{"hash-object", "-w", "--no-filters", "--stdin"}, stdin: bytes.NewReader(contents[path])})
		if err != nil {
			return "", fmt.Errorf("put contents into %s: %w", commit, err)
		}
		mode, _, _ := strings.Cut(entry, " ")
		info.WriteString(mode + " blob " + res.line() + "\t" + path + "\x00")
	}
	return s.withEntries(ctx, commit, info.String(), "contents put back\n")
}

// withEntries returns a commit on commit with index entries replaced, or
// commit itself when that changes nothing.
func (s *Store) withEntries(ctx context.Context, commit, info, message string) (string, error) {
	asked := sha256.Sum256([]byte(commit + "\x00" + message + "\x00" + info))
	s.mu.Lock()
	made, ok := s.lists.mixed[asked]
	s.mu.Unlock()
	if ok {
		return made, nil
	}
	id, err := s.newEntries(ctx, commit, info, message)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lists.mixed) >= mostMixed || s.lists.mixed == nil {
		s.lists.mixed = map[[sha256.Size]byte]string{}
	}
	s.lists.mixed[asked] = id
	return id, nil
}

// mostMixed is how many commits with other entries are remembered.
const mostMixed = 1000

func (s *Store) newEntries(ctx context.Context, commit, info, message string) (string, error) {
	before, err := s.treeOf(ctx, commit)
	if err != nil {
		return "", err
	}
	tmp, drop, err := s.tempDir()
	if err != nil {
		return "", err
	}
	defer drop()
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}
	if _, err := s.git(ctx, call{args: []string{"read-tree", commit}, env: index}); err != nil {
		return "", err
	}
	if _, err := s.git(ctx, call{
		args: []string{"update-index", "--add", "--replace", "-z", "--index-info"}, env: index, stdin: strings.NewReader(info),
	}); err != nil {
		return "", err
	}
	res, err := s.git(ctx, call{args: []string{"write-tree"}, env: index})
	if err != nil || res.line() == before {
		return commit, err
	}
	return s.commit(ctx, res.line(), []string{commit}, message, "", nil)
}
