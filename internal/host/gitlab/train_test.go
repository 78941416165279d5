package gitlab_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"forge/internal/host/gitlab"
	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// Where a project merges by its train, that one is used: what was proven is put into it
// once, has landed when the train says so, and what it took out is not put in again
// before somebody pushes.
func TestGitLabMergeTrain(t *testing.T) {
	t.Parallel()
	g := hosttest.StartGitLab(t)
	proxy := hosttest.StartProxy(t, g.URL)
	store, start := hosttest.NewStore(t)
	h, err := gitlab.New(gitlab.Config{URL: proxy.URL, CloneURL: g.URL + "/" + hosttest.GitLabProject + ".git", Project: hosttest.GitLabProject, Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	g.Seed(t, store, "main", start)
	g.MergesByTrain()
	w := &hosttest.World{Store: store, Start: start, Base: "main"}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	propose := func(name, branch string) (int64, string) {
		t.Helper()
		at := w.Commit(t, start, name, map[string]string{name + ".txt": name + "\n"})
		ok(h.Push(t.Context(), branch, at, ""))
		p, err := h.OpenPull(t.Context(), work.PullProposal{Branch: branch, Base: "main", Title: text.Titled("t"), Marker: name})
		ok(err)
		return p.Number, at
	}
	look := func(number int64) work.PullLook {
		t.Helper()
		for {
			l, err := h.Look(t.Context(), number)
			ok(err)
			if l.Mergeable != work.MergeComputing {
				return l
			}
		}
	}
	merge := func(number int64, branch, at string) error {
		_, err := h.Merge(t.Context(), work.PullMerge{Number: number, Branch: branch, Base: "main", Head: at, Title: text.Titled("t")})
		return err
	}
	one, oneAt := propose("one", "forge/a")
	two, twoAt := propose("two", "forge/b")
	three, threeAt := propose("three", "forge/c")
	for _, n := range []int64{one, two, three} {
		look(n)
	}
	for n, at := range map[int64][2]string{one: {"forge/a", oneAt}, two: {"forge/b", twoAt}, three: {"forge/c", threeAt}} {
		for range 2 { // once more changes nothing
			if err := merge(n, at[0], at[1]); work.HostKindOf(err) != work.HostNotYet || !strings.Contains(err.Error(), "merge train of main") {
				t.Fatalf("merge request %d: %v", n, err)
			}
		}
	}
	if in := g.Train(); len(in) != 3 {
		t.Fatalf("in the train are %v", in)
	}
	// The pipeline of the second is red, somebody pushes to the third.
	pushed := w.Commit(t, threeAt, "pushed", map[string]string{"p.txt": "p\n"})
	ok(h.Push(t.Context(), "forge/c", pushed, threeAt))
	g.RunTrain(int(two))
	if l := look(one); l.State != work.PullMerged || l.MergeCommit == "" {
		t.Errorf("after the train: %+v", l.PullRequest)
	}
	if err := merge(one, "forge/a", oneAt); err != nil {
		t.Errorf("what is merged: %v", err)
	}
	if err := merge(two, "forge/b", twoAt); work.HostKindOf(err) != work.HostProtected || !strings.Contains(err.Error(), "because the pipeline did not succeed") {
		t.Errorf("what the train took out: %v", err)
	}
	if err := merge(three, "forge/c", threeAt); work.HostKindOf(err) != work.HostHeadMoved {
		t.Errorf("what was pushed to: %v", err)
	}
	if in := g.Train(); len(in) != 0 {
		t.Errorf("in the train are %v", in)
	}
	// A push mends it.
	g.Pass()
	mended := w.Commit(t, twoAt, "mended", map[string]string{"m.txt": "m\n"})
	ok(h.Push(t.Context(), "forge/b", mended, twoAt))
	look(two)
	if err := merge(two, "forge/b", mended); work.HostKindOf(err) != work.HostNotYet || !slices.Equal(g.Train(), []int{int(two)}) {
		t.Errorf("what was mended: %v, in the train are %v", err, g.Train())
	}
	// A train that cannot be asked lets nothing pass.
	g.RunTrain(int(two))
	proxy.Misbehave(func(req *http.Request) hosttest.Fault {
		if strings.Contains(req.URL.Path, "/merge_trains/") {
			return hosttest.Fault{Status: http.StatusInternalServerError}
		}
		return hosttest.Fault{}
	})
	if err := merge(two, "forge/b", mended); err == nil || work.HostKindOf(err) == work.HostNotYet {
		t.Errorf("a train that does not answer: %v", err)
	}
	if l := look(two); l.State != work.PullOpen {
		t.Errorf("it is %s", l.State)
	}
}
