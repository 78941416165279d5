package github_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/host"
	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// bed is a GitHub whose clock stands still, behind a proxy that counts.
type bed struct {
	*github.Host
	*hosttest.World
	t     *testing.T
	g     *hosttest.GitHub
	proxy *hosttest.Proxy
}

func newBed(t *testing.T, pageSize int) *bed {
	t.Helper()
	g := hosttest.StartGitHub(t)
	g.PageSize = pageSize
	g.Pass(0)
	proxy := hosttest.StartProxy(t, g.URL)
	store, start := hosttest.NewStore(t)
	g.Seed(t, store, "main", start)
	h, err := github.New(github.Config{URL: proxy.URL, CloneURL: g.Clone, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return &bed{h, &hosttest.World{Store: store, Start: start}, t, g, proxy}
}

func (b *bed) propose(marker, branch string) (work.PullRequest, string) {
	b.t.Helper()
	head := b.Commit(b.t, b.World.Start, branch, map[string]string{"b.txt": marker + "\n"})
	if at, err := b.Head(b.t.Context(), branch); err != nil {
		b.t.Fatal(err)
	} else if at == "" {
		b.ok(b.Push(b.t.Context(), branch, head, ""))
	}
	p, err := b.OpenPull(b.t.Context(), work.PullProposal{Marker: marker, Branch: branch, Base: "main", Title: text.Titled("%s", marker)})
	b.ok(err)
	return p, head
}

func (b *bed) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) changed(cursor string) work.PullHints {
	b.t.Helper()
	got, err := b.Changed(b.t.Context(), cursor)
	b.ok(err)
	return got
}

// Every list is read to its end, however little a page holds.
func TestGitHubPages(t *testing.T) {
	t.Parallel()
	b := newBed(t, 1)
	people := b.g.People()
	pull, head := b.propose("one", "forge/a")
	for i := range 3 {
		people.Say(t, "ann", pull.Number, fmt.Sprint("comment ", i))
		people.Review(t, "ann", pull.Number, head, work.PullCommented, fmt.Sprint("review ", i), hosttest.Line{Path: "b.txt", Line: 1, Body: fmt.Sprint("line ", i)})
	}
	people.Review(t, "ben", pull.Number, head, work.PullChangesRequested, "the last")
	l, err := b.Look(t.Context(), pull.Number)
	b.ok(err)
	if len(l.Comments) != 3 || len(l.Reviews) != 4 || len(l.Threads) != 3 || host.Stand(l.Reviews, l.Head).Verdict != work.PullChangesRequested {
		t.Fatalf("%d comments, %d reviews, %d threads", len(l.Comments), len(l.Reviews), len(l.Threads))
	}
	people.Resolve(t, pull.Number, l.Threads[2].ID)
	if l, err = b.Look(t.Context(), pull.Number); err != nil || len(host.Open(l.Threads)) != 2 || !l.Threads[2].Resolved {
		t.Errorf("the last thread is not resolved: %v, %+v", err, l.Threads)
	}
	// What was said already is found on a later page.
	for range 2 {
		b.ok(b.Comment(t.Context(), pull.Number, "key", text.Own("said")))
		b.ok(b.Reply(t.Context(), pull.Number, l.Threads[1], "answer", text.Own("because")))
	}
	if l, err = b.Look(t.Context(), pull.Number); err != nil || len(l.Comments) != 4 || len(l.Threads[1].Comments) != 2 {
		t.Errorf("%v: %d comments, %+v", err, len(l.Comments), l.Threads)
	}
	// The pull request of a marker is found behind others of the same branch.
	people.Close(t, pull.Number)
	b.g.Pass(time.Minute)
	second, _ := b.propose("two", "forge/a")
	people.Close(t, second.Number)
	if got, _ := b.propose("one", "forge/a"); got.Number != pull.Number || second.Number == pull.Number || got.State != work.PullClosed {
		t.Errorf("found %d, want %d", got.Number, pull.Number)
	}
	// A webhook is found behind others.
	first, err := b.EnsureHook(t.Context(), "http://127.0.0.1:1/a", "s")
	b.ok(err)
	other, err := b.EnsureHook(t.Context(), "http://127.0.0.1:1/b", "s")
	b.ok(err)
	again, err := b.EnsureHook(t.Context(), "http://127.0.0.1:1/b", "s")
	if err != nil || first == other || again != other {
		t.Errorf("webhooks %d, %d, %d: %v", first, other, again, err)
	}
}

// The list of pull requests is read as far as something happened, and no
// further; while nothing happens it costs one request that is answered 304.
func TestGitHubChangedPages(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2)
	people := b.g.People()
	var all []int64
	for i := range 5 {
		p, _ := b.propose(fmt.Sprint(i), fmt.Sprint("forge/", i))
		all = append(all, p.Number)
	}
	b.g.Pass(time.Minute)
	cursor := b.changed("").Cursor
	b.g.Pass(5 * time.Second)
	for _, n := range all {
		people.Say(t, "ann", n, "hm")
	}
	got := b.changed(cursor)
	if !slices.Equal(got.Numbers, all) {
		t.Errorf("touched %v, named %v", all, got.Numbers)
	}
	b.g.Pass(5 * time.Second)
	quiet := b.changed(got.Cursor)
	b.g.Pass(5 * time.Second)
	b.proxy.Seen()
	for range 3 {
		if quiet = b.changed(quiet.Cursor); len(quiet.Numbers) > 0 {
			t.Errorf("nothing happens, and %v changed", quiet.Numbers)
		}
		b.g.Pass(5 * time.Second)
	}
	if seen := b.proxy.Seen(); len(seen) != 3 {
		t.Errorf("asking three times: %q", seen)
	}
	if n := b.g.NotModified(); n < 3 {
		t.Errorf("%d of three answers said that nothing has happened", n)
	}
	people.Say(t, "ann", all[2], "again")
	b.proxy.Seen()
	if got = b.changed(quiet.Cursor); !slices.Equal(got.Numbers, all[2:3]) {
		t.Errorf("touched %d, named %v", all[2], got.Numbers)
	}
	if seen := b.proxy.Seen(); len(seen) != 1 {
		t.Errorf("asked further than needed: %q", seen)
	}
}

