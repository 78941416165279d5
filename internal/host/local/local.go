// Package local is a code host without a host: branches and pull requests of
// Forge's own repository, reviewed at checkpoints.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// Config says where branches and records are.
type Config struct {
	Store *git.Store
	Dir   string // for the records, made when it is missing
	// Reviews are the answers of the checkpoints that belong to a marker; nil
	// is none.
	Reviews func(ctx context.Context, marker string) ([]work.PullReview, error)
}

var _ host.Host = (*Host)(nil)

// Host may be used by several goroutines of one Forge, which holds the lease
// of the run; records survive its death at any moment.
type Host struct {
	host.TextOnly // Forge's own pages show them
	host.OneByOne
	cfg Config
	mu  sync.Mutex
}

// New makes nothing.
func New(cfg Config) *Host { return &Host{cfg: cfg} }

// record is one pull request. Making is the commit of a merge that may have
// been made: it is written down before the base moves, together with the head
// that it is of and the base that it is on.
type record struct {
	work.PullRequest
	Words  string `json:"words"` // the whole marker
	Making string `json:"making,omitempty"`
}

func trouble(kind work.HostKind, do, what string) *work.HostTrouble {
	return &work.HostTrouble{Kind: kind, Do: do, What: what}
}

func (h *Host) file(number int64) string {
	return filepath.Join(h.cfg.Dir, strconv.FormatInt(number, 10)+".json")
}

func (h *Host) write(r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.cfg.Dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(h.file(r.Number), data, 0o600)
}

func (h *Host) read(number int64) (record, error) {
	var r record
	data, err := os.ReadFile(h.file(number))
	if errors.Is(err, fs.ErrNotExist) {
		return r, trouble(work.HostNoPull, fmt.Sprintf("read pull request %d", number), "there is none")
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return r, fmt.Errorf("read %s: %w", h.file(number), err)
	}
	return r, nil
}

// fresh is a record with what the branches say now. What was merged by a Forge
// that died before it could write so is merged.
func (h *Host) fresh(ctx context.Context, number int64) (record, error) {
	r, err := h.read(number)
	if err != nil || r.State != work.PullOpen {
		return r, err
	}
	base, err := h.Head(ctx, r.Base)
	if err != nil {
		return r, err
	}
	if r.Making != "" && base != "" {
		if held, err := h.cfg.Store.Holds(ctx, base, r.Making); err != nil {
			return r, err
		} else if held {
			r.State, r.MergeCommit, r.MergedBy = work.PullMerged, r.Making, "forge"
			return r, nil
		}
	}
	head, err := h.Head(ctx, r.Branch)
	if err != nil {
		return r, err
	}
	if r.BranchGone = head == ""; !r.BranchGone {
		r.Head = head
	}
	r.BaseHead = base
	return r, nil
}

// OpenPull makes sure that there is one pull request for the proposal.
func (h *Host) OpenPull(ctx context.Context, p work.PullProposal) (work.PullRequest, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do := "open a pull request for " + p.Branch
	found, last, err := h.find(ctx, p)
	switch {
	case err != nil:
		return work.PullRequest{}, fmt.Errorf("%s: %w", do, err)
	case found != nil && found.State == work.PullOpen:
		found.Title, found.Body = host.Renewed(found.PullRequest, p)
		found.Updated = time.Now().UTC()
		return found.PullRequest, h.write(*found)
	case found != nil:
		return found.PullRequest, nil
	}
	for _, b := range []string{p.Base, p.Branch} {
		if at, err := h.Head(ctx, b); err != nil || at == "" {
			return work.PullRequest{}, errors.Join(err, trouble(work.HostBranchGone, do, "there is no branch "+b))
		}
	}
	r := record{Words: p.Marker, PullRequest: work.PullRequest{
		Number: last + 1, State: work.PullOpen, Marker: host.MarkerOf(p.Marker), Branch: p.Branch, Base: p.Base,
		Title: p.Title.String(), Body: host.Body(p), Author: "forge", Updated: time.Now().UTC(),
	}}
	if r.Head, err = h.Head(ctx, p.Branch); err == nil {
		r.BaseHead, err = h.Head(ctx, p.Base)
	}
	if err != nil {
		return work.PullRequest{}, err
	}
	if related, err := h.cfg.Store.Related(ctx, r.BaseHead, r.Head); err != nil || !related {
		return work.PullRequest{}, errors.Join(err, trouble(work.HostUnrelated, do, "the branch and "+p.Base+" have no common commit"))
	}
	if held, err := h.cfg.Store.Holds(ctx, r.BaseHead, r.Head); err != nil || held {
		return work.PullRequest{}, errors.Join(err, trouble(work.HostNoChanges, do, "there is nothing in the branch that "+p.Base+" does not have"))
	}
	return r.PullRequest, h.write(r)
}

