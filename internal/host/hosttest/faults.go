package hosttest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// Listen serves a handler on loopback until the test ends.
func Listen(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// Faults takes one phase after the other through open, comment and merge, while
// the proxy before the host fails: in the n-th phase the n-th request that
// changes something, once before the host has done it and once after. What
// failed is asked again. Nothing may happen twice, and nothing may get lost.
func Faults(t *testing.T, p *Proxy, h host.Host, w *World, base string) {
	start, err := h.Fetch(t.Context(), base, "refs/forge/fault")
	check(t, err)
	for n := range 3 {
		for _, f := range []Fault{{Status: http.StatusBadGateway}, {Status: http.StatusBadGateway, After: true}, {Cut: true}, {Cut: true, After: true}} {
			t.Run(fmt.Sprintf("%d/%+v", n, f), func(t *testing.T) {
				defer p.Misbehave(nil)
				start = fault(t, p, h, w, base, start, n, f)
			})
		}
	}
}

func fault(t *testing.T, p *Proxy, h host.Host, w *World, base, start string, n int, f Fault) string {
	name := strings.NewReplacer("{", "", "}", "", " ", "-", ":", "-").Replace(fmt.Sprintf("forge/fault-%d-%+v", n, f))
	head := w.Commit(t, start, name, map[string]string{name + ".txt": "x\n"})
	check(t, h.Push(t.Context(), name, head, ""))
	seen := 0
	p.Misbehave(func(req *http.Request) Fault {
		if req.Method == http.MethodGet || strings.HasSuffix(req.URL.Path, "/graphql") {
			return Fault{}
		}
		seen++
		if seen == n+1 {
			return f
		}
		return Fault{}
	})
	pull := again(t, w, func() (work.PullRequest, error) {
		return h.OpenPull(t.Context(), work.PullProposal{Marker: name, Branch: name, Base: base, Title: text.Titled("%s", name)})
	})
	again(t, w, func() (bool, error) { return true, h.Comment(t.Context(), pull.Number, name, text.Own("said")) })
	m := work.PullMerge{Number: pull.Number, Branch: name, Base: base, Head: head, BaseHead: start, Title: text.Titled("%s", name)}
	done := again(t, w, func() (work.PullSquashed, error) { return h.Merge(t.Context(), m) })
	if seen <= n {
		t.Errorf("only %d requests changed something", seen)
	}
	p.Misbehave(nil)
	if at, err := h.Fetch(t.Context(), base, "refs/forge/fault"); err != nil || at != done.Commit || done.Parent != start {
		t.Errorf("the base is at %s (%v), merged: %+v on %s", at, err, done, start)
	}
	l, err := h.Look(t.Context(), pull.Number)
	check(t, err)
	if len(l.Comments) != 1 || l.State != work.PullMerged {
		t.Errorf("%d comments, %s", len(l.Comments), l.State)
	}
	if next, err := h.Pull(t.Context(), pull.Number+1); err == nil {
		t.Errorf("there is another pull request: %+v", next)
	}
	return done.Commit
}

// again asks until the answer comes, as a driver does after what passes.
func again[T any](t *testing.T, w *World, ask func() (T, error)) T {
	t.Helper()
	for range 50 {
		got, err := ask()
		if err == nil {
			return got
		}
		switch work.HostKindOf(err) {
		case work.HostUnreachable, work.HostNotYet:
			w.pause(t)
		default:
			t.Fatal(err)
		}
	}
	t.Fatal("it never passes")
	panic("unreachable")
}
