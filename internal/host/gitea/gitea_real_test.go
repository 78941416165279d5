//go:build real

package gitea_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// adapter is one to a repository of the crowd, by way of address.
func adapter(t testing.TB, address, repo, token string, store *git.Store) *gitea.Host {
	t.Helper()
	h, err := gitea.New(gitea.Config{URL: address, Owner: "owner", Repo: repo, Token: token, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func world(t testing.TB, g *hosttest.GiteaCrowd) *hosttest.World {
	t.Helper()
	repo := g.Repo(t, true)
	store, _ := hosttest.NewStore(t)
	h := adapter(t, g.URL, repo, g.Tokens["forge"], store)
	w := &hosttest.World{
		Host: h, Repo: repo, People: g.People(repo), Store: store, Base: "main", Token: g.Tokens["forge"], Narrow: g.Narrow, Pictures: true,
		With: func(other, token string) host.Host {
			if other == "" {
				other = repo
			}
			return adapter(t, g.URL, other, token, store)
		},
	}
	first, err := h.Fetch(t.Context(), "main", "refs/forge/first")
	if err != nil {
		t.Fatal(err)
	}
	w.Start = w.Commit(t, first, "start\n", map[string]string{"a.txt": "one\ntwo\nthree\n"})
	if err := h.Push(t.Context(), "main", w.Start, first); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRealGitea(t *testing.T) {
	g := hosttest.StartCrowd(t)
	t.Run("Beside", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *hosttest.GiteaCrowd){"FirstPush": firstPush, "Faults": faults, "Webhook": webhook, "Writers": writers} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, g)
			})
		}
		t.Run("Conformance", func(t *testing.T) {
			t.Parallel()
			hosttest.Run(t, true, func(t testing.TB) *hosttest.World { return world(t, g) })
		})
	})
	t.Run("Restart", func(t *testing.T) { restart(t, g) }) // the last: others would see it
}

// A pull request right after the first push into an empty repository is not
// refused for good.
func firstPush(t *testing.T, g *hosttest.GiteaCrowd) {
	repo := g.Repo(t, false)
	store, start := hosttest.NewStore(t)
	h := adapter(t, g.URL, repo, g.Tokens["forge"], store)
	w := &hosttest.World{Store: store}
	p := work.PullProposal{Marker: "m", Branch: "forge/b", Base: "main", Title: text.Titled("t")}
	if _, err := h.OpenPull(t.Context(), p); work.HostKindOf(err) != work.HostNotYet {
		t.Errorf("empty repository: %v", err)
	}
	for branch, commit := range map[string]string{"main": start, "forge/b": w.Commit(t, start, "x\n", map[string]string{"b": "b\n"})} {
		if err := h.Push(t.Context(), branch, commit, ""); err != nil {
			t.Fatal(err)
		}
	}
	tries := 0
	got, err := hosttest.Await(t, func() (work.PullRequest, error) {
		tries++
		return h.OpenPull(t.Context(), p)
	})
	if err != nil || got.State != work.PullOpen {
		t.Errorf("opened: %+v %v", got, err)
	}
	t.Logf("opened at try %d", tries)
}

// Gitea lets a request through that failed on its way back: nothing happens
// twice.
func faults(t *testing.T, g *hosttest.GiteaCrowd) {
	w := world(t, g)
	proxy := hosttest.StartProxy(t, g.URL)
	hosttest.Faults(t, proxy, adapter(t, proxy.URL, w.Repo, g.Tokens["forge"], w.Store), w, "main")
}

