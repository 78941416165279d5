package host

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"forge/internal/git"
	"forge/internal/work"
)

// Branches are the branches of a repository on a host, reached by git.
type Branches struct {
	Store  *git.Store
	Remote git.Remote
	client *Client
}

// NewBranches are those at address, with user and token in a header.
func NewBranches(c *Client, store *git.Store, address, user, password string) *Branches {
	r := git.Remote{URL: address}
	if password != "" || user != "" {
		r.Authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	return &Branches{Store: store, Remote: r, client: c}
}

// Push makes the branch on the host point at commit when it points at old now;
// old "" means that it must not exist. A commit of somebody else is never
// overwritten. Doing it twice is doing it once. Kinds of trouble: branch_exists,
// head_moved, protected, unauthorized, forbidden, no_repository, archived,
// unreachable.
func (b *Branches) Push(ctx context.Context, branch, commit, old string) error {
	err := b.Store.PushCommit(ctx, b.Remote, branch, commit, old)
	var moved *git.MovedError
	if errors.As(err, &moved) {
		t := &work.HostTrouble{Kind: work.HostHeadMoved, Do: "push " + branch, Err: err,
			What: "the branch has commits on the host that Forge has not seen", Fix: "they are fetched and shown to the agent first"}
		if old == "" {
			t.Kind, t.What = work.HostBranchExists, "a branch of this name is on the host already, with other content"
			t.Fix = "delete or rename it there"
		}
		return t
	}
	return b.trouble("push "+branch, err)
}

// Fetch brings a branch of the host into Forge's own repository, with ref
// pointing at it. The commit is "" when the branch is gone.
func (b *Branches) Fetch(ctx context.Context, branch, ref string) (string, error) {
	commit, err := b.Store.FetchBranch(ctx, b.Remote, branch, ref)
	return commit, b.trouble("fetch "+branch, err)
}

// Head is the commit of a branch on the host, "" when it is gone.
func (b *Branches) Head(ctx context.Context, branch string) (string, error) {
	commit, err := b.Store.RemoteHead(ctx, b.Remote, branch)
	return commit, b.trouble("read "+branch, err)
}

// Heads are the commits of branches on the host, by their names, read at one
// moment; one that is gone has none.
func (b *Branches) Heads(ctx context.Context, branches ...string) (map[string]string, error) {
	heads, err := b.Store.RemoteHeads(ctx, b.Remote, branches...)
	return heads, b.trouble("read "+strings.Join(branches, " and "), err)
}

// Conflict says whether two branches of the host conflict, which git itself
// tells and no host does: theirs is "not mergeable" while they compute, too.
// refs is a folder of references of Forge's own.
func (b *Branches) Conflict(ctx context.Context, base, branch, refs string) (bool, error) {
	ours, theirs, err := b.both(ctx, base, branch, refs)
	if err != nil {
		return false, err
	}
	m, err := b.Store.Merge(ctx, ours, theirs)
	return err == nil && len(m.Conflicts) > 0, err
}

// Unrelated says whether two branches of the host have no common commit.
func (b *Branches) Unrelated(ctx context.Context, base, branch, refs string) (bool, error) {
	ours, theirs, err := b.both(ctx, base, branch, refs)
	if err != nil {
		return false, err
	}
	related, err := b.Store.Related(ctx, ours, theirs)
	return err == nil && !related, err
}

func (b *Branches) both(ctx context.Context, base, branch, refs string) (ours, theirs string, err error) {
	if ours, err = b.Fetch(ctx, base, refs+"/base"); err != nil {
		return "", "", err
	}
	if theirs, err = b.Fetch(ctx, branch, refs+"/head"); err != nil {
		return "", "", err
	}
	if ours == "" || theirs == "" {
		err = &work.HostTrouble{Kind: work.HostBranchGone, Do: "fetch " + branch, What: "the branch or its base is gone"}
	}
	return ours, theirs, err
}

// trouble says what git's words mean.
func (b *Branches) trouble(do string, err error) error {
	if err == nil {
		return nil
	}
	var cmd *git.CommandError
	t := &work.HostTrouble{Kind: work.HostUnreachable, Do: do, What: b.client.clean(err.Error())}
	if !errors.As(err, &cmd) {
		t.Err = err
		return t
	}
	// Not wrapped: what git prints may hold what it was given.
	text := strings.ToLower(cmd.Stderr)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	if said := remoteSaid(cmd.Stderr); said != "" {
		t.What = b.client.clean(said)
	}
	switch {
	case has("archived"):
		t.Kind, t.Fix = work.HostArchived, "unarchive the repository"
	case has("permission denied for writing"): // by a hook, as rules of branches are
		t.Kind, t.Fix = work.HostForbidden, rightFix
	case has("protected branch", "protected_branch", "pre-receive hook declined", "gh006", "gh013"):
		t.Kind, t.Fix = work.HostProtected, "let the account of the token push to this branch"
	case has("authentication failed", "error: 401", "could not read username", "terminal prompts disabled"):
		t.Kind, t.Fix = work.HostUnauthorized, tokenFix
	case has("error: 403", "permission"):
		t.Kind, t.Fix = work.HostForbidden, rightFix
	case has("not found", "error: 404"):
		t.Kind, t.Fix = work.HostNoRepository, "check host.repo"
	case has("[rejected]", "[remote rejected]"):
		t.Kind = work.HostRefused
	case has("is this a git repository", "unable to update url base from redirection", "could not resolve host"):
		t.Kind, t.Fix = work.HostWrong, "check host.url"
	default:
		t.Fix = "check host.url and that the host runs"
	}
	return t
}

const rightFix = "give the account of the token the right to write"

// remoteSaid are the host's own words in what git prints.
func remoteSaid(stderr string) string {
	var out []string
	for line := range strings.Lines(stderr) {
		if said, ok := strings.CutPrefix(line, "remote:"); ok && strings.TrimSpace(said) != "" {
			out = append(out, strings.TrimSpace(said))
		}
	}
	text, _ := Clip(strings.Join(out[:min(len(out), 5)], " "))
	return text
}
