package evidence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"forge/internal/git"
	"forge/internal/work"
)

const (
	trustedRefs  = "refs/forge/trusted/"
	acceptedRefs = "refs/forge/accepted/"
	movesFile    = "moves.json"
	// ForgeTrailer begins the line that each commit of Forge's carries.
	ForgeTrailer = "Forge-Run:"
)

// refOf is where the trusted state of a target stands. Branches that were
// renamed into folders of each other would not fit under their own names.
func (s *Store) refOf(target string) string {
	// Checkouts may share a state folder, and each has a main.
	sum := sha256.Sum256([]byte(s.repo.Root() + "\x00" + target))
	return trustedRefs + hex.EncodeToString(sum[:12])
}

// Trusted brings the trusted state of a target up to base, which is where a
// run begins, and returns it. settings are those of the run: which paths are
// evidence is seen with them.
func (s *Store) Trusted(ctx context.Context, target, base string, settings work.EvidenceRequest) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", fmt.Errorf("find the trusted state of %q: %w", target, context.Cause(ctx))
	}
	id, err := s.bringUp(ctx, target, base, settings)
	// Another process may have brought it up meanwhile.
	for moved := (*git.MovedError)(nil); errors.As(err, &moved) && ctx.Err() == nil; {
		id, err = s.bringUp(ctx, target, base, settings)
	}
	if err != nil {
		return "", fmt.Errorf("find the trusted state of %q: %w", target, err)
	}
	return id, nil
}

func (s *Store) bringUp(ctx context.Context, target, base string, req work.EvidenceRequest) (string, error) {
	old, err := s.repo.ReadRef(ctx, s.refOf(target))
	if err != nil {
		return "", err
	}
	from, content, err := s.grow(ctx, old, base, req)
	if err != nil || from.id == old && from.head == base && old != "" {
		return old, err
	}
	behind := false
	if from.id != old || !from.held {
		if behind, err = s.behind(ctx, old, base); err != nil {
			return "", err
		}
	}
	id, err := s.commit(ctx, content, base, cmp.Or(old, from.id), target)
	if err != nil || behind {
		// A run that begins further back moves nothing of what came after it.
		return id, err
	}
	return id, s.repo.UpdateRef(ctx, s.refOf(target), id, cmp.Or(old, git.ZeroID))
}

// Current is the content that a target's trusted state has at head, which
// becomes no state by that: evidence as it was last accepted, product as there.
func (s *Store) Current(ctx context.Context, target, head string, settings work.EvidenceRequest) (string, error) {
	old, err := s.repo.ReadRef(ctx, s.refOf(target))
	content := ""
	if err == nil {
		_, content, err = s.grow(ctx, old, head, settings)
	}
	if err != nil {
		return "", fmt.Errorf("find the trusted state of %q: %w", target, err)
	}
	return content, nil
}

// AcceptPaths moves the trusted state of a target to the content at head, for
// the paths of evidence that differ and that pick takes; nil takes all. It
// returns what it moved: Status A is evidence that is new to the trusted state.
func (s *Store) AcceptPaths(ctx context.Context, target, head string, settings work.EvidenceRequest, pick func(path string) bool) ([]work.FileChange, error) {
	moved, err := s.acceptPaths(ctx, target, head, settings, pick)
	// Another process may have moved the state meanwhile: then it is looked at anew.
	for again := (*git.MovedError)(nil); errors.As(err, &again) && ctx.Err() == nil; {
		moved, err = s.acceptPaths(ctx, target, head, settings, pick)
	}
	if err != nil {
		return nil, fmt.Errorf("accept the evidence of %q: %w", target, err)
	}
	return moved, nil
}

func (s *Store) acceptPaths(ctx context.Context, target, head string, req work.EvidenceRequest, pick func(path string) bool) ([]work.FileChange, error) {
	old, err := s.repo.ReadRef(ctx, s.refOf(target))
	if err != nil {
		return nil, err
	}
	from, content, err := s.grow(ctx, old, head, req)
	if err != nil {
		return nil, err
	}
	changes, err := s.repo.Changes(ctx, content, head)
	if err != nil {
		return nil, err
	}
	moved := slices.DeleteFunc(changes, func(c work.FileChange) bool { return pick != nil && !pick(c.Path) })
	if len(moved) == 0 {
		return nil, nil
	}
	var paths []string
	for _, c := range moved {
		paths = append(paths, c.Path)
	}
	if content, err = s.repo.WithFilesFrom(ctx, content, head, paths); err != nil {
		return nil, err
	}
	id, err := s.commit(ctx, content, head, cmp.Or(old, from.id), target)
	if err != nil {
		return nil, err
	}
	return moved, s.repo.UpdateRef(ctx, s.refOf(target), id, cmp.Or(old, git.ZeroID))
}

// grow finds the state that the one at base grows out of, and what stands in
// that one: what somebody who may changed since, and the product of base.
func (s *Store) grow(ctx context.Context, old, base string, req work.EvidenceRequest) (from state, content string, err error) {
	from, err = s.beginning(ctx, old, base)
	if err != nil || from.id == "" {
		return from, base, err
	}
	content = from.id
	if from.head == base {
		return from, content, nil
	}
	moved, err := s.moved(ctx, from.head, base)
	if err != nil {
		return from, "", err
	}
	if content, err = s.repo.WithParts(ctx, content, moved); err != nil {
		return from, "", err
	}
	req.Trusted, req.Moves, req.Base, req.Commit, req.MayChange = content, nil, base, base, nil
	content, err = s.Mix(ctx, req, work.OnTrusted)
	return from, content, err
}

// commit makes a state of a target out of content. What it grew out of stays
// on record: a target that is set back finds what was trusted there.
func (s *Store) commit(ctx context.Context, content, head, before, target string) (string, error) {
	tree, err := s.repo.TreeOf(ctx, content)
	if err != nil {
		return "", err
	}
	parents := []string{head}
	if before != "" {
		parents = append(parents, before)
	}
	message := fmt.Sprintf("evidence that a person accepted\n\ntarget %q\n", target)
	return s.repo.CommitTree(ctx, tree, parents, message, "")
}
