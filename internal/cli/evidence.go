package cli

import (
	"context"
	"fmt"

	"forge/internal/config"
	"forge/internal/git"
)

// evidence judges a phase's changes by the rules of config on the contents
// that git holds.
type evidence struct{ repo *git.Store }

func (v evidence) Judge(ctx context.Context, base, commit string, protected, mayChange []string) (touched, gone []string, err error) {
	changes, err := v.repo.Changes(ctx, base, commit)
	if err != nil {
		return nil, nil, err
	}
	rules, err := config.Protected(protected)
	if err != nil {
		return nil, nil, err
	}
	exempt, err := config.NewMatcher(mayChange)
	if err != nil {
		return nil, nil, err
	}
	differ := map[string]bool{}
	for _, c := range changes {
		if c.Status != "M" || !config.IsManifest(c.Path) {
			continue
		}
		was, now, err := v.both(ctx, base, commit, c.Path)
		if err != nil {
			return nil, nil, err
		}
		differ[c.Path] = config.ScriptsDiffer(c.Path, was, now)
	}
	facts := config.EvidenceFacts{ScriptsChanged: func(path string) bool {
		changed, known := differ[path]
		return changed || !known
	}}
	touched, gone = config.Evidence(changes, facts, rules, exempt)
	return touched, gone, nil
}

func (v evidence) Restore(ctx context.Context, base, commit string, paths []string) (string, error) {
	changes, err := v.repo.Changes(ctx, base, commit)
	if err != nil {
		return "", err
	}
	status := map[string]string{}
	for _, c := range changes {
		status[c.Path] = c.Status
	}
	var whole []string
	mended := map[string][]byte{}
	for _, path := range paths {
		if !config.IsManifest(path) || status[path] != "M" {
			whole = append(whole, path)
			continue
		}
		was, now, err := v.both(ctx, base, commit, path)
		if err != nil {
			return "", err
		}
		text, err := config.PutScriptsBack(path, was, now)
		if err != nil {
			// What cannot be taken apart is put back whole.
			whole = append(whole, path)
			continue
		}
		mended[path] = text
	}
	restored, err := v.repo.WithFilesFrom(ctx, commit, base, whole)
	if err != nil {
		return "", fmt.Errorf("put protected files back: %w", err)
	}
	if len(mended) == 0 {
		return restored, nil
	}
	return v.repo.WithContents(ctx, restored, mended)
}

func (v evidence) both(ctx context.Context, base, commit, path string) (was, now []byte, err error) {
	if was, err = v.repo.Show(ctx, base, path); err != nil {
		return nil, nil, err
	}
	now, err = v.repo.Show(ctx, commit, path)
	return was, now, err
}