// An account that is no administrator is not told what a person may do, and
// finds out all the same.
func writers(t *testing.T, g *hosttest.GiteaCrowd) {
	w := world(t, g)
	head := w.Commit(t, w.Start, "x\n", map[string]string{"b": "b\n"})
	if err := w.Host.Push(t.Context(), "forge/b", head, ""); err != nil {
		t.Fatal(err)
	}
	p, err := hosttest.Await(t, func() (work.PullRequest, error) {
		return w.Host.OpenPull(t.Context(), work.PullProposal{Marker: "m", Branch: "forge/b", Base: "main", Title: text.Titled("t")})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.People.Say(t, "ben", p.Number, "hm")
	w.People.Say(t, "eve", p.Number, "hm")
	look, err := adapter(t, g.URL, w.Repo, g.Tokens["ann"], w.Store).Look(t.Context(), p.Number)
	if err != nil || !slices.Equal(look.Writers, []string{"ben"}) {
		t.Errorf("writers: %q, %v", look.Writers, err)
	}
}

// A webhook is made once, arrives signed, and points at the pull request.
func webhook(t *testing.T, g *hosttest.GiteaCrowd) {
	const secret, before = "of-both-sides", "an older one"
	w := world(t, g)
	h := adapter(t, g.URL, w.Repo, g.Tokens["forge"], w.Store)
	hints := make(chan host.Hint, 100)
	address := hosttest.Listen(t, func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		if _, err := host.ReadHook("another", req.Header, body); err == nil {
			t.Error("another secret was taken")
		}
		hint, err := host.ReadHook(secret, req.Header, body)
		if err == nil {
			hints <- hint
			return
		}
		// What was pushed to make the repository may still be on its way, signed as
		// it was then.
		if _, older := host.ReadHook(before, req.Header, body); older != nil {
			t.Error(err)
		}
	})
	if _, err := h.EnsureHook(t.Context(), address, before); err != nil {
		t.Fatal(err)
	}
	id, err := h.EnsureHook(t.Context(), address, secret)
	if err != nil {
		t.Fatal(err)
	}
	var all []struct{ ID int64 }
	g.Do(t, g.Tokens["owner"], http.MethodGet, "/repos/owner/"+w.Repo+"/hooks", nil, &all)
	if len(all) != 1 || all[0].ID != id {
		t.Fatalf("webhooks: %+v, made %d", all, id)
	}
	until := func(what string, want func(host.Hint) bool) {
		t.Helper()
		for {
			select {
			case hint := <-hints:
				if len(hint.Known) == 0 || hint.Repo != "owner/"+w.Repo {
					t.Errorf("hint: %+v", hint)
				}
				if want(hint) {
					return
				}
			case <-time.After(3 * time.Minute):
				t.Fatalf("no webhook of %s", what)
			}
		}
	}
	if err := h.TestHook(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	until("the test", func(host.Hint) bool { return true })
	head := w.Commit(t, w.Start, "x\n", map[string]string{"b": "b\n"})
	if err := h.Push(t.Context(), "forge/b", head, ""); err != nil {
		t.Fatal(err)
	}
	until("the push", func(x host.Hint) bool { return x.Branch == "forge/b" })
	p, err := hosttest.Await(t, func() (work.PullRequest, error) {
		return h.OpenPull(t.Context(), work.PullProposal{Marker: "m", Branch: "forge/b", Base: "main", Title: text.Titled("t")})
	})
	if err != nil {
		t.Fatal(err)
	}
	at := func(x host.Hint) bool { return x.Number == p.Number }
	until("opening", at)
	for _, v := range []work.PullVerdict{work.PullApproved, work.PullChangesRequested, work.PullCommented} {
		w.People.Review(t, "ann", p.Number, head, v, "words")
		until(string(v), func(x host.Hint) bool { return at(x) && x.Event != "pull_request" })
	}
	w.People.Say(t, "ann", p.Number, "hm")
	until("a comment", func(x host.Hint) bool { return at(x) && strings.Contains(x.Event, "comment") })
}

// While the server is away everything is trouble that passes; after it nothing
// is lost.
func restart(t *testing.T, g *hosttest.GiteaCrowd) {
	w := world(t, g)
	head := w.Commit(t, w.Start, "x\n", map[string]string{"b": "b\n"})
	p := work.PullProposal{Marker: "m", Branch: "forge/b", Base: "main", Title: text.Titled("t")}
	if err := w.Host.Push(t.Context(), "forge/b", head, ""); err != nil {
		t.Fatal(err)
	}
	pull, err := hosttest.Await(t, func() (work.PullRequest, error) { return w.Host.OpenPull(t.Context(), p) })
	if err != nil {
		t.Fatal(err)
	}
	g.Stop()
	_, err = w.Host.OpenPull(t.Context(), p)
	var trouble *work.HostTrouble
	if !errors.As(err, &trouble) || !trouble.Passes() {
		t.Errorf("away: %v", err)
	}
	if err := w.Host.Push(t.Context(), "forge/c", head, ""); !errors.As(err, &trouble) || trouble.Kind != work.HostUnreachable {
		t.Errorf("pushed while away: %v", err)
	}
	g.Start(t)
	again, err := w.Host.OpenPull(t.Context(), p)
	if err != nil || again.Number != pull.Number {
		t.Errorf("back: %+v %v, was %d", again, err, pull.Number)
	}
	if _, err := hosttest.Await(t, func() (work.PullSquashed, error) {
		return w.Host.Merge(t.Context(), work.PullMerge{Number: pull.Number, Branch: "forge/b", Base: "main", Head: head, Title: text.Titled("t")})
	}); err != nil {
		t.Error(err)
	}
}
