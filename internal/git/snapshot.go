package git

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"forge/internal/work"
)

// Snapshot records the content of the phase folder dir as a commit on parent
// and points ref at it. A folder that equals parent makes no commit: then
// Commit is parent, Changed is false, and ref is not touched.
//
// .forge/ is always parent's: an agent's edits there are taken back in the
// folder and named in Dropped, as is every file that git cannot record.
// Repositories that the agent made in the folder count as ordinary folders.
// Ignored files are left out. Errors: ErrFolder.
func (s *Store) Snapshot(ctx context.Context, dir, parent, ref, message string) (work.Snapshot, error) {
	snap, err := s.snapshot(ctx, dir, parent, ref, message)
	if err != nil {
		return work.Snapshot{}, fmt.Errorf("snapshot %s: %w", dir, err)
	}
	return snap, nil
}

func (s *Store) snapshot(ctx context.Context, dir, parent, ref, message string) (work.Snapshot, error) {
	if err := checkRef(ref); err != nil {
		return work.Snapshot{}, err
	}
	before, err := s.treeOf(ctx, parent)
	if err != nil {
		return work.Snapshot{}, err
	}
	f, err := s.folder(dir)
	if err != nil {
		return work.Snapshot{}, err
	}
	defer f.mu.Unlock()
	if err := standing(dir); err != nil {
		return work.Snapshot{}, err
	}
	if err := s.removeLock(f); err != nil {
		return work.Snapshot{}, err
	}
	if f.at != parent {
		if err := s.load(ctx, f, parent); err != nil {
			return work.Snapshot{}, err
		}
	}
	// Until the commit stands, the index is somewhere between two states.
	f.at = ""
	snap, err := s.record(ctx, f, parent, before)
	if err != nil {
		return work.Snapshot{}, err
	}
	if snap.Commit = parent; snap.Changed {
		if snap.Commit, err = s.commit(ctx, snap.Tree, []string{parent}, message, ref, nil); err != nil {
			return work.Snapshot{}, err
		}
	}
	f.at = snap.Commit
	if snap.Changed {
		snap.Shape, snap.Bare, err = s.shape(ctx, before, snap.Tree)
	}
	return snap, err
}

// record writes the folder's content as a tree and says how it differs from
// before, the tree of parent.
func (s *Store) record(ctx context.Context, f *folder, parent, before string) (work.Snapshot, error) {
	var snap work.Snapshot
	for round := 0; ; round++ {
		dropped, err := s.addAll(ctx, f, parent)
		if err != nil {
			return snap, err
		}
		snap.Dropped = append(snap.Dropped, dropped...)
		res, err := s.inFolder(ctx, f, call{args: []string{"write-tree"}})
		if err != nil {
			return snap, err
		}
		if snap.Tree = res.line(); snap.Tree == before {
			return snap, nil
		}
		diff, err := s.compare(ctx, before, snap.Tree)
		if err != nil {
			return snap, err
		}
		links := diff.newLinks()
		if len(links) == 0 {
			snap.Changed, snap.Files = true, slices.Clone(diff.files)
			return snap, nil
		}
		// The net below the messages that addAll goes by: no repository of
		// an agent's is ever recorded as a submodule.
		if round > 1 {
			return snap, fmt.Errorf("record %q: still a repository of its own", links[0])
		}
		if err := s.flattenRepositories(ctx, f); err != nil {
			return snap, err
		}
	}
}

// commit writes a commit of tree, by Forge unless env says otherwise, and
// points ref at it; ref "" is none.
func (s *Store) commit(ctx context.Context, tree string, parents []string, message, ref string, env []string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	message = strings.ReplaceAll(message, "\x00", "") // git refuses it
	if message != "" && !strings.HasSuffix(message, "\n") {
		message += "\n"
	}
	res, err := s.git(ctx, call{args: args, stdin: strings.NewReader(message), env: env})
	if err != nil {
		return "", err
	}
	id := res.line()
	s.remember(id, tree)
	if ref == "" {
		return id, nil
	}
	return id, s.UpdateRef(ctx, ref, id, "")
}

// Changes returns the paths that differ between two commits or trees, in
// git's order. A renamed file is one deleted and one added.
func (s *Store) Changes(ctx context.Context, from, to string) ([]work.FileChange, error) {
	if err := checkIDs(from, to); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	diff, err := s.compare(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("compare %s with %s: %w", from, to, err)
	}
	return slices.Clone(diff.files), nil
}

// Size is how much differs between two commits: of files that are not text nobody
// can tell the lines.
func (s *Store) Size(ctx context.Context, from, to string) (work.ChangeSize, error) {
	if err := checkIDs(from, to); err != nil {
		return work.ChangeSize{}, fmt.Errorf("measure a change: %w", err)
	}
	out, err := s.git(ctx, call{args: []string{"diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-relative", from, to}})
	if err != nil {
		return work.ChangeSize{}, fmt.Errorf("measure the change from %s to %s: %w", from, to, err)
	}
	return parseNumstat(out.out)
}

// parseNumstat reads "diff-tree -z --numstat --no-renames".
func parseNumstat(out []byte) (work.ChangeSize, error) {
	var size work.ChangeSize
	lines, text := 0, true
	for line := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(line) == 0 && size.Files == 0 {
			break
		}
		fields := bytes.SplitN(line, []byte{'\t'}, 3)
		if len(fields) != 3 {
			return work.ChangeSize{}, fmt.Errorf("measure a change: git said %q", line)
		}
		size.Files++
		if string(fields[0]) == "-" && string(fields[1]) == "-" {
			text = false
			continue
		}
		for _, field := range fields[:2] {
			n, err := strconv.Atoi(string(field))
			if err != nil || n < 0 {
				return work.ChangeSize{}, fmt.Errorf("measure a change: git said %q", line)
			}
			lines += n
		}
	}
	if text {
		size.Lines = &lines
	}
	return size, nil
}

// comparison is how two trees differ.
type comparison struct {
	files []work.FileChange
	modes [][2]string // before and after, of the file at the same place
	blobs []string    // after, of the file at the same place
}

// newLinks are the paths that became submodules.
func (c comparison) newLinks() []string {
	var links []string
	for i, m := range c.modes {
		if m[1] == "160000" && m[0] != "160000" {
			links = append(links, c.files[i].Path)
		}
	}
	return links
}

// parseRaw reads "diff --raw -z --no-renames".
func parseRaw(out []byte) (comparison, error) {
	fields := splitZ(out)
	if len(fields)%2 != 0 {
		return comparison{}, fmt.Errorf("read changed files: odd number of fields")
	}
	var c comparison
	for i := 0; i < len(fields); i += 2 {
		part := strings.Split(strings.TrimPrefix(fields[i], ":"), " ")
		if len(part) != 5 || !strings.HasPrefix(fields[i], ":") || fields[i+1] == "" {
			return comparison{}, fmt.Errorf("read changed files: unknown record %q", fields[i])
		}
		switch part[4] {
		case "A", "M", "D", "T":
			c.files = append(c.files, work.FileChange{Path: fields[i+1], Status: part[4]})
			c.modes = append(c.modes, [2]string{part[0], part[1]})
			c.blobs = append(c.blobs, part[3])
		default:
			return comparison{}, fmt.Errorf("read changed files: unknown status %q of %q", part[4], fields[i+1])
		}
	}
	return c, nil
}