// find is the pull request of the proposal, nil = there is none, and the
// highest number that one has.
func (h *Host) find(ctx context.Context, p work.PullProposal) (*record, int64, error) {
	last := int64(0)
	entries, err := os.ReadDir(h.cfg.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	for _, e := range entries {
		n, err := strconv.ParseInt(strings.TrimSuffix(e.Name(), ".json"), 10, 64)
		if err != nil {
			continue // a file on its way
		}
		last = max(last, n)
		r, err := h.fresh(ctx, n)
		if err != nil {
			return nil, 0, err
		}
		if r.Words == p.Marker && r.Branch == p.Branch && r.Base == p.Base {
			return &r, last, nil
		}
	}
	return nil, last, nil
}

// ClosePull closes a pull request that is open; number 0 is the one of the
// proposal, if there is one.
func (h *Host) ClosePull(ctx context.Context, number int64, p work.PullProposal, _ string, _ text.Markdown) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, _, err := h.find(ctx, p)
	if number != 0 {
		var r record
		r, err = h.fresh(ctx, number)
		found = &r
	}
	if err != nil || found == nil || found.State != work.PullOpen {
		return err
	}
	found.State = work.PullClosed
	return h.write(*found)
}

// Pull is the state of a pull request.
func (h *Host) Pull(ctx context.Context, number int64) (work.PullRequest, error) {
	r, err := h.fresh(ctx, number)
	return r.PullRequest, err
}

// Look adds the answers of checkpoints as reviews.
func (h *Host) Look(ctx context.Context, number int64) (work.PullLook, error) {
	r, err := h.fresh(ctx, number)
	out := work.PullLook{PullRequest: r.PullRequest, Checks: work.ChecksNone, Mergeable: work.MergeUnknown}
	if err != nil {
		return out, err
	}
	if h.cfg.Reviews != nil {
		if out.Reviews, err = h.cfg.Reviews(ctx, r.Words); err != nil {
			return out, err
		}
	}
	switch {
	case r.State != work.PullOpen:
		out.Why = "it is " + string(r.State)
	case r.BranchGone || r.BaseHead == "":
		out.Mergeable, out.Why = work.MergeBlocked, "its branch or its base is gone"
	default:
		m, err := h.cfg.Store.Merge(ctx, r.BaseHead, r.Head)
		if err != nil {
			return out, err
		}
		out.Mergeable = work.Mergeable
		if len(m.Conflicts) > 0 {
			out.Mergeable = work.MergeConflict
		}
	}
	return out, nil
}

// Verdicts is Look: nothing is said here but at checkpoints.
func (h *Host) Verdicts(ctx context.Context, number int64) (work.PullLook, error) {
	return h.Look(ctx, number)
}

// Checks are none: nobody runs any here but Forge.
func (h *Host) Checks(context.Context, string) (work.PullChecks, error) {
	return work.PullChecks{State: work.ChecksNone}, nil
}

// CheckLog has none, as Checks.
func (h *Host) CheckLog(_ context.Context, c work.PullCheck) (work.PullCheck, error) { return c, nil }

// RetargetedBy is nobody: only Forge changes what is here.
func (h *Host) RetargetedBy(context.Context, int64) string { return "" }

// Changed names nothing: checkpoints tell by themselves.
func (h *Host) Changed(context.Context, string) (work.PullHints, error) {
	return work.PullHints{Cursor: "local"}, nil
}

// Comment does nothing: what is said of a phase stands in its checkpoint.
func (h *Host) Comment(context.Context, int64, string, text.Markdown) error { return nil }

// Acknowledge does nothing, as Comment.
func (h *Host) Acknowledge(context.Context, int64, work.PullComment) error { return nil }

// Reply does nothing, as Comment.
func (h *Host) Reply(context.Context, int64, work.PullThread, string, text.Markdown) error {
	return nil
}

// Note does nothing, as Comment.
func (h *Host) Note(context.Context, work.PullNotes) error { return nil }

// Settle does nothing: there are no threads.
func (h *Host) Settle(context.Context, int64, work.PullThread, string, text.Markdown) error {
	return nil
}

// Issue is refused: there are none.
func (h *Host) Issue(_ context.Context, number int64) (work.HostIssue, error) {
	return work.HostIssue{}, trouble(work.HostRefused, fmt.Sprintf("read issue %d", number), "there are no issues without a host")
}

// EnsureHook is refused: nobody but Forge changes what is here.
func (h *Host) EnsureHook(context.Context, string, string) (int64, error) {
	return 0, noHooks("make a webhook")
}

// TestHook is refused, as EnsureHook.
func (h *Host) TestHook(context.Context, int64) error { return noHooks("try a webhook") }

func noHooks(do string) error {
	return trouble(work.HostRefused, do, "there are none without a code host")
}

