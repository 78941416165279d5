package hosttest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

func rewritten(f *fixture) {
	pull, _ := f.propose(branch, map[string]string{"b.txt": "b\n"})
	f.People.Rewrite(f, pull.Number, "all gone")
	got := f.open(f.proposal(branch))
	if got.Number != pull.Number || got.Marker != pull.Marker {
		f.Errorf("after its body was rewritten: %+v, was %d", got, pull.Number)
	}
}

func reviews(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	n := pull.Number
	stand := func(want work.PullVerdict) work.PullLook {
		f.Helper()
		l := f.look(n)
		if s := host.Stand(l.Reviews, l.Head); s.Verdict != want {
			f.Fatalf("%s, want %s, of %+v", s.Verdict, want, l.Reviews)
		}
		f.verdicts(l)
		return l
	}
	stand(work.PullCommented)
	f.People.Review(f, "eve", n, head, work.PullApproved, "fine") // may only read
	stand(work.PullCommented)
	f.People.Review(f, "ann", n, head, work.PullCommented, "hm")
	f.People.Say(f, "ben", n, "hm")
	// Who may write is told of those, too, who have decided nothing.
	if l := stand(work.PullCommented); !slices.Contains(l.Writers, "ann") || !slices.Contains(l.Writers, "ben") || len(l.Writers) != 2 {
		f.Errorf("writers: %q", l.Writers)
	}
	f.People.Review(f, "ann", n, head, work.PullChangesRequested, "no")
	l := stand(work.PullChangesRequested)
	if r := l.Reviews[len(l.Reviews)-1]; r.By != "ann" || r.Body != "no" || r.Commit != head || !r.MayDecide || r.Own || r.Stale || r.At.IsZero() {
		f.Errorf("review: %+v", r)
	}
	f.People.Review(f, "ben", n, head, work.PullApproved, "yes")
	stand(work.PullChangesRequested) // they disagree
	f.People.Review(f, "ann", n, head, work.PullApproved, "now yes")
	l = stand(work.PullApproved)
	for _, r := range l.Reviews {
		if r.Verdict == work.PullApproved && r.By != "eve" {
			f.People.Dismiss(f, n, r.ID)
		}
	}
	stand(work.PullCommented)
	f.People.Review(f, "ben", n, head, work.PullApproved, "yes")
	stand(work.PullApproved)
	f.People.Review(f, "ann", n, head, work.PullApproved, "yes")
	f.People.Remove(f, "ann")
	stand(work.PullApproved) // ben may still
	f.People.Remove(f, "ben")
	stand(work.PullCommented) // nobody may who approved
	f.ok(f.Host.Push(f.Context(), branch, f.Commit(f, head, "more\n", map[string]string{"c.txt": "c\n"}), head))
	for range 100 {
		if f.look(n).Head != head {
			break
		}
		f.pause()
	}
	stand(work.PullCommented) // of another state
}

// verdicts says that what a watch reads is what is told of the whole.
func (f *fixture) verdicts(l work.PullLook) {
	f.Helper()
	got, err := f.Host.Verdicts(f.Context(), l.Number)
	for range 100 { // a host that computes something in the background was at it between the two
		if f.ok(err); got.Updated.Equal(l.Updated) {
			break
		}
		l = f.look(l.Number)
		got, err = f.Host.Verdicts(f.Context(), l.Number)
	}
	f.ok(err)
	if !reflect.DeepEqual(got.PullRequest, l.PullRequest) || !reflect.DeepEqual(got.Reviews, l.Reviews) || len(got.Threads)+len(got.Comments) > 0 {
		f.Errorf("verdicts %+v, of %+v", got, l)
	}
	computed := l.Mergeable != work.MergeComputing && got.Mergeable != work.MergeComputing
	if approved := host.Stand(l.Reviews, l.Head).Verdict == work.PullApproved; approved && (computed && got.Mergeable != l.Mergeable || got.Checks != l.Checks) {
		f.Errorf("verdicts %s %s, of %s %s", got.Mergeable, got.Checks, l.Mergeable, l.Checks)
	}
}

