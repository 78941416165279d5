package git

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"forge/internal/text"
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
	id, here, err := s.commitHere(tree, parents, message, env)
	if err == nil && !here {
		var res result
		res, err = s.git(ctx, call{args: args, stdin: strings.NewReader(message), env: env})
		id = res.line()
	}
	if err != nil {
		return "", err
	}
	s.remember(id, tree)
	if ref == "" {
		return id, nil
	}
	return id, s.UpdateRef(ctx, ref, id, "")
}

// commitHere writes a commit without git. Where git would ask for more or say otherwise,
// here is false: at a tree or parent that is not seen here, at a parent that is named
// twice, at the name of a person of which it would leave something out, and at a text
// that it refuses or writes otherwise.
func (s *Store) commitHere(tree string, parents []string, message string, env []string) (id string, here bool, err error) {
	who := map[string]string{"GIT_AUTHOR_NAME": "Forge", "GIT_AUTHOR_EMAIL": forgeEmail, "GIT_COMMITTER_NAME": "Forge", "GIT_COMMITTER_EMAIL": forgeEmail}
	for _, v := range env {
		key, value, _ := strings.Cut(v, "=")
		if _, ok := who[key]; !ok || !plainName(value) {
			return "", false, nil
		}
		who[key] = value
	}
	if !plainText(message) {
		return "", false, nil
	}
	if o, ok := s.readHere(tree); !ok || o.kind != "tree" {
		return "", false, nil
	}
	var b strings.Builder
	b.WriteString("tree " + tree + "\n")
	for i, p := range parents {
		if slices.Contains(parents[:i], p) || !s.isCommit(p) {
			return "", false, nil
		}
		b.WriteString("parent " + p + "\n")
	}
	now := time.Now()
	at := strconv.FormatInt(now.Unix(), 10) + now.Format(" -0700") + "\n"
	b.WriteString("author " + who["GIT_AUTHOR_NAME"] + " <" + who["GIT_AUTHOR_EMAIL"] + "> " + at)
	b.WriteString("committer " + who["GIT_COMMITTER_NAME"] + " <" + who["GIT_COMMITTER_EMAIL"] + "> " + at)
	b.WriteString("\n" + message)
	id, err = s.writeHere(object{"commit", []byte(b.String())})
	return id, true, err
}

// plainName is a name or address that git puts into a commit as it is.
func plainName(name string) bool {
	const left = " .,:;<>\"\\'" // what git strips from the ends, beside what nobody sees
	return name != "" && plainText(name) && strings.Trim(name, left) == name && !strings.ContainsAny(name, "<>\n\t")
}

// plainText is a text that git puts into a commit as it is. It refuses a NUL, and takes
// what is no UTF-8, or no character of Unicode, for Latin-1: what can be seen is neither.
func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return text.Invisible(r) && r != '\n' && r != '\t'
	})
}

// isCommit says that a commit is seen here. What is packed is not.
func (s *Store) isCommit(id string) bool {
	o, ok := s.readHere(id)
	return ok && o.kind == "commit"
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

// differences is how what one tree holds differs from what another does. Trees are in
// the order of their paths' bytes, as git has them.
func differences(before, after map[string]string) comparison {
	var paths []string
	for path, entry := range before {
		if after[path] != entry {
			paths = append(paths, path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var c comparison
	for _, path := range paths {
		was, is := strings.Split(cmp.Or(before[path], noEntry), " "), strings.Split(cmp.Or(after[path], noEntry), " ")
		status := "M"
		switch {
		case before[path] == "":
			status = "A"
		case after[path] == "":
			status = "D"
		case was[0][:3] != is[0][:3]: // file, link, submodule
			status = "T"
		}
		c.files = append(c.files, work.FileChange{Path: path, Status: status})
		c.modes = append(c.modes, [2]string{was[0], is[0]})
		c.blobs = append(c.blobs, is[2])
	}
	return c
}

// noEntry is how git names what is not there.
const noEntry = "000000 blob " + ZeroID

// on is what a tree holds that differs so from what another one does.
func (c comparison) on(before map[string]string) map[string]string {
	after := maps.Clone(before)
	for i, f := range c.files {
		kind := "blob"
		switch mode := c.modes[i][1]; {
		case f.Status == "D":
			delete(after, f.Path)
			continue
		case mode == submoduleMode:
			kind = "commit"
		}
		after[f.Path] = c.modes[i][1] + " " + kind + " " + c.blobs[i]
	}
	return after
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
