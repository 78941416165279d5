package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// makeAgentRepo makes dir/.git anew: a repository for the agent's own use, on
// branch work at commit, with a clean status. Forge writes it and never reads
// it again. It borrows objects from the user's repository, never from
// Forge's, which holds the work of other phases; what the user's lacks is
// packed into it.
func (s *Store) makeAgentRepo(ctx context.Context, f *folder, commit string) error {
	// The first snapshot compares with this tree; it need not ask for it then.
	if _, err := s.treeOf(ctx, commit); err != nil {
		return err
	}
	git := filepath.Join(f.dir, ".git")
	if err := removeAll(git); err != nil {
		return err
	}
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "info", "hooks"} {
		if err := os.MkdirAll(filepath.Join(git, dir), 0o755); err != nil {
			return err
		}
	}
	config, err := renderConfig(agentSettings(s.settings, s.name, s.email))
	if err != nil {
		return err
	}
	index, err := os.ReadFile(f.index())
	if err != nil {
		return err
	}
	shallow, err := readSmall(filepath.Join(s.repo, "shallow"))
	if err != nil {
		return err
	}
	for _, w := range []struct {
		name string
		data []byte
	}{
		{"objects/info/alternates", alternates(s.objects[:1])},
		{"info/exclude", s.excludes},
		{"shallow", shallow},
		{"config", config},
		{"refs/heads/work", []byte(commit + "\n")},
		// The private index knows these very files, so nothing is stale in it.
		{"index", index},
		{"HEAD", []byte("ref: refs/heads/work\n")},
	} {
		if w.data == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(git, w.name), w.data, 0o644); err != nil {
			return err
		}
	}
	if s.isBase(commit) {
		return nil
	}
	_, err = s.packMissing(ctx, commit, filepath.Join(git, "objects", "pack", "pack"))
	return err
}

// packMissing writes what is reachable from commit and lies in Forge's own
// repository only, not in the user's, to packs named prefix-<hash>.pack. It
// returns their number; none is written when nothing is missing.
func (s *Store) packMissing(ctx context.Context, commit, prefix string) (int, error) {
	pack := func(bases []string) (result, error) {
		return s.git(ctx, call{
			args:  []string{"pack-objects", "--revs", "--local", "--non-empty", "--delta-base-offset", "-q", prefix},
			stdin: strings.NewReader(strings.Join(append([]string{commit}, bases...), "\n") + "\n"),
		})
	}
	s.mu.Lock()
	var bases []string
	for base := range s.bases {
		if base != commit {
			bases = append(bases, "^"+base)
		}
	}
	s.mu.Unlock()
	res, err := pack(bases)
	var cmd *CommandError
	if errors.As(err, &cmd) && len(bases) > 0 {
		// A base that is gone bounds nothing; without any the whole history
		// is walked.
		res, err = pack(nil)
	}
	return len(strings.Fields(string(res.out))), err
}
