package github_test

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

func isMerge(req *http.Request) bool {
	return req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/merge")
}

// direct is an adapter that the proxy does not see.
func (b *bed) direct(token string) *github.Host {
	b.t.Helper()
	h, err := github.New(github.Config{URL: b.g.URL, Owner: "octo", Repo: "repo", Token: token, Store: b.Store})
	b.ok(err)
	return h
}

// Between Forge's last look and the merge somebody may push: to the branch, and
// it is not merged; to the base, and what it was merged on is told.
func TestGitHubMergeRaces(t *testing.T) {
	t.Parallel()
	b := newBed(t, 20)
	pull, head := b.propose("one", "forge/a")
	unseen := b.Commit(t, head, "unseen", map[string]string{"u.txt": "u\n"})
	moves := func(branch, commit, old string) {
		done := false
		b.proxy.Misbehave(func(req *http.Request) hosttest.Fault {
			if isMerge(req) && !done {
				done = true
				if err := b.direct(hosttest.GitHubToken).Push(t.Context(), branch, commit, old); err != nil {
					t.Error(err)
				}
			}
			return hosttest.Fault{}
		})
	}
	moves("forge/a", unseen, head)
	if _, err := b.Merge(t.Context(), work.PullMerge{Number: pull.Number, Branch: "forge/a", Base: "main", Head: head, Title: text.Titled("t")}); work.HostKindOf(err) != work.HostHeadMoved {
		t.Errorf("the branch moved: %v", err)
	}
	b.proxy.Misbehave(nil)
	if at, err := b.Head(t.Context(), "main"); err != nil || at != b.World.Start {
		t.Errorf("the base is at %s, %v", at, err)
	}
	// What Forge sees by itself the host is not asked for.
	b.proxy.Seen()
	if _, err := b.Merge(t.Context(), work.PullMerge{Number: pull.Number, Branch: "forge/a", Base: "main", Head: head, Title: text.Titled("t")}); work.HostKindOf(err) != work.HostHeadMoved {
		t.Errorf("the branch has moved: %v", err)
	}
	if seen := strings.Join(b.proxy.Seen(), " "); strings.Contains(seen, "/merge") {
		t.Errorf("asked to merge: %s", seen)
	}
	base := b.Commit(t, b.World.Start, "base", map[string]string{"z.txt": "z\n"})
	moves("main", base, b.World.Start)
	got, err := b.Merge(t.Context(), work.PullMerge{Number: pull.Number, Branch: "forge/a", Base: "main", Head: unseen, BaseHead: b.World.Start, Title: text.Titled("t")})
	if err != nil || got.Parent != base {
		t.Errorf("the base moved: %+v, %v, want on %s", got, err, base)
	}
}

// A merge whose answer was lost is known to be made at once.
func TestGitHubMergeAnswerLost(t *testing.T) {
	t.Parallel()
	b := newBed(t, 20)
	for i, f := range []hosttest.Fault{{Status: http.StatusBadGateway, After: true}, {Cut: true, After: true}} {
		branch := []string{"forge/a", "forge/b"}[i]
		start, err := b.Fetch(t.Context(), "main", "refs/forge/base")
		b.ok(err)
		head := b.Commit(t, start, branch, map[string]string{branch: "x\n"})
		b.ok(b.Push(t.Context(), branch, head, ""))
		p, err := b.OpenPull(t.Context(), work.PullProposal{Marker: branch, Branch: branch, Base: "main", Title: text.Titled("t")})
		b.ok(err)
		b.proxy.Misbehave(func(req *http.Request) hosttest.Fault {
			if isMerge(req) {
				return f
			}
			return hosttest.Fault{}
		})
		got, err := b.Merge(t.Context(), work.PullMerge{Number: p.Number, Branch: branch, Base: "main", Head: head, BaseHead: start, Title: text.Titled("t")})
		if at, herr := b.Head(t.Context(), "main"); err != nil || herr != nil || got.Commit != at || got.Parent != start {
			t.Errorf("%+v: %+v, %v; the base is at %s (%v)", f, got, err, at, herr)
		}
		b.proxy.Misbehave(nil)
	}
}

// What somebody else proposed, or said with a mark that is copied, is not
// Forge's.
func TestGitHubOfSomebodyElse(t *testing.T) {
	t.Parallel()
	b := newBed(t, 20)
	head := b.Commit(t, b.World.Start, "x", map[string]string{"b.txt": "b\n"})
	b.ok(b.Push(t.Context(), "forge/a", head, ""))
	proposal := work.PullProposal{Marker: "one", Branch: "forge/a", Base: "main", Title: text.Titled("t")}
	theirs, err := b.direct(hosttest.GitHubOther).OpenPull(t.Context(), proposal)
	b.ok(err)
	if got, err := b.OpenPull(t.Context(), proposal); work.HostKindOf(err) != work.HostBranchExists {
		t.Errorf("took %+v for its own (%v), %d is somebody's", got, err, theirs.Number)
	}
	mine, _ := b.propose("two", "forge/b")
	b.ok(b.direct(hosttest.GitHubOther).Comment(t.Context(), mine.Number, "key", text.Own("copied")))
	b.ok(b.Comment(t.Context(), mine.Number, "key", text.Own("said")))
	l, err := b.Look(t.Context(), mine.Number)
	b.ok(err)
	if len(l.Comments) != 2 || l.Comments[0].Own || !l.Comments[1].Own {
		t.Errorf("comments: %+v", l.Comments)
	}
}
