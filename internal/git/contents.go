package git

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
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
		id, err := s.writeHere(object{"blob", contents[path]})
		if err != nil {
			return "", fmt.Errorf("put contents into %s: %w", commit, err)
		}
		mode, _, _ := strings.Cut(entry, " ")
		info.WriteString(mode + " blob " + id + "\t" + path + "\x00")
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
	before, err := s.entries(ctx, commit)
	if err != nil {
		return "", err
	}
	after := listing{files: maps.Clone(before)}
	for _, rec := range splitZ([]byte(info)) {
		entry, path, _ := strings.Cut(rec, "\t")
		if strings.HasPrefix(entry, "0 ") {
			delete(after.files, path)
		} else if err := after.put(path, entry); err != nil {
			return "", err
		}
	}
	if maps.Equal(before, after.files) {
		return commit, nil
	}
	tree, err := s.treeOf(ctx, commit)
	if err != nil {
		return "", err
	}
	if tree, err = s.writeTrees(tree, before, after.files); err != nil {
		return "", err
	}
	s.list(tree, after.files)
	return s.commit(ctx, tree, []string{commit}, message, "", nil)
}

// listing is what a tree holds, by path.
type listing struct {
	files map[string]string
	// folders has each one that a file lies in, and may have one that is empty by now; nil
	// = they were not looked for yet.
	folders map[string]bool
}

// put makes path stand for what entry says: a folder that stands there goes, and so does
// a file where a folder above has to be.
func (l *listing) put(path, entry string) error {
	if !relative(path) || !recordable(path) {
		return fmt.Errorf("not a path: %q", path)
	}
	if _, ok := l.files[path]; ok {
		l.files[path] = entry
		return nil
	}
	if l.folders == nil {
		l.folders = map[string]bool{}
		for file := range l.files {
			l.addFolders(file)
		}
	}
	for dir := range above(path) {
		delete(l.files, dir)
	}
	if l.folders[path] {
		maps.DeleteFunc(l.files, func(other, _ string) bool { return strings.HasPrefix(other, path+"/") })
	}
	l.files[path] = entry
	l.addFolders(path)
	return nil
}

func (l *listing) addFolders(path string) {
	for dir := range above(path) {
		l.folders[dir] = true
	}
}

// relative says that a path leads to something in a tree, by its name there. It may have
// any bytes that a name can have.
func relative(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." || name == ".." || strings.Contains(name, "\x00") {
			return false
		}
	}
	return true
}
