package hosttest

import (
	"cmp"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

func merge(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	second := f.Commit(f, head, "more\n", map[string]string{"c.txt": "c\n"})
	f.ok(f.Host.Push(f.Context(), branch, second, head))
	l := f.settled(pull.Number)
	if l.Mergeable != work.Mergeable || l.Head != second || l.BaseHead != f.Start {
		f.Fatalf("looked at: %+v", l)
	}
	m := work.PullMerge{Number: pull.Number, Head: second, BaseHead: f.Start, Title: text.Titled("Phase 5.1: do it"), Message: "In short.\n\nForge-Phase: 5.1"}
	got, err := f.merge(m)
	f.ok(err)
	if got.Commit == "" || got.Parent != f.Start {
		f.Errorf("merged: %+v, on %s", got, f.Start)
	}
	at, err := f.Host.Fetch(f.Context(), f.Base, "refs/forge/base")
	f.ok(err)
	if at != got.Commit {
		f.Errorf("the base is at %s, merged as %s", at, got.Commit)
	}
	if differ, err := f.Store.Differ(f.Context(), at, second); err != nil || len(differ) > 0 {
		f.Errorf("what was merged differs from what was reviewed: %q (%v)", differ, err)
	}
	again, err := f.merge(m)
	if err != nil || again != got {
		f.Errorf("merged again: %+v %v, was %+v", again, err, got)
	}
	now, err := f.Host.Pull(f.Context(), pull.Number)
	f.ok(err)
	if now.State != work.PullMerged || now.MergeCommit != got.Commit {
		f.Errorf("after the merge: %+v", now)
	}
	if found := f.open(f.proposal(branch)); found.Number != pull.Number || found.State != work.PullMerged {
		f.Errorf("found after the merge: %+v", found)
	}
	f.ok(f.Host.DeleteBranch(f.Context(), branch, second))
	if found := f.open(f.proposal(branch)); found.Number != pull.Number || found.State != work.PullMerged {
		f.Errorf("found after its branch was deleted: %+v", found)
	}
}

// oneByOne: unless its owner allows it, no host lets pull requests land by a push, and
// none is marked as merged.
func oneByOne(f *fixture) {
	for _, base := range []string{"", f.Base} {
		if ok, err := f.Host.LandsTogether(f.Context(), base); ok || err != nil {
			f.Errorf("for %q pull requests land together: %v, %v", base, ok, err)
		}
	}
	pull, _ := f.propose(branch, map[string]string{"b.txt": "b\n"})
	if err := f.Host.MarkMerged(f.Context(), pull.Number, f.Start); err == nil {
		f.Error("it is marked as merged")
	}
	if is := f.look(pull.Number); is.State != work.PullOpen {
		f.Errorf("it is %s", is.State)
	}
}

func mergeGuards(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	f.settled(pull.Number)
	_, err := f.merge(work.PullMerge{Number: pull.Number, Title: text.Titled("t")})
	f.refused(err, work.HostRefused)
	_, err = f.merge(work.PullMerge{Number: pull.Number, Head: f.Start, Title: text.Titled("t")})
	f.refused(err, work.HostHeadMoved)
	moved := f.Commit(f, head, "unseen\n", map[string]string{"u.txt": "u\n"})
	f.ok(f.Host.Push(f.Context(), branch, moved, head))
	_, err = f.merge(work.PullMerge{Number: pull.Number, Head: head, Title: text.Titled("t")})
	f.refused(err, work.HostHeadMoved)
	base := f.Commit(f, f.Start, "base\n", map[string]string{"z.txt": "z\n"})
	f.ok(f.Host.Push(f.Context(), f.Base, base, f.Start))
	_, err = f.merge(work.PullMerge{Number: pull.Number, Head: moved, BaseHead: f.Start, Title: text.Titled("t")})
	f.refused(err, work.HostBaseMoved)
	got, err := f.merge(work.PullMerge{Number: pull.Number, Head: moved, BaseHead: base, Title: text.Titled("t")})
	f.ok(err)
	if got.Parent != base {
		f.Errorf("merged on %s, want %s", got.Parent, base)
	}
}

// mergeNames: what is merged is of the branch and for the base that it was
// opened with, and of no other of the same commits.
func mergeNames(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	f.settled(pull.Number)
	f.ok(f.Host.Push(f.Context(), "forge/same-base", f.Start, ""))
	f.ok(f.Host.Push(f.Context(), "forge/same-head", head, ""))
	at := func(branch, base string) error {
		_, err := f.merge(work.PullMerge{Number: pull.Number, Branch: branch, Base: base, Head: head, BaseHead: f.Start, Title: text.Titled("t")})
		return err
	}
	f.refused(at(branch, "forge/same-base"), work.HostRetargeted)
	f.refused(at("forge/same-head", f.Base), work.HostRetargeted)
	f.refused(at(branch, ""), work.HostRefused)
	f.refused(at("", f.Base), work.HostRefused)
	f.ok(at(branch, f.Base))
	// Merged is merged, but nowhere else.
	f.ok(at(branch, f.Base))
	f.refused(at(branch, "forge/same-base"), work.HostPullMerged)
}

// retargeted: one that somebody pointed at another branch of the same commit is
// not merged there, and no second one is opened, until it is set back.
func retargeted(f *fixture) {
	f.ok(f.Host.Push(f.Context(), "forge/run-1", f.Start, ""))
	p := f.proposal(branch)
	p.Base = "forge/run-1"
	head := f.Commit(f, f.Start, "change\n", map[string]string{"b.txt": "b\n"})
	f.ok(f.Host.Push(f.Context(), branch, head, ""))
	pull := f.open(p)
	f.settled(pull.Number)
	f.People.Retarget(f, "ann", pull.Number, f.Base)
	m := work.PullMerge{Number: pull.Number, Head: head, BaseHead: f.Start, Title: text.Titled("t")}
	says := func(err error) {
		f.Helper()
		f.refused(err, work.HostRetargeted)
		if !strings.Contains(err.Error(), "its target was changed to "+f.Base+" by ann") {
			f.Errorf("it does not say who did what: %v", err)
		}
	}
	_, err := f.merge(m)
	says(err)
	_, err = f.Host.OpenPull(f.Context(), p)
	says(err)
	if at, err := f.Host.Head(f.Context(), f.Base); err != nil || at != f.Start {
		f.Errorf("%s is at %s, %v", f.Base, at, err)
	}
	f.People.Retarget(f, "ben", pull.Number, "forge/run-1")
	f.settled(pull.Number)
	if again := f.open(p); again.Number != pull.Number {
		f.Errorf("a second one was opened: %+v", again)
	}
	got, err := f.merge(m)
	f.ok(err)
	if at, err := f.Host.Head(f.Context(), "forge/run-1"); err != nil || at != got.Commit {
		f.Errorf("forge/run-1 is at %s, %v, merged %+v", at, err, got)
	}
}

func mergeConflict(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"a.txt": "ours\n"})
	base := f.Commit(f, f.Start, "base\n", map[string]string{"a.txt": "theirs\n"})
	f.ok(f.Host.Push(f.Context(), f.Base, base, f.Start))
	var l work.PullLook
	for range 100 {
		if l = f.look(pull.Number); l.Mergeable == work.MergeConflict {
			break
		}
		f.pause()
	}
	if l.Mergeable != work.MergeConflict {
		f.Fatalf("mergeable: %s (%s)", l.Mergeable, l.Why)
	}
	_, err := f.merge(work.PullMerge{Number: pull.Number, Head: head, Title: text.Titled("t")})
	f.refused(err, work.HostConflict)
}