func threads(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "one\ntwo\nthree\n", "c.txt": "c\n"})
	n := pull.Number
	f.People.Review(f, "ann", n, head, work.PullChangesRequested, "see below",
		Line{"b.txt", 2, "why two?"}, Line{"c.txt", 1, "and this?"})
	f.People.Say(f, "ben", n, "on the whole: fine")
	l := f.look(n)
	if len(l.Threads) != 2 || len(l.Comments) != 1 || l.Comments[0].Body != "on the whole: fine" || l.Comments[0].By != "ben" {
		f.Fatalf("threads %+v, comments %+v", l.Threads, l.Comments)
	}
	t := l.Threads[slices.IndexFunc(l.Threads, func(t work.PullThread) bool { return t.Path == "b.txt" })]
	if t.Line != 2 || !strings.Contains(t.Hunk, "+two") || t.Comments[0].Body != "why two?" || t.Comments[0].By != "ann" || t.Resolved || t.ID == "" {
		f.Errorf("thread: %+v", t)
	}
	for range 2 { // its answer was lost
		f.ok(f.Host.Reply(f.Context(), n, t, "run-1/5.1/reply/"+t.ID, text.Own("Because of three.")))
		f.ok(f.Host.Comment(f.Context(), n, "run-1/5.1/note", text.Own("Done.")))
	}
	word := l.Comments[slices.IndexFunc(l.Comments, func(c work.PullComment) bool { return !c.Own })]
	for range 2 {
		f.ok(f.Host.Acknowledge(f.Context(), n, word))
	}
	f.refused(f.Host.Acknowledge(f.Context(), n, work.PullComment{ID: "999999999"}), work.HostRefused, work.HostNoRepository)
	if len(f.look(n).Comments) != len(l.Comments)+1 { // with what was said just now
		f.Error("a sign is a comment")
	}
	l = f.look(n)
	own := func(cs []work.PullComment) (n int) {
		for _, c := range cs {
			if c.Own {
				n++
			}
		}
		return n
	}
	i := slices.IndexFunc(l.Threads, func(x work.PullThread) bool { return x.ID == t.ID })
	if len(l.Threads) != 2 || len(l.Threads[i].Comments) != 2 || own(l.Threads[i].Comments) != 1 || !strings.Contains(l.Threads[i].Comments[1].Body, "Because of three.") {
		f.Errorf("threads after the reply: %+v", l.Threads)
	}
	if own(l.Comments) != 1 {
		f.Errorf("comments: %+v", l.Comments)
	}
	if open := host.Open(l.Threads); len(open) != 1 || open[0].Path != "c.txt" {
		f.Errorf("open threads: %+v", open)
	}
	f.People.Resolve(f, n, l.Threads[1-i].ID)
	if open := host.Open(f.look(n).Threads); len(open) != 0 {
		f.Errorf("open threads after one was resolved: %+v", open)
	}
	// The file of a thread goes away: the answer still arrives, and once.
	gone := f.Commit(f, f.Start, "without\n", map[string]string{"d.txt": "d\n"})
	merged, err := f.Store.CommitTree(f.Context(), f.tree(gone), []string{head}, "without b\n", "")
	f.ok(err)
	f.ok(f.Host.Push(f.Context(), branch, merged, head))
	for range 2 {
		f.ok(f.Host.Reply(f.Context(), n, t, "run-1/5.1/reply-2/"+t.ID, text.Own("The file is gone.")))
	}
	said := 0
	l = f.look(n)
	for _, x := range l.Threads {
		for _, c := range x.Comments {
			if c.Own && strings.Contains(c.Body, "The file is gone.") {
				said++
			}
		}
	}
	if said != 1 {
		f.Errorf("said %d times in the thread: %+v, comments %+v", said, l.Threads, l.Comments)
	}
}

func pages(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	for i := range 53 {
		f.People.Review(f, "ann", pull.Number, head, work.PullCommented, fmt.Sprintf("review %d", i))
	}
	f.People.Review(f, "ben", pull.Number, head, work.PullChangesRequested, "the last")
	l := f.look(pull.Number)
	all := len(l.Reviews)
	if f.Decisions {
		all += len(l.Comments)
	}
	if s := host.Stand(l.Reviews, l.Head); all != 54 || s.Verdict != work.PullChangesRequested {
		f.Errorf("%d reviews, %s", len(l.Reviews), s.Verdict)
	}
}

func longComment(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "b\n"})
	long := strings.Repeat("ü", 500_000)
	f.People.Say(f, "ann", pull.Number, long)
	f.People.Review(f, "ben", pull.Number, head, work.PullChangesRequested, long, Line{"b.txt", 1, long})
	l := f.look(pull.Number)
	if len(l.Comments) != 1 || !l.Comments[0].Clipped || len(l.Comments[0].Body) > work.MaxCommentBytes {
		f.Errorf("%d comments", len(l.Comments))
	}
	if len(l.Reviews) != 1 || len(l.Reviews[0].Body) > work.MaxCommentBytes || len(l.Threads) != 1 || !l.Threads[0].Comments[0].Clipped {
		f.Errorf("%d reviews, %d threads", len(l.Reviews), len(l.Threads))
	}
}

