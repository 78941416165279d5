package hosttest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// Run holds an adapter against what Forge relies on. world makes a fresh
// repository for each test; beside says that they may run beside each other.
func Run(t *testing.T, beside bool, world func(t testing.TB) *World) {
	for _, c := range []struct {
		name   string
		people bool // needs somebody beside Forge
		test   func(*fixture)
	}{
		{"OnePull", false, onePull},
		{"OddNames", false, oddNames},
		{"NothingToPropose", false, nothingToPropose},
		{"Branches", false, branches},
		{"Pictures", false, pictures},
		{"OneByOne", false, oneByOne},
		{"Merge", false, merge},
		{"MergeGuards", false, mergeGuards},
		{"MergeNames", false, mergeNames},
		{"MergeConflict", false, mergeConflict},
		{"Close", false, closed},
		{"Access", false, access},
		{"Hooks", false, hooks},
		{"Rewritten", true, rewritten},
		{"Reviews", true, reviews},
		{"Threads", true, threads},
		{"Notes", true, notes},
		{"Settled", true, settled},
		{"Issue", true, anIssue},
		{"Pages", true, pages},
		{"LongComment", true, longComment},
		{"ByHand", true, byHand},
		{"Retargeted", true, retargeted},
		{"Protected", true, protected},
		{"Changed", true, changed},
		{"Archived", true, archived},
		{"Checks", true, checks},
	} {
		t.Run(c.name, func(t *testing.T) {
			if beside {
				t.Parallel()
			}
			w := world(t)
			if c.people && w.People == nil {
				t.Skip("there is nobody on this host but Forge")
			}
			c.test(&fixture{TB: t, World: w, opened: map[int64]work.PullProposal{}})
		})
	}
}

type fixture struct {
	testing.TB
	*World
	opened map[int64]work.PullProposal
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// refused says that err is a trouble of this kind, and holds no secret.
func (f *fixture) refused(err error, want ...work.HostKind) {
	f.Helper()
	if got := work.HostKindOf(err); !slices.Contains(want, got) {
		f.Fatalf("%q %v, want %q", got, err, want)
	}
	if f.Token != "" && strings.Contains(err.Error(), f.Token) {
		f.Errorf("the error holds the token: %v", err)
	}
}

const branch = "forge/phases/run-1/phase-5.1-tactical"

// propose pushes a commit with a changed file to branch and opens a pull
// request.
func (f *fixture) propose(branch string, files map[string]string) (work.PullRequest, string) {
	f.Helper()
	head := f.Commit(f, f.Start, "change\n", files)
	f.ok(f.Host.Push(f.Context(), branch, head, ""))
	return f.open(f.proposal(branch)), head
}

func (f *fixture) proposal(branch string) work.PullProposal {
	return work.PullProposal{Marker: "run-1/5.1/" + branch, Branch: branch, Base: f.Base, Title: text.Titled("Phase 5.1: do it"), Body: text.Own("## What changed\n\nMuch.")}
}

func (f *fixture) open(p work.PullProposal) work.PullRequest {
	f.Helper()
	pull, err := await(f, func() (work.PullRequest, error) { return f.Host.OpenPull(f.Context(), p) })
	f.ok(err)
	f.opened[pull.Number] = p
	return pull
}

func (f *fixture) look(n int64) work.PullLook {
	f.Helper()
	l, err := f.Host.Look(f.Context(), n)
	f.ok(err)
	return l
}

// settled looks until the host has computed.
func (f *fixture) settled(n int64) work.PullLook {
	f.Helper()
	for range 100 {
		if l := f.look(n); l.Mergeable != work.MergeComputing {
			return l
		}
		f.pause()
	}
	f.Fatal("the host computes for ever")
	return work.PullLook{}
}

// merge asks for it between the branches that it was opened for, where m names
// none.
func (f *fixture) merge(m work.PullMerge) (work.PullSquashed, error) {
	f.Helper()
	if p := f.opened[m.Number]; m.Branch == "" && m.Base == "" {
		m.Branch, m.Base = p.Branch, p.Base
	}
	return await(f, func() (work.PullSquashed, error) { return f.Host.Merge(f.Context(), m) })
}

// Await asks again while the host says that it is not ready yet.
func Await[T any](t testing.TB, ask func() (T, error)) (T, error) {
	t.Helper()
	return await(&fixture{TB: t, World: &World{}}, ask)
}

func await[T any](f *fixture, ask func() (T, error)) (T, error) {
	f.Helper()
	for range 100 {
		got, err := ask()
		if work.HostKindOf(err) != work.HostNotYet {
			return got, err
		}
		f.pause()
	}
	return ask()
}

// pause gives the host a moment, by its own clock where it has one.
func (w *World) pause(t testing.TB) {
	if w.Wait != nil {
		w.Wait()
		return
	}
	pause(t)
}

func (f *fixture) pause() { f.World.pause(f) }

func pause(t testing.TB) {
	select {
	case <-t.Context().Done():
	case <-time.After(100 * time.Millisecond):
	}
}

func access(f *fixture) {
	a, err := f.Host.Access(f.Context(), f.Base)
	f.ok(err)
	if !a.Push || len(a.Missing) > 0 || a.Archived || a.Empty || a.Protected || a.Default != f.Base {
		f.Errorf("access: %+v", a)
	}
	_, err = f.Host.Access(f.Context(), "not-there")
	f.refused(err, work.HostBranchGone)
	if f.With == nil {
		return
	}
	_, err = f.With("", "wrong-token-of-tests").Access(f.Context(), f.Base)
	f.refused(err, work.HostUnauthorized)
	_, err = f.With("", "wrong-token-of-tests").Look(f.Context(), 1)
	f.refused(err, work.HostUnauthorized)
	f.refused(f.With("", "wrong-token-of-tests").Push(f.Context(), "forge/x", f.Start, ""), work.HostUnauthorized)
	_, err = f.With("not-there", f.Token).Access(f.Context(), f.Base)
	f.refused(err, work.HostNoRepository)
	f.refused(f.With("not-there", f.Token).Push(f.Context(), "forge/x", f.Start, ""), work.HostNoRepository, work.HostForbidden)
	if f.Narrow == "" {
		return
	}
	a, err = f.With("", f.Narrow).Access(f.Context(), f.Base)
	f.ok(err)
	if len(a.Missing) == 0 {
		f.Errorf("a token without the right to comment lacks nothing: %+v", a)
	}
}

func archived(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	f.settled(pull.Number)
	f.People.Archive(f)
	a, err := f.Host.Access(f.Context(), f.Base)
	f.ok(err)
	if !a.Archived {
		f.Errorf("access: %+v", a)
	}
	_, err = f.merge(work.PullMerge{Number: pull.Number, Head: head, Title: text.Titled("t")})
	f.refused(err, work.HostArchived)
	f.refused(f.Host.Comment(f.Context(), pull.Number, "k", text.Own("text")), work.HostArchived)
	f.refused(f.Host.Push(f.Context(), "forge/late", head, ""), work.HostArchived, work.HostForbidden)
}
