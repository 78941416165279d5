package github_test

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// Where the host merges by its own queue alone, that one is used: what was proven is put
// into it once, and has landed when the queue says so.
func TestGitHubMergeQueue(t *testing.T) {
	t.Parallel()
	b := newBed(t, 20)
	pull, head := b.propose("one", "forge/a")
	other, gone := b.propose("two", "forge/b")
	b.g.QueueMerges()
	look := func(number int64) work.PullLook {
		t.Helper()
		for {
			l, err := b.Look(t.Context(), number)
			b.ok(err)
			if l.Mergeable != work.MergeComputing {
				return l
			}
		}
	}
	if l := look(pull.Number); l.Mergeable != work.Mergeable {
		t.Errorf("what only a queue may merge is said to be %s: %s", l.Mergeable, l.Why)
	}
	merge := func(number int64, branch, at string) error {
		_, err := b.Merge(t.Context(), work.PullMerge{Number: number, Branch: branch, Base: "main", Head: at, Title: text.Titled("t")})
		return err
	}
	if err := merge(pull.Number, "forge/a", head); work.HostKindOf(err) != work.HostNotYet {
		t.Fatalf("the queue: %v", err)
	}
	if err := merge(pull.Number, "forge/a", head); work.HostKindOf(err) != work.HostNotYet || !strings.Contains(err.Error(), "place 1") {
		t.Errorf("once more: %v", err)
	}
	if err := merge(other.Number, "forge/b", gone); work.HostKindOf(err) != work.HostNotYet {
		t.Errorf("the other: %v", err)
	}
	if n := b.g.Queued(); len(n) != 2 {
		t.Errorf("in the queue are %v", n)
	}
	// Somebody pushes to the other one: the queue drops it.
	pushed := b.Commit(t, gone, "pushed", map[string]string{"p.txt": "p\n"})
	b.ok(b.direct(hosttest.GitHubToken).Push(t.Context(), "forge/b", pushed, gone))
	_ = look(other.Number)
	b.g.RunQueue()
	if l := look(pull.Number); l.State != work.PullMerged || l.MergeCommit == "" {
		t.Errorf("after the queue: %+v", l.PullRequest)
	}
	if l := look(other.Number); l.State != work.PullOpen {
		t.Errorf("what was pushed to meanwhile: %+v", l.PullRequest)
	}
	if err := merge(pull.Number, "forge/a", head); err != nil {
		t.Errorf("what is merged: %v", err)
	}
	// A queue that cannot be asked lets nothing pass.
	b.proxy.Misbehave(func(req *http.Request) hosttest.Fault {
		if strings.HasSuffix(req.URL.Path, "/graphql") {
			return hosttest.Fault{Status: http.StatusInternalServerError}
		}
		return hosttest.Fault{}
	})
	if err := merge(other.Number, "forge/b", pushed); err == nil || work.HostKindOf(err) == work.HostNotYet {
		t.Errorf("a queue that does not answer: %v", err)
	}
	if n := b.g.Queued(); len(n) != 0 {
		t.Errorf("in the queue are %v", n)
	}
}
