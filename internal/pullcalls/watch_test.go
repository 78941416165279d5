package pullcalls

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/internal/board"
	"forge/internal/git"
	"forge/internal/host/hosttest"
	"forge/internal/project/projecttest"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/trackers"
	"forge/internal/work"
)

// world is a pull request of ann's, from feature into main, and who hears calls on it.
type world struct {
	*Watch
	t      *testing.T
	hub    *hosttest.GitHub
	people hosttest.People
	proxy  *hosttest.Proxy
	number int64
	own    string  // its text as one of Forge's
	ended  []int64 // issues whose leftovers were ended
	again  func() *Watch
}

func newWorld(t *testing.T) *world {
	t.Helper()
	g := hosttest.StartGitHub(t)
	proxy := hosttest.StartProxy(t, g.URL)
	env := projecttest.New(t, "", fmt.Sprintf("[host]\nkind = \"github\"\nurl = %q\nrepo = \"octo/repo\"\ntoken_env = \"TOKEN\"\n", proxy.URL))
	env.Environ = append(env.Environ, "TOKEN="+hosttest.GitHubToken)
	b, err := board.Open(t.Context(), env, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	store, err := git.Open(t.Context(), git.Config{StateDir: b.State, Root: b.Base.RepoRoot, Environ: env.Environ})
	check(t, err)
	g.Seed(t, store, "main", b.Base.Commit)
	head, err := store.WithFiles(t.Context(), b.Base.Commit, map[string][]byte{"a.txt": []byte("a\n")}, "a feature", "")
	check(t, err)
	w := &world{t: t, hub: g, people: g.People(), proxy: proxy}
	w.again = func() *Watch {
		t.Helper()
		goal := trackers.Goal{Opened: b, Ends: func(_ context.Context, i work.Issue, _ factory.By) error { w.ended = append(w.ended, i.ID); return nil }}
		p := *b.Checkout
		check(t, p.Configure())
		one, err := Open(t.Context(), &p, goal)
		if err != nil || one == nil {
			t.Fatal(one, err)
		}
		one.review = func(context.Context, int64) error { t.Error("reviewed"); return nil }
		return one
	}
	w.Watch = w.again()
	check(t, w.Once(t.Context())) // news are from now on
	check(t, w.host.Push(t.Context(), "feature", head, ""))
	pull, err := w.host.OpenPull(t.Context(), work.PullProposal{Marker: "m", Branch: "feature", Base: "main", Title: text.Titled("A feature"), Body: text.Own("Mine.")})
	check(t, err)
	w.number = pull.Number
	look, err := w.host.Look(t.Context(), w.number)
	check(t, err)
	w.own = look.Body
	w.people.Rewrite(t, w.number, "Mine.") // a person's has no mark
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) once() {
	w.t.Helper()
	check(w.t, w.Once(w.t.Context()))
	w.reviews.Wait()
}

func (w *world) issues() []work.Issue {
	w.t.Helper()
	all, err := w.goal.Journal.Issues(w.t.Context(), work.IssueFilter{Project: w.goal.Project}, 100, "")
	check(w.t, err)
	for n, i := range all {
		all[n], err = w.goal.Journal.Issue(w.t.Context(), i.Project, i.ID)
		check(w.t, err)
	}
	return all
}

// said is what Forge said on the pull request.
func (w *world) said() (out []string) {
	w.t.Helper()
	look, err := w.host.Look(w.t.Context(), w.number)
	check(w.t, err)
	for _, c := range look.Comments {
		if c.Own {
			out = append(out, c.Body)
		}
	}
	return out
}

// signed says that Forge left one sign at a comment.
func (w *world) signed(words string) {
	w.t.Helper()
	if n := w.hub.Signs(words); n != 1 {
		w.t.Errorf("%d signs at %q", n, words)
	}
}

func (w *world) says(n int, want string) {
	w.t.Helper()
	if said := w.said(); len(said) != n || n > 0 && !strings.Contains(said[n-1], want) {
		w.t.Errorf("want %d comments, the last with %q: %q", n, want, said)
	}
}

// A call puts one issue on the board, whose result is for the branch, however often and
// by whomever it is read; what becomes of that is said on the pull request.
func TestCalledForWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people.Say(t, "eve", w.number, "/forge fix it my way")
	w.once()
	if len(w.issues()) != 0 || w.Calls()[callIgnored] != 1 {
		t.Fatalf("of who may not write: %+v, %v", w.issues(), w.Calls())
	}
	w.says(0, "")

	w.people.Say(t, "ann", w.number, "/forge fix the nil case")
	w.once()
	w.once()
	w.Watch = w.again()
	w.once()
	all := w.issues()
	if len(all) != 1 || all[0].Target != "feature" || all[0].Column != work.ColumnReady || numberOf(all[0]) != w.number || !strings.Contains(all[0].Description, "the nil case") {
		t.Fatalf("%+v", all)
	}
	w.says(0, "")
	w.signed("the nil case")

	w.people.Say(t, "ann", w.number, "/forge budget 3\n/forge explain")
	w.once()
	if i := w.issues()[0]; i.Budget != 3 {
		t.Errorf("%+v", i)
	}
	w.says(1, "Forge's board")
	w.people.Say(t, "ann", w.number, "/forge stop")
	w.once()
	w.once()
	if i := w.issues()[0]; i.State != work.IssueCancelled || len(w.ended) != 1 || w.ended[0] != i.ID {
		t.Errorf("%+v, ended %v", i, w.ended)
	}
	w.says(2, "ancelled")

	w.people.Say(t, "ann", w.number, "/forge fix it otherwise")
	w.once()
	if all := w.issues(); len(all) != 2 || all[1].Column != work.ColumnReady {
		t.Fatalf("%+v", all)
	}
	w.people.MergeByHand(t, w.number)
	w.once()
	if i := w.issues()[1]; i.State != work.IssueCancelled || len(w.ended) != 2 {
		t.Errorf("after the merge: %+v, ended %v", i, w.ended)
	}
}

