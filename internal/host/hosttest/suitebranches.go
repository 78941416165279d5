package hosttest

import (
	"strings"
	"sync"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

func onePull(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	if pull.State != work.PullOpen || pull.Branch != branch || pull.Base != f.Base || pull.Head != head || pull.Title != "Phase 5.1: do it" || pull.Number < 1 {
		f.Errorf("opened: %+v", pull)
	}
	p := f.proposal(branch)
	if pull.Marker != host.MarkerOf(p.Marker) || !strings.Contains(pull.Body, "## What changed") {
		f.Errorf("body: %q", pull.Body)
	}
	again := f.open(p)
	if again.Number != pull.Number {
		f.Errorf("opened again as %d, was %d", again.Number, pull.Number)
	}
	p.Body, p.Title = text.Own("Other words."), text.Titled("Phase 5.1: again")
	if again = f.open(p); again.Number != pull.Number || !strings.Contains(again.Body, "Other words.") || again.Title != p.Title.String() || again.Marker != pull.Marker {
		f.Errorf("updated: %+v", again)
	}
	// Several at once, of another branch.
	other := "forge/phases/run-1/phase-6-strategic"
	f.ok(f.Host.Push(f.Context(), other, f.Commit(f, f.Start, "x\n", map[string]string{"c.txt": "c\n"}), ""))
	numbers := make([]int64, 3)
	var wg sync.WaitGroup
	for i := range numbers {
		wg.Go(func() {
			got, err := await(f, func() (work.PullRequest, error) { return f.Host.OpenPull(f.Context(), f.proposal(other)) })
			if err != nil {
				f.Error(err)
			}
			numbers[i] = got.Number
		})
	}
	wg.Wait()
	if numbers[0] == pull.Number || numbers[0] != numbers[1] || numbers[1] != numbers[2] {
		f.Errorf("three at once: %v, the first was %d", numbers, pull.Number)
	}
	if f.With != nil { // another Forge, which does not wait for this one
		third := "forge/phases/run-1/phase-7-tactical"
		f.ok(f.Host.Push(f.Context(), third, f.Commit(f, f.Start, "y\n", map[string]string{"d.txt": "d\n"}), ""))
		for range 3 {
			wg.Go(func() {
				if _, err := await(f, func() (work.PullRequest, error) {
					return f.With("", f.Token).OpenPull(f.Context(), f.proposal(third))
				}); err != nil {
					f.Error(err)
				}
			})
		}
		wg.Wait()
		one, open := f.open(f.proposal(third)), 0
		for n := numbers[0] + 1; n <= one.Number+3; n++ {
			if p, err := f.Host.Pull(f.Context(), n); err == nil && p.State == work.PullOpen {
				open++
			}
		}
		if open != 1 || one.State != work.PullOpen {
			f.Errorf("three Forges at once leave %d open, %+v", open, one)
		}
	}
	_, err := f.Host.Pull(f.Context(), 999)
	f.refused(err, work.HostNoPull)
	_, err = f.Host.Look(f.Context(), 999)
	f.refused(err, work.HostNoPull)
}

func oddNames(f *fixture) {
	odd := "forge/phases/r+1/phase-1-ü#50%25&a=b;c'd,e@f"
	pull, head := f.propose(odd, map[string]string{"b.txt": "b\n"})
	if pull.Branch != odd {
		f.Errorf("branch %q", pull.Branch)
	}
	if got := f.settled(pull.Number); got.Head != head || got.Mergeable != work.Mergeable {
		f.Errorf("looked at: %+v", got)
	}
	_, err := f.merge(work.PullMerge{Number: pull.Number, Head: head, Title: text.Titled("t")})
	f.ok(err)
	f.ok(f.Host.DeleteBranch(f.Context(), odd, head))
	if at, err := f.Host.Head(f.Context(), odd); err != nil || at != "" {
		f.Errorf("deleted, and at %q (%v)", at, err)
	}
}

func nothingToPropose(f *fixture) {
	_, err := f.Host.OpenPull(f.Context(), f.proposal("forge/not-there"))
	f.refused(err, work.HostBranchGone)
	f.ok(f.Host.Push(f.Context(), "forge/same", f.Start, ""))
	_, err = await(f, func() (work.PullRequest, error) { return f.Host.OpenPull(f.Context(), f.proposal("forge/same")) })
	f.refused(err, work.HostNoChanges)
	files, err := f.Store.ReadRef(f.Context(), "refs/forge/none")
	f.ok(err)
	alone, err := f.Store.CommitTree(f.Context(), f.tree(f.Start), nil, "alone\n", "")
	f.ok(err)
	f.ok(f.Host.Push(f.Context(), "forge/alone", alone, files))
	_, err = await(f, func() (work.PullRequest, error) { return f.Host.OpenPull(f.Context(), f.proposal("forge/alone")) })
	f.refused(err, work.HostUnrelated)
}

func (f *fixture) tree(commit string) string {
	f.Helper()
	m, err := f.Store.Merge(f.Context(), commit, commit)
	f.ok(err)
	return m.Tree
}

func branches(f *fixture) {
	one := f.Commit(f, f.Start, "one\n", map[string]string{"b.txt": "1\n"})
	two := f.Commit(f, one, "two\n", map[string]string{"b.txt": "2\n"})
	user := f.Commit(f, one, "by a person\n", map[string]string{"p.txt": "p\n"})
	push := func(commit, old string) error { return f.Host.Push(f.Context(), branch, commit, old) }
	f.ok(push(one, ""))
	f.ok(push(one, "")) // its answer was lost
	f.refused(push(two, ""), work.HostBranchExists)
	f.ok(push(user, one))
	f.refused(push(two, one), work.HostHeadMoved)
	f.refused(push(two, user), work.HostHeadMoved) // would throw away what a person pushed
	if at, err := f.Host.Fetch(f.Context(), branch, "refs/forge/fetched"); err != nil || at != user {
		f.Errorf("fetched %s (%v), want %s", at, err, user)
	}
	heads, err := f.Host.Heads(f.Context(), branch, f.Base, "forge/none")
	if f.ok(err); len(heads) != 2 || heads[branch] != user || heads[f.Base] != f.Start {
		f.Errorf("the branches are at %v", heads)
	}
	if at, err := f.Store.ReadRef(f.Context(), "refs/forge/fetched"); err != nil || at != user {
		f.Errorf("the reference is at %s (%v), want %s", at, err, user)
	}
	f.refused(f.Host.DeleteBranch(f.Context(), branch, one), work.HostHeadMoved)
	// A host may take a moment to see what was pushed.
	_, err = await(f, func() (struct{}, error) { return struct{}{}, f.Host.DeleteBranch(f.Context(), branch, user) })
	f.ok(err)
	f.ok(f.Host.DeleteBranch(f.Context(), branch, user))
	if at, err := f.Host.Fetch(f.Context(), branch, "refs/forge/fetched"); err != nil || at != "" {
		f.Errorf("fetched %q (%v), and it is gone", at, err)
	}
}