// closed: by its number, or by what it is for; and once.
func closed(f *fixture) {
	shut := func(number int64, p work.PullProposal) {
		f.ok(f.Host.ClosePull(f.Context(), number, p, "close 1", text.Own("It was rejected.")))
	}
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	other, _ := f.propose("forge/other", map[string]string{"c.txt": "c\n"})
	shut(pull.Number, f.proposal(branch))
	shut(pull.Number, f.proposal(branch))
	now, err := f.Host.Look(f.Context(), pull.Number)
	f.ok(err)
	said := 0
	for _, c := range now.Comments {
		if c.Own && strings.Contains(c.Body, "It was rejected.") {
			said++
		}
	}
	if now.State != work.PullClosed || said > 1 || said == 0 && f.People != nil {
		f.Errorf("closed twice: %s, said %d times", now.State, said)
	}
	if _, err := f.merge(work.PullMerge{Number: pull.Number, Head: head, Title: text.Titled("t")}); err == nil {
		f.Error("it was merged afterwards")
	}
	if still, err := f.Host.Pull(f.Context(), other.Number); err != nil || still.State != work.PullOpen {
		f.Errorf("another one: %+v, %v", still, err)
	}
	shut(0, f.proposal("forge/other"))
	if now, err := f.Host.Pull(f.Context(), other.Number); err != nil || now.State != work.PullClosed {
		f.Errorf("closed by what it is for: %+v, %v", now, err)
	}
	shut(0, f.proposal("forge/none"))
}