// Merge squashes the branch into its base, both in Forge's own repository.
func (h *Host) Merge(ctx context.Context, m work.PullMerge) (work.PullSquashed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	do := fmt.Sprintf("merge pull request %d", m.Number)
	r, err := h.fresh(ctx, m.Number)
	if err != nil {
		return work.PullSquashed{}, err
	}
	if r.State == work.PullOpen {
		r.BranchGone = r.BranchGone || r.BaseHead == ""
	}
	if t := host.Guard(m, r.PullRequest, func() string { return "" }); t != nil {
		return work.PullSquashed{}, t
	}
	if r.State == work.PullMerged {
		return h.merged(r)
	}
	merged, err := h.cfg.Store.Merge(ctx, r.BaseHead, r.Head)
	if err != nil {
		return work.PullSquashed{}, err
	}
	if len(merged.Conflicts) > 0 {
		return work.PullSquashed{}, trouble(work.HostConflict, do, "it conflicts with "+r.Base)
	}
	commit, err := h.cfg.Store.Squash(ctx, merged.Tree, r.BaseHead, strings.TrimSpace(m.Title.String()+"\n\n"+m.Message)+"\n", "")
	if err != nil {
		return work.PullSquashed{}, err
	}
	r.Making = commit
	if err := h.write(r); err != nil {
		return work.PullSquashed{}, err
	}
	if err := h.cfg.Store.UpdateRef(ctx, "refs/heads/"+r.Base, commit, r.BaseHead); err != nil {
		return work.PullSquashed{}, moved(err, do, work.HostBaseMoved, "the base moved during the merge")
	}
	r.State, r.MergeCommit, r.MergedBy = work.PullMerged, commit, "forge"
	return h.merged(r)
}

// merged writes down, where it is not yet, that a merge was made.
func (h *Host) merged(r record) (work.PullSquashed, error) {
	out := work.PullSquashed{Commit: r.MergeCommit, Parent: r.BaseHead}
	if r.Making == "" {
		return out, nil
	}
	r.Making = ""
	return out, h.write(r)
}

func moved(err error, do string, kind work.HostKind, what string) error {
	var m *git.MovedError
	if errors.As(err, &m) {
		return trouble(kind, do, what)
	}
	return err
}

// DeleteBranch deletes a branch that still points at head.
func (h *Host) DeleteBranch(ctx context.Context, branch, head string) error {
	at, err := h.Head(ctx, branch)
	if err != nil || at == "" {
		return err
	}
	do, what := "delete branch "+branch, "it has moved since"
	if at != head {
		return trouble(work.HostHeadMoved, do, what)
	}
	return moved(h.cfg.Store.UpdateRef(ctx, "refs/heads/"+branch, "", head), do, work.HostHeadMoved, what)
}

// Push makes the branch point at commit when it points at old now; old "" means
// that it must not exist.
func (h *Host) Push(ctx context.Context, branch, commit, old string) error {
	do := "push " + branch
	at, err := h.Head(ctx, branch)
	switch {
	case err != nil:
		return err
	case at == commit:
		return nil
	case at != old && old == "":
		return trouble(work.HostBranchExists, do, "a branch of this name is there already, with other content")
	case at != old:
		return trouble(work.HostHeadMoved, do, "the branch has moved since")
	case old == "":
		old = git.ZeroID
	default:
		if holds, err := h.cfg.Store.Holds(ctx, commit, old); err != nil {
			return err
		} else if !holds {
			return trouble(work.HostHeadMoved, do, "the branch has commits that this one does not grow out of")
		}
	}
	return moved(h.cfg.Store.UpdateRef(ctx, "refs/heads/"+branch, commit, old), do, work.HostHeadMoved, "the branch has moved since")
}

// Fetch points ref at the branch. The commit is "" when the branch is gone.
func (h *Host) Fetch(ctx context.Context, branch, ref string) (string, error) {
	at, err := h.Head(ctx, branch)
	if err != nil || at == "" {
		return "", err
	}
	return at, h.cfg.Store.UpdateRef(ctx, ref, at, "")
}

// Head is the commit of a branch, "" when it is gone.
func (h *Host) Head(ctx context.Context, branch string) (string, error) {
	return h.cfg.Store.ReadRef(ctx, "refs/heads/"+branch)
}

// Heads are the commits of branches, by their names; one that is gone has none.
func (h *Host) Heads(ctx context.Context, branches ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, branch := range branches {
		at, err := h.Head(ctx, branch)
		if err != nil {
			return nil, err
		}
		if at != "" {
			out[branch] = at
		}
	}
	return out, nil
}

// Access is what Forge may do in its own repository: everything.
func (h *Host) Access(ctx context.Context, base string) (work.HostAccess, error) {
	out := work.HostAccess{Account: work.HostAccount{Name: "forge"}, Default: base, Push: true, Admin: true, Squash: true}
	at, err := h.Head(ctx, base)
	if err == nil && at == "" {
		err = trouble(work.HostBranchGone, "read branch "+base, "there is none")
	}
	return out, err
}