// notes are what Forge's reviewers found: on the lines that the diff has, once,
// and nobody's decision.
func notes(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "one\ntwo\nthree\n"})
	n := work.PullNotes{Number: pull.Number, Key: "run-1/5.1 notes", Commit: head, Body: text.Own("Two things."), Lines: []work.PullNote{
		{Path: "b.txt", Line: 2, Body: text.Own("two is many")}, {Path: "b.txt", Line: 3, Body: text.Own("three is more")}}}
	f.ok(f.Host.Note(f.Context(), n))
	f.ok(f.Host.Note(f.Context(), n))
	look := f.look(pull.Number)
	if len(look.Threads) != 2 || len(f.onTheWhole(look)) != 1 {
		f.Fatalf("after two notes: %+v, %+v", look.Threads, look.Reviews)
	}
	for i, t := range look.Threads {
		if t.Path != "b.txt" || t.Line != n.Lines[i].Line || len(t.Comments) != 1 || !t.Comments[0].Own || !strings.Contains(t.Comments[0].Body, n.Lines[i].Body.String()) {
			f.Errorf("thread %d: %+v", i, t)
		}
	}
	if s := host.Stand(look.Reviews, look.Head); s.Verdict != work.PullCommented || len(s.Counting) != 0 {
		f.Errorf("they count: %+v", s)
	}
	// A line that the diff has not.
	n.Key, n.Lines = "run-1/5.1 other notes", []work.PullNote{{Path: "gone.txt", Line: 7, Body: text.Own("what is this")}}
	f.ok(f.Host.Note(f.Context(), n))
	look = f.look(pull.Number)
	said := f.onTheWhole(look)
	whole := len(said)
	for _, t := range look.Threads { // a host may show it where the line would be
		for _, c := range t.Comments {
			said = append(said, c.Body)
		}
	}
	if whole != 2 || !slices.ContainsFunc(said, func(words string) bool { return strings.Contains(words, "what is this") }) {
		f.Errorf("after a note on no line: %+v, %+v", look.Reviews, look.Threads)
	}
}

// onTheWhole is what Forge's own accounts said on the whole, deciding nothing.
func (f *fixture) onTheWhole(look work.PullLook) (said []string) {
	for _, r := range look.Reviews {
		if r.Own && r.Verdict == work.PullCommented {
			said = append(said, r.Body)
		}
	}
	for _, c := range look.Comments {
		if f.Decisions && c.Own {
			said = append(said, c.Body)
		}
	}
	return said
}

// settled is a thread of Forge's own that is over: found by its trace, with a fix to
// commit, answered once and resolved.
func settled(f *fixture) {
	pull, head := f.propose(branch, map[string]string{"b.txt": "one\ntwo\nthree\n"})
	n := work.PullNotes{Number: pull.Number, Key: "review " + head, Commit: head, Body: text.Join("\n\n", text.Own("Two things."), host.Reviewed(f.Start, head)), Lines: []work.PullNote{
		{Path: "b.txt", Line: 1, Body: text.Own("one is few"), Trace: "ab12.cd-34", Fix: &work.PullFix{Was: []string{"one", "two"}, Now: "1\n2"}},
		{Path: "b.txt", Line: 3, Body: text.Own("three is more"), Trace: "ef56"}}}
	f.ok(f.Host.Note(f.Context(), n))
	look := f.look(pull.Number)
	if base, at := host.ReviewedIn(look); base != f.Start || at != head {
		f.Fatalf("reviewed since %q up to %q", base, at)
	}
	find := func(trace string) work.PullThread {
		f.Helper()
		for _, t := range look.Threads {
			if t.Comments[0].Own && slices.Equal(host.Traces(t.Comments[0].Body), []string{trace}) {
				return t
			}
		}
		f.Fatalf("no thread has the trace %s: %+v", trace, look.Threads)
		return work.PullThread{}
	}
	first, other := find("ab12.cd-34"), find("ef56")
	if body := first.Comments[0].Body; !strings.Contains(body, "1\n") || !strings.Contains(body, "2\n") || !strings.Contains(body, "```suggestion") && !strings.Contains(body, "-one\n-two\n+1\n+2") {
		f.Errorf("its fix is shown as\n%s", body)
	}
	for range 2 { // its answer was lost
		f.ok(f.Host.Settle(f.Context(), pull.Number, first, "gone ab12", text.Own("It is gone.")))
	}
	look = f.look(pull.Number)
	if first, other = find("ab12.cd-34"), find("ef56"); !first.Resolved || other.Resolved || len(first.Comments) != 2 || len(other.Comments) != 1 || !strings.Contains(first.Comments[1].Body, "It is gone.") {
		f.Errorf("after it was settled: %+v, %+v", first, other)
	}
	f.ok(f.Host.Settle(f.Context(), pull.Number, first, "gone ab12", text.Own("It is gone."))) // resolved already
	// Anybody may copy a mark; it says nothing.
	f.People.Say(f, "ann", pull.Number, host.Reviewed(head, f.Start).String())
	if _, at := host.ReviewedIn(f.look(pull.Number)); at != head {
		f.Errorf("somebody else's mark counts: %q", at)
	}
}

func anIssue(f *fixture) {
	n := f.People.OpenIssue(f, "What is wanted", "Two lines\nof text.")
	i, err := f.Host.Issue(f.Context(), n)
	f.ok(err)
	if i.Number != n || i.Title != "What is wanted" || i.Body != "Two lines\nof text." {
		f.Errorf("issue: %+v", i)
	}
	if _, err := f.Host.Issue(f.Context(), 4711); err == nil {
		f.Error("an issue that is not there")
	}
}
