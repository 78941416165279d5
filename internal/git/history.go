package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Commit is one commit of a history.
type Commit struct {
	ID      string
	Message string
}

// History returns the commits that to grew by since from, oldest first: those
// that are in to and not in from. A from of "" is the beginning.
func (s *Store) History(ctx context.Context, from, to string) ([]Commit, error) {
	if err := checkIDs(to); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	args := []string{"log", "--reverse", "--topo-order", "-z", "--format=%H%x00%B", to}
	if from != "" {
		if err := checkIDs(from); err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		args = append(args, "^"+from)
	}
	res, err := s.git(ctx, call{args: append(args, "--")})
	if err != nil {
		return nil, fmt.Errorf("read history of %s since %s: %w", to, from, err)
	}
	// No message holds a zero byte, so that they cannot be taken for commits.
	fields := splitZ(res.out)
	if len(fields)%2 != 0 {
		return nil, fmt.Errorf("read history of %s: odd number of fields", to)
	}
	var all []Commit
	for i := 0; i < len(fields); i += 2 {
		if err := checkIDs(fields[i]); err != nil {
			return nil, fmt.Errorf("read history of %s: %w", to, err)
		}
		all = append(all, Commit{ID: fields[i], Message: fields[i+1]})
	}
	return all, nil
}

// Authors are the names of those who made the commits that to grew by since from,
// each once, oldest first, as the commits say; Forge itself is none of them.
func (s *Store) Authors(ctx context.Context, from, to string) ([]string, error) {
	if err := checkIDs(from, to); err != nil {
		return nil, fmt.Errorf("read authors: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"log", "--reverse", "--topo-order", "-z", "--format=%an%x00%ae", to, "^" + from, "--"}})
	if err != nil {
		return nil, fmt.Errorf("read the authors of %s since %s: %w", to, from, err)
	}
	var names []string
	fields := splitZ(res.out)
	for i := 0; i+1 < len(fields); i += 2 {
		if name := strings.TrimSpace(fields[i]); name != "" && fields[i+1] != forgeEmail && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// TouchedBy are the paths that each of these commits changed; of a merge those that it
// took from none of its parents.
func (s *Store) TouchedBy(ctx context.Context, commits []string) (map[string][]string, error) {
	out := map[string][]string{}
	if len(commits) == 0 {
		return out, nil
	}
	if err := checkIDs(commits...); err != nil {
		return nil, fmt.Errorf("read commits: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"diff-tree", "--stdin", "-r", "-c", "--root", "--no-renames", "--raw", "-z"}, stdin: strings.NewReader(strings.Join(commits, "\n") + "\n")})
	if err != nil {
		return nil, fmt.Errorf("read what %d commits changed: %w", len(commits), err)
	}
	// A word with a colon is followed by a path, whatever that is called; any other word
	// is a commit.
	of := ""
	words := splitZ(res.out)
	for i := 0; i < len(words); i++ {
		switch {
		case !strings.HasPrefix(words[i], ":"):
			of = strings.TrimSpace(words[i])
			if !slices.Contains(commits, of) {
				return nil, fmt.Errorf("read what commits changed: git told %.100q", of)
			}
		case of == "" || i+1 == len(words):
			return nil, errors.New("read what commits changed: git told a change of nothing")
		default:
			i++
			out[of] = append(out[of], words[i])
		}
	}
	return out, nil
}

// Beyond are the newest commits, at most most, that to holds and from does not, with
// their parents.
func (s *Store) Beyond(ctx context.Context, from, to string, most int) (map[string][]string, error) {
	if err := checkIDs(from, to); err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"rev-list", "--parents", fmt.Sprintf("--max-count=%d", most), to, "^" + from, "--"}})
	if err != nil {
		return nil, fmt.Errorf("list the commits of %s beyond %s: %w", to, from, err)
	}
	out := map[string][]string{}
	for _, line := range splitLines(res.out) {
		if field := strings.Fields(line); len(field) > 0 {
			out[field[0]] = field[1:]
		}
	}
	return out, nil
}

// Parents are the parents of a commit; a first one has none.
func (s *Store) Parents(ctx context.Context, commit string) ([]string, error) {
	if err := checkIDs(commit); err != nil {
		return nil, fmt.Errorf("read commit: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"rev-parse", commit + "^@"}})
	if err != nil {
		return nil, fmt.Errorf("read the parents of %s: %w", commit, err)
	}
	return strings.Fields(string(res.out)), nil
}

// LastTouched is the last commit up to commit that changed a path, with the zero
// Commit where none did.
func (s *Store) LastTouched(ctx context.Context, commit, path string) (Commit, error) {
	if err := checkIDs(commit); err != nil {
		return Commit{}, fmt.Errorf("read commit: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"log", "-1", "-z", "--format=%H%x00%B", commit, "--", ":(literal,top)" + path}})
	if err != nil {
		return Commit{}, fmt.Errorf("read what changed %q: %w", path, err)
	}
	fields := splitZ(res.out)
	if len(fields) != 2 {
		return Commit{}, nil
	}
	return Commit{ID: fields[0], Message: fields[1]}, nil
}

// Contents calls do with each of paths that a commit has as a file or link of
// at most the given size, in one pass and in no order. What was read before is
// remembered.
func (s *Store) Contents(ctx context.Context, commit string, paths []string, most int64, do func(path string, data []byte)) error {
	if err := checkIDs(commit); err != nil {
		return fmt.Errorf("read files: %w", err)
	}
	blobs, ask := s.recall(commit, paths, most, do)
	if len(ask) == 0 {
		return nil
	}
	err := s.readBlobs(ctx, commit, ask, func(path string, size int64, r io.Reader) error {
		if size < 0 || size > most {
			return nil
		}
		data, err := io.ReadAll(r)
		if err == nil {
			s.rememberBlob(blobs[path], data)
			do(path, data)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read files of %s: %w", commit, err)
	}
	return nil
}
