package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf8"

	"forge/internal/text"
)

// FileEdit is a file as a person wants it: with that content, or gone.
type FileEdit struct {
	Path    string
	Content []byte
	Delete  bool
}

// EditError says why a file is not edited.
type EditError struct {
	Path string
	What string // of the path, as the rest of a sentence
}

// Error names the file.
func (e *EditError) Error() string { return fmt.Sprintf("%q %s", e.Path, e.What) }

// Edited returns a commit on commit with edits, by Forge: files that are there
// keep their modes, others are added as ordinary ones. It is commit itself
// where they change nothing. An edit that cannot be made, or would touch a file
// that it does not name, is an *EditError.
func (s *Store) Edited(ctx context.Context, commit string, edits []FileEdit) (string, error) {
	id, err := s.edited(ctx, commit, edits)
	var wrong *EditError
	if err != nil && !errors.As(err, &wrong) {
		err = fmt.Errorf("edit files of %s: %w", commit, err)
	}
	return id, err
}

func (s *Store) edited(ctx context.Context, commit string, edits []FileEdit) (string, error) {
	entries, err := s.entries(ctx, commit)
	if err != nil {
		return "", err
	}
	var gone, there strings.Builder // removals first: a file may make room for a folder
	names := map[string]string{}    // what each path, and each folder on the way to it, is called; by its name in one case
	for path := range entries {
		names[oneCase(path)] = path
	}
	for _, e := range edits {
		if err := editable(e, entries[e.Path]); err != nil {
			return "", err
		}
		if e.Delete {
			delete(names, oneCase(e.Path))
			gone.WriteString("0 " + ZeroID + "\t" + e.Path + "\x00")
		}
	}
	folders := map[string]string{}
	for _, path := range names {
		for dir := range above(path) {
			folders[oneCase(dir)] = dir
		}
	}
	for _, e := range edits {
		if e.Delete {
			continue
		}
		if entries[e.Path] == "" {
			if err := inTheWayOf(e.Path, names, folders); err != nil {
				return "", err
			}
		}
		names[oneCase(e.Path)] = e.Path
		for dir := range above(e.Path) {
			folders[oneCase(dir)] = dir
		}
		id, err := s.writeHere(object{"blob", e.Content})
		if err != nil {
			return "", err
		}
		mode, _, ok := strings.Cut(entries[e.Path], " ")
		if !ok {
			mode = "100644"
		}
		there.WriteString(mode + " blob " + id + "\t" + e.Path + "\x00")
	}
	if gone.Len()+there.Len() == 0 {
		return commit, nil
	}
	return s.withEntries(ctx, commit, gone.String()+there.String(), "edited\n")
}

// editable says why what stands at a path cannot be edited as e says; entry is
// what the tree has there.
func editable(e FileEdit, entry string) error {
	switch {
	case entry == "" && e.Delete:
		return &EditError{e.Path, "is not there"}
	case entry == "":
		return newPath(e.Path)
	case !strings.HasPrefix(entry, "100"):
		return &EditError{e.Path, "is no ordinary file, and is not edited"}
	}
	return nil
}

// maxNewPath and maxNewName bound the path of a file that a person adds, and
// each name in it; bytes.
const maxNewPath, maxNewName = 1000, 200

// newPath says why no file is added at path: one outside of the repository, in
// what git keeps for itself by any of the names that file systems have for it,
// or with characters that nobody sees.
func newPath(path string) error {
	switch {
	case path == "" || path == "." || !utf8.ValidString(path) || len(path) > maxNewPath:
		return &EditError{path, "is no path for a new file"}
	case !fs.ValidPath(path) || strings.Contains(path, `\`):
		return &EditError{path, "is no path within the repository: write it with / and without .., as in src/new.go"}
	case text.Hides(path), strings.ContainsFunc(path, func(r rune) bool { return r != ' ' && unicode.IsSpace(r) }):
		return &EditError{path, "has characters that nobody sees"}
	}
	for name := range strings.SplitSeq(path, "/") {
		bare, _, _ := strings.Cut(strings.ToLower(name), ":")
		switch strings.TrimRight(bare, " .") {
		case ".git", "git~1":
			return &EditError{path, "is in what git keeps for itself"}
		case "":
			return &EditError{path, "has a name without a letter"}
		}
		if len(name) > maxNewName || name != strings.TrimSpace(name) {
			return &EditError{path, "has a name that is too long, or that begins or ends with a space"}
		}
	}
	if top, _, _ := strings.Cut(path, "/"); top != ".forge" && oneCase(top) == oneCase(".forge") {
		return &EditError{path, "is .forge by another name"}
	}
	return nil
}

// inTheWayOf says what keeps a file from standing at path. What differs by case
// alone is one file for some file systems.
func inTheWayOf(path string, names, folders map[string]string) error {
	if is, ok := names[oneCase(path)]; ok && is != path {
		return &EditError{path, fmt.Sprintf("differs from %q by case alone", is)}
	}
	if is, ok := folders[oneCase(path)]; ok {
		return &EditError{path, fmt.Sprintf("is the folder %q", is)}
	}
	for dir := range above(path) {
		if is, ok := names[oneCase(dir)]; ok {
			return &EditError{path, fmt.Sprintf("would be below %q, which is no folder", is)}
		}
		if is, ok := folders[oneCase(dir)]; ok && is != dir {
			return &EditError{path, fmt.Sprintf("would be in a folder that differs from %q by case alone", is)}
		}
	}
	return nil
}

// above are the folders on the way to a path.
func above(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for at := range path {
			if path[at] == '/' && !yield(path[:at]) {
				return
			}
		}
	}
}

// oneCase is a name with every letter in the same case.
func oneCase(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, name)
}

// Edit is a commit on commit with edits, by the person of that name; ref points
// at it. It refuses as Edited does.
func (s *Store) Edit(ctx context.Context, commit string, edits []FileEdit, author, message, ref string) (string, error) {
	made, err := s.Edited(ctx, commit, edits)
	if err != nil {
		return "", err
	}
	tree, err := s.treeOf(ctx, made)
	if err != nil {
		return "", fmt.Errorf("edit files of %s: %w", commit, err)
	}
	name := strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune("<>", r) {
			return -1
		}
		return r
	}, author))
	if name == "" {
		name = "unknown"
	}
	id, err := s.commit(ctx, tree, []string{commit}, message, ref, []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + strings.ReplaceAll(name, " ", ".") + "@localhost"})
	if err != nil {
		return "", fmt.Errorf("edit files of %s: %w", commit, err)
	}
	return id, nil
}
