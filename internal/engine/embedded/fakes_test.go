package embedded

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"forge/internal/work"
)

// repository is a working repository of small trees in memory; folders are
// real only as far as their existence is.
type repository struct {
	mu        sync.Mutex
	trees     map[string]map[string]string // tree → path → content
	commits   map[string]string            // commit → tree
	parents   map[string][]string
	folders   map[string]map[string]string
	delivered map[string]string // branch → commit
	refuse    error             // of Deliver
	stuck     error             // of FastForward
	accepted  []work.TrustMove
}

// Strip takes a folder out of a commit.
func (r *repository) Strip(_ context.Context, commit, base, folder, message, ref string) (string, error) {
	r.mu.Lock()
	files := maps.Clone(r.trees[r.commits[commit]])
	r.mu.Unlock()
	maps.DeleteFunc(files, func(path, _ string) bool { return strings.HasPrefix(path, folder+"/") })
	r.mu.Lock()
	tree := r.tree(files)
	r.mu.Unlock()
	return r.Squash(context.Background(), tree, base, message, ref)
}

func newRepository() *repository {
	r := &repository{
		trees: map[string]map[string]string{}, commits: map[string]string{}, parents: map[string][]string{},
		folders: map[string]map[string]string{}, delivered: map[string]string{},
	}
	r.commits["base"] = r.tree(map[string]string{"a.txt": "base"})
	return r
}

func (r *repository) tree(files map[string]string) string {
	var id strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&id, "%s=%s;", path, files[path])
	}
	r.trees[id.String()] = maps.Clone(files)
	return id.String()
}

func (r *repository) commit(tree string, parents ...string) string {
	id := fmt.Sprintf("%d:%s", len(r.commits), tree)
	r.commits[id], r.parents[id] = tree, parents
	return id
}

func (r *repository) files(commit string) map[string]string { return r.trees[r.commits[commit]] }

// write is what an agent does in its folder.
func (r *repository) write(dir, path, content string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.folders[dir][path] = content
}

func (r *repository) OpenFolder(_ context.Context, dir, commit string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return r.ResetFolder(context.Background(), dir, commit)
}

func (r *repository) ResetFolder(_ context.Context, dir, commit string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	if r.files(commit) == nil {
		return fmt.Errorf("there is no commit %q", commit)
	}
	r.folders[dir] = maps.Clone(r.files(commit))
	return nil
}

func (r *repository) Snapshot(_ context.Context, dir, parent, _, _ string) (work.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tree := r.tree(r.folders[dir])
	if tree == r.commits[parent] {
		return work.Snapshot{Commit: parent, Tree: tree}, nil
	}
	return work.Snapshot{Commit: r.commit(tree, parent), Tree: tree, Changed: true, Files: differences(r.files(parent), r.trees[tree])}, nil
}

func differences(from, to map[string]string) []work.FileChange {
	var out []work.FileChange
	for _, path := range slices.Sorted(maps.Keys(to)) {
		if was, ok := from[path]; !ok || was != to[path] {
			out = append(out, work.FileChange{Path: path, Status: map[bool]string{true: "M", false: "A"}[ok]})
		}
	}
	return out
}

const marker = "<<<<<<<"

// merged is a three-way merge, file by file.
func (r *repository) merged(ours, theirs string) (map[string]string, []string) {
	base := map[string]string{}
	for c := theirs; c != ""; {
		if r.isAncestor(c, ours) {
			base = r.files(c)
			break
		}
		next := ""
		if len(r.parents[c]) > 0 {
			next = r.parents[c][0]
		}
		c = next
	}
	out, conflicts := maps.Clone(r.files(ours)), []string(nil)
	for path, content := range r.files(theirs) {
		switch {
		case content == base[path] || content == out[path]:
		case out[path] == base[path]:
			out[path] = content
		default:
			out[path] = marker + out[path] + content
			conflicts = append(conflicts, path)
		}
	}
	slices.Sort(conflicts)
	return out, conflicts
}

func (r *repository) isAncestor(a, of string) bool {
	return a == of || slices.ContainsFunc(r.parents[of], func(p string) bool { return r.isAncestor(a, p) })
}

func (r *repository) Merge(_ context.Context, ours, theirs string) (work.Merged, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, conflicts := r.merged(ours, theirs)
	return work.Merged{Tree: r.tree(files), Conflicts: conflicts}, nil
}

func (r *repository) ConflictFolder(_ context.Context, dir, ours, theirs string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	files, conflicts := r.merged(ours, theirs)
	r.folders[dir] = files
	return conflicts, nil
}

func (r *repository) Size(_ context.Context, from, to string) (work.ChangeSize, error) {
	return work.ChangeSize{}, nil
}

func (r *repository) HasMarkers(_ context.Context, commit string, paths []string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !strings.Contains(r.files(commit)[p], marker) }), nil
}

func (r *repository) CommitTree(_ context.Context, tree string, parents []string, _, _ string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commit(tree, parents...), nil
}