// Whatever is lost on the way to the host, a call is acted on once and answered once;
// one that was made while nobody watched is heard by who watches next.
func TestCallOverABadNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people.Say(t, "ann", w.number, "/forge fix the nil case")
	w.proxy.Misbehave(func(r *http.Request) hosttest.Fault {
		if r.Method == http.MethodPost {
			return hosttest.Fault{Cut: true, After: true} // it is there, and nobody hears so
		}
		return hosttest.Fault{}
	})
	if err := w.Once(t.Context()); err == nil {
		t.Fatal("nothing was lost")
	}
	w.proxy.Misbehave(nil)
	w.Watch = w.again()
	w.once()
	w.once()
	if all := w.issues(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	w.says(0, "")
	w.signed("the nil case")
}

// What no issue may hold is left out, whoever wrote it, and so a call is acted on.
func TestCallBesideControlCharacters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	look, err := w.host.Look(t.Context(), w.number)
	check(t, err)
	w.people.Review(t, "ann", w.number, look.Head, work.PullChangesRequested, "see\x00\x1b[2J below", hosttest.Line{Path: "a.txt", Line: 1, Body: "why\x07?"})
	w.people.Say(t, "ann", w.number, "/forge fix\n\nthis\x00there")
	w.once()
	all := w.issues()
	if len(all) != 1 || strings.ContainsAny(all[0].Description, "\x00\x07\x1b") || !strings.Contains(all[0].Description, "why") {
		t.Errorf("%+v, %q", all, w.said())
	}
}

// What cannot be read now is not over: a call there is heard when it can.
func TestCallThatCannotBeReadYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people.Say(t, "ann", w.number, "/forge fix the nil case")
	w.proxy.Misbehave(func(r *http.Request) hosttest.Fault {
		if strings.HasSuffix(r.URL.Path, fmt.Sprintf("/pulls/%d", w.number)) {
			return hosttest.Fault{Status: http.StatusForbidden}
		}
		return hosttest.Fault{}
	})
	w.hub.Pass(time.Minute) // in the end it is news no more
	for range 2 {
		if err := w.Once(t.Context()); err == nil {
			t.Error("what cannot be read is taken for gone")
		}
		w.hub.Pass(time.Minute)
	}
	w.proxy.Misbehave(nil)
	w.once()
	if all := w.issues(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

// Of two who look at the same time, one acts.
func TestTwoHearOneCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people.Say(t, "ann", w.number, "/forge fix the nil case")
	other := w.again()
	errs := make(chan error, 2)
	for _, one := range []*Watch{w.Watch, other} {
		go func() { errs <- one.Once(t.Context()) }()
	}
	for range 2 {
		if err := <-errs; err != nil && !errors.Is(err, work.ErrStale) {
			t.Error(err)
		}
	}
	w.once()
	if all := w.issues(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	w.says(0, "")
	w.signed("the nil case")
}

// A review that is called for is done once; one that died on the way is begun again, a
// few times, and one that cannot be is said.
func TestCalledForReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people.Say(t, "ann", w.number, "/forge review")
	n := 0
	for range 2 {
		ctx, die := context.WithCancel(t.Context())
		begun := make(chan struct{})
		w.review = func(context.Context, int64) error { n++; close(begun); <-ctx.Done(); return ctx.Err() }
		check(t, w.Once(ctx))
		<-begun
		die()
		w.reviews.Wait()
		w.hub.Pass(time.Minute) // in the end it is news no more
		w.Watch = w.again()
	}
	w.review = func(_ context.Context, number int64) error {
		if n++; number != w.number {
			t.Errorf("reviewed is %d", number)
		}
		return nil
	}
	for range 3 {
		w.once()
	}
	if n != 3 {
		t.Errorf("it was reviewed %d times, twice in vain", n)
	}
	w.says(0, "")
	w.signed("/forge review")

	w.people.Say(t, "ann", w.number, "/forge review")
	w.review = func(context.Context, int64) error { return refusal.New("set one", "there is no model") }
	w.once()
	w.once()
	w.says(1, "there is no model")

	w.people.Say(t, "ann", w.number, "/forge review")
	n = 0
	for range mostTries + 1 { // the server dies of it each time
		ctx, die := context.WithCancel(t.Context())
		w.review = func(context.Context, int64) error { n++; die(); return nil }
		_ = w.Once(ctx)
		w.reviews.Wait()
		die()
		w.Watch = w.again()
	}
	w.once()
	if n != mostTries {
		t.Errorf("a review that kills the server was begun %d times", n)
	}
	w.says(2, "never ended")

	w.people.Say(t, "ann", w.number, "/forge review")
	n = 0
	w.review = func(context.Context, int64) error { n++; return errors.New("the model is away") }
	for range mostTries + 2 {
		w.once()
	}
	if n != mostTries {
		t.Errorf("it was begun %d times", n)
	}
	w.says(3, "the model is away")
}

// Pull requests of Forge's own are not for this, and neither are words that are no call.
func TestNoCallOfThese(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people.Say(t, "ann", w.number, "shall @forge look at it?\n> /forge fix it")
	w.once()
	for _, own := range []work.PullRequest{{Branch: "forge/issue-3"}, {Branch: "x", Marker: "m"}} {
		if !ownPull(own) {
			t.Errorf("%+v", own)
		}
	}
	w.people.Rewrite(t, w.number, w.own)
	w.people.Say(t, "ann", w.number, "/forge fix it")
	w.once()
	if all := w.issues(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	w.says(0, "")
}