// Times are whole seconds: what happens twice within one is named, although
// the list looks the same.
func TestGitHubChangedWithinASecond(t *testing.T) {
	t.Parallel()
	b := newBed(t, 20)
	p, head := b.propose("one", "forge/a")
	b.g.Pass(time.Minute)
	cursor := b.changed("").Cursor
	b.g.People().Say(t, "ann", p.Number, "first")
	got := b.changed(cursor)
	if !slices.Contains(got.Numbers, p.Number) {
		t.Fatalf("the first was missed: %+v", got)
	}
	b.g.People().Review(t, "ann", p.Number, head, work.PullApproved, "") // in the same second
	b.g.Pass(time.Second)
	if got = b.changed(got.Cursor); !slices.Contains(got.Numbers, p.Number) {
		t.Errorf("the second was missed: %+v", got)
	}
}

// An answer without an end is refused, by the library's calls and by our own.
func TestGitHubTooLarge(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("a", 1<<20))
	address := hosttest.Listen(t, func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/user") {
			_, _ = w.Write([]byte(`{"login":"forge"}`)) // the other side sees
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[{"body":"`))
		for range 65 {
			if _, err := w.Write(page); err != nil {
				return
			}
		}
	})
	h, err := github.New(github.Config{URL: address, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Pull(t.Context(), 1); work.HostKindOf(err) != work.HostTooLarge {
		t.Errorf("a pull request of 65 MB: %q %v", work.HostKindOf(err), err)
	}
	if _, err := h.Changed(t.Context(), ""); work.HostKindOf(err) != work.HostTooLarge {
		t.Errorf("a list of 65 MB: %q %v", work.HostKindOf(err), err)
	}
}