func byHand(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	f.People.Close(f, pull.Number)
	_, err := f.merge(work.PullMerge{Number: pull.Number, Head: head, Title: text.Titled("t")})
	f.refused(err, work.HostPullClosed)
	if got := f.open(f.proposal(branch)); got.Number != pull.Number || got.State != work.PullClosed {
		f.Errorf("found after it was closed: %+v", got)
	}
	other, head := f.propose("forge/other", map[string]string{"c.txt": "c\n"})
	f.ok(f.Host.DeleteBranch(f.Context(), "forge/other", head))
	now, err := f.Host.Pull(f.Context(), other.Number)
	f.ok(err)
	// Hosts close a pull request whose branch is deleted, or keep it open.
	if now.State == work.PullOpen && !now.BranchGone || now.State == work.PullMerged || now.Branch != "forge/other" {
		f.Errorf("after its branch was deleted: %+v", now)
	}
	_, err = f.merge(work.PullMerge{Number: other.Number, Head: head, Title: text.Titled("t")})
	f.refused(err, work.HostBranchGone, work.HostPullClosed)
	third, head := f.propose("forge/third", map[string]string{"d.txt": "d\n"})
	f.People.MergeByHand(f, third.Number)
	got, err := f.merge(work.PullMerge{Number: third.Number, Head: head, Title: text.Titled("t")})
	if err != nil || got.Commit == "" {
		f.Errorf("merged by hand with the reviewed head: %+v %v", got, err)
	}
	_, err = f.merge(work.PullMerge{Number: third.Number, Head: f.Start, Title: text.Titled("t")})
	f.refused(err, work.HostPullMerged)
}

func protected(f *fixture) {
	f.People.Protect(f, f.Base, 1, "ci")
	a, err := f.Host.Access(f.Context(), f.Base)
	f.ok(err)
	if !a.Protected || a.Approvals != 1 || !slices.Equal(a.Checks, []string{cmp.Or(f.Rule, "ci")}) {
		f.Errorf("access: %+v", a)
	}
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	m := work.PullMerge{Number: pull.Number, Head: head, Title: text.Titled("t")}
	blocked := func(why string, checks work.CheckState) {
		f.Helper()
		if l := f.settled(pull.Number); l.Mergeable != work.MergeBlocked || l.Checks != checks {
			f.Errorf("%s: %s (%s), checks %s", why, l.Mergeable, l.Why, l.Checks)
		}
		_, err := f.merge(m)
		f.refused(err, work.HostProtected)
	}
	blocked("without a check", work.ChecksNone)
	f.People.Status(f, head, "ci", "failure")
	blocked("check failed", work.ChecksFailed)
	f.People.Status(f, head, "ci", "pending")
	blocked("check pending", work.ChecksPending)
	f.People.Status(f, head, "ci", "success")
	blocked("without an approval", work.ChecksPassed)
	f.People.Review(f, "ann", pull.Number, head, work.PullApproved, "yes")
	if l := f.settled(pull.Number); l.Mergeable != work.Mergeable {
		f.Errorf("all met: %s (%s)", l.Mergeable, l.Why)
	}
	_, err = f.merge(m)
	f.ok(err)
}