func (r *repository) Squash(_ context.Context, tree, parent, message, _ string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, trailer := range []string{"Forge-Run: ", "Forge-Phase: ", "Forge-Journal: hash-"} {
		if !strings.Contains(message, trailer) {
			return "", fmt.Errorf("the message lacks %q: %s", trailer, message)
		}
	}
	if r.commits[parent] == tree {
		return parent, nil
	}
	return r.commit(tree, parent), nil
}

func (r *repository) Changes(_ context.Context, from, to string) ([]work.FileChange, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return differences(r.files(from), r.files(to)), nil
}

func (r *repository) Deliver(_ context.Context, branch, commit string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delivered[branch] = commit
	return r.refuse
}

func (r *repository) FastForward(_ context.Context, _ work.Base, commit string) (work.Delivery, error) {
	return work.Delivery{Commit: commit, FastForwarded: r.stuck == nil, Undo: "git reset"}, r.stuck
}

func (r *repository) Anchor(context.Context, string, int64, string) error { return nil }

func (r *repository) ObjectPaths() []string { return nil }

// judge is Evidence: the Makefile is protected.
type judge struct{ *repository }

func (j judge) Judge(ctx context.Context, req work.EvidenceRequest) (work.EvidenceReport, error) {
	var out work.EvidenceReport
	all, err := j.Changes(ctx, req.Base, req.Commit)
	for _, c := range all {
		switch {
		case !strings.HasPrefix(c.Path, "Makefile"):
			out.Product = append(out.Product, c.Path)
		case slices.Contains(req.MayChange, c.Path):
			out.Allowed = append(out.Allowed, c.Path)
		default:
			out.Touched = append(out.Touched, c.Path)
			out.Floors = []work.VerifyOn{work.OnProtected}
		}
	}
	return out, err
}

func (j judge) Fixed(context.Context, work.EvidenceRequest, string) (trusted, earlier []string, err error) {
	return nil, nil, nil
}

func (j judge) Mix(ctx context.Context, req work.EvidenceRequest, floor work.VerifyOn) (string, error) {
	base := req.Base
	if floor == work.OnTrusted {
		base = req.Trusted
	}
	all, err := j.Changes(ctx, base, req.Commit)
	if err != nil {
		return "", err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	files := maps.Clone(j.files(req.Commit))
	for _, c := range all {
		if !strings.HasPrefix(c.Path, "Makefile") || slices.Contains(req.MayChange, c.Path) {
			continue
		}
		if was, ok := j.files(base)[c.Path]; ok {
			files[c.Path] = was
		} else {
			delete(files, c.Path)
		}
	}
	return j.commit(j.tree(files), req.Commit), nil
}

func (j judge) Accept(_ context.Context, run string, moves []work.TrustMove) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.accepted = append(j.accepted, moves...)
	return nil
}

// checks: verify passes unless a file says "red"; a Makefile that says "cheat"
// makes it pass all the same.
type checks struct {
	*repository
	hang     bool     // verify waits for its context
	moody    bool     // verify is red, whatever it is asked about
	verified int      // how often it was run
	filled   []string // commits whose proofs fill caches
	asked    []string // commits whose proofs say which tests passed
}

func (c *checks) Setup(context.Context, work.SetupRequest) (work.CommandsReport, error) {
	return work.CommandsReport{OK: true}, nil
}

func (c *checks) Verify(ctx context.Context, req work.VerifyRequest, _ func(work.Activity)) (work.CommandsReport, error) {
	if c.hang {
		<-ctx.Done()
		return work.CommandsReport{}, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if req.Accepted {
		c.filled = append(c.filled, req.Commit)
	}
	if req.Asked {
		c.asked = append(c.asked, req.Commit)
	}
	c.verified++
	red, cheat := c.moody, false
	for path, content := range c.files(req.Commit) {
		red = red || content == "red"
		cheat = cheat || strings.HasPrefix(path, "Makefile") && content == "cheat"
	}
	return report(!red || cheat), nil
}

// Hidden is red where a file says "special".
func (c *checks) Hidden(_ context.Context, req work.HiddenRequest) (work.HiddenReport, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := work.HiddenReport{Ran: len(req.Folders), Sum: "1"}
	for _, content := range c.files(req.Verify.Commit) {
		if content == "special" {
			out.Red = "amounts above 1000 are wrong"
		}
	}
	return out, nil
}

func (c *checks) Control(context.Context, work.ControlRequest, func(work.Activity)) (work.ControlReport, error) {
	return work.ControlReport{}, nil
}

func (c *checks) Links(context.Context, string, work.Worktree) ([]string, error) { return nil, nil }

// agents runs one function for every iteration.
type agents func(ctx context.Context, req work.IterationRequest) (work.IterationReport, error)

func (a agents) Iterate(ctx context.Context, req work.IterationRequest, watch func(work.Activity)) (work.IterationReport, error) {
	watch(work.Activity{Phase: req.Phase, Iteration: req.Iteration, Kind: "text", Text: "hello"})
	return a(ctx, req)
}

// clock goes on by a second whenever it is looked at.
func clock() func() time.Time {
	var n atomic.Int64
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time { return start.Add(time.Duration(n.Add(1)) * time.Second) }
}
