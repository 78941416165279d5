package cli

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/git"
	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// issueWorld is a project whose issues end as pull requests.
type issueWorld struct {
	*pullWorld
	proxy *hosttest.Proxy
	down  atomic.Bool // the host answers nothing
}

// workerScript does the issue, and mends it when asked to; the second time it has
// nothing to say.
const workerScript = `[[step]]
phase = "1"
iteration = 1
do = [{write = "out.txt", content = "one\ntwo\n"}, {print = "<promise>ISSUE 1 DONE</promise>"}]
[[step]]
phase = "1"
iteration = 3
do = [{write = "more.txt", content = "more\n"}]
[[step]]
phase = "1"
do = [{write = "out.txt", content = "one\nTWO\n"}, {print = "I wrote it in capitals."}]
`

// storeOf is a repository of Forge's over the world's checkout.
func (w *world) storeOf() (*git.Store, string) {
	w.t.Helper()
	store, err := git.Open(w.t.Context(), git.Config{StateDir: w.t.TempDir(), Root: w.root, Environ: w.env})
	if err != nil {
		w.t.Fatal(err)
	}
	return store, w.git("rev-parse", "HEAD")
}

// issueHub is a project on a GitHub of Forge's own, behind a proxy, with one
// ready issue of a level.
func issueHub(t *testing.T, level string) *issueWorld {
	g := hosttest.StartGitHub(t)
	w := newWorld(t, inThreads(workerScript, "I wrote it in capitals."))
	store, head := w.storeOf()
	g.Seed(t, store, "main", head)
	h, err := github.New(github.Config{URL: g.URL, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	s := &issueWorld{pullWorld: &pullWorld{world: w, host: h, people: g.People(), store: store}, proxy: hosttest.StartProxy(t, g.URL)}
	s.proxy.Misbehave(func(*http.Request) hosttest.Fault {
		if s.down.Load() {
			return hosttest.Fault{Status: http.StatusBadGateway}
		}
		return hosttest.Fault{}
	})
	s.issue("github", s.proxy.URL, "octo/repo", hosttest.GitHubToken, level)
	return s
}

func (s *issueWorld) issue(kind, url, repo, token, level string) {
	s.env = append(s.env, "HOST_TOKEN="+token)
	s.configure(fmt.Sprintf("[factory]\ntriage = \"off\"\n[host]\nkind = %q\nurl = %q\nrepo = %q\ntoken_env = \"HOST_TOKEN\"\n", kind, url, repo), "test -f README.md", "test ! -f red.txt")
	add := []string{"issue", "add", "Write it", "--column", "ready", "--level", level}
	if level != "end_to_end" {
		add = append(add, "--criterion", "out.txt says two")
	}
	s.forge(add...).want(exitDone)
}

// card is what forge issue show says.
func (s *issueWorld) card(parts ...string) {
	s.t.Helper()
	s.forge("issue", "show", "1").want(exitDone).says(parts...)
}

func (s *issueWorld) pull() work.PullLook {
	s.t.Helper()
	look, err := s.host.Look(s.t.Context(), 1)
	if err != nil {
		s.t.Fatal(err)
	}
	if other, err := s.host.Pull(s.t.Context(), 2); err == nil {
		s.t.Fatalf("there is a second pull request: %+v", other)
	}
	return look
}

// landed says that the result, and nothing but it, is in main.
func (s *issueWorld) landed(text string, commits int) {
	s.t.Helper()
	s.card("Column     done", "Pull       1 ")
	look := s.pull()
	at, err := s.host.Fetch(s.t.Context(), "main", "refs/forge/at")
	if err != nil || look.State != work.PullMerged || look.MergeCommit != at {
		s.t.Fatalf("%+v, main is at %s, %v", look.PullRequest, at, err)
	}
	if got, err := s.store.Show(s.t.Context(), at, "out.txt"); err != nil || string(got) != text {
		s.t.Errorf("out.txt is %q, %v", got, err)
	}
	if gone, err := s.host.Head(s.t.Context(), look.Branch); err != nil || gone != "" {
		s.t.Errorf("the branch is at %q, %v", gone, err)
	}
	if s.git("branch", "--list", "forge/landed") != "" {
		s.t.Error("there is a local target as well")
	}
	cmd := exec.Command("git", "rev-list", "--count", at)
	cmd.Dir = filepath.Join(s.state, "repo.git")
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(commits) {
		s.t.Errorf("main has %s commits, want %d; %v", out, commits, err)
	}
}

// What the policy lets pass is merged by the host, and done only then.
func TestIssueIsMergedByTheHost(t *testing.T) {
	t.Parallel()
	issueHub(t, "end_to_end").merged()
}

func (s *issueWorld) merged() {
	t := s.t
	s.forge("factory", "--once").want(exitDone)
	look := s.pull()
	if look.Branch != "forge/issue-1-write-it" || look.Base != "main" || look.Title != "Issue 1: Write it" {
		t.Errorf("pull request: %+v", look.PullRequest)
	}
	for _, part := range []string{"What changed", "`out.txt` (added)", "Why", "Write it", "Evidence", "test -f README.md", "Read first", "How to answer"} {
		if !strings.Contains(look.Body, part) {
			t.Errorf("the text lacks %q:\n%s", part, look.Body)
		}
	}
	s.landed("one\ntwo\n", 2)
	// Nothing is left to do.
	s.forge("factory", "--once").want(exitDone)
}

// What is held is looked at there: comments reach the agent, the same pull
// request shows the rework, an approval lands it.
func TestIssueIsReviewedOnTheHost(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	issueHub(t, "plan_then_review").reviewed()
}

func (s *issueWorld) reviewed() {
	t := s.t
	s.forge("factory", "--once").want(exitFrozen)
	first := s.pull()
	s.card("in_review (pull request 1 waits for you", "Pull       1 ")
	for _, part := range []string{"forge approve", "it waits for a person", "c1, no evidence: out.txt says two"} {
		if !strings.Contains(first.Body, part) {
			t.Errorf("the text lacks %q:\n%s", part, first.Body)
		}
	}
	s.people.Review(t, "eve", 1, first.Head, work.PullApproved, "fine")
	s.people.Review(t, "ann", 1, first.Head, work.PullChangesRequested, "not yet",
		hosttest.Line{Path: "out.txt", Line: 2, Body: "louder"}, hosttest.Line{Path: "out.txt", Line: 1, Body: "and why this"})
	s.forge("factory", "--once").want(exitFrozen)
	s.card("in_review (pull request 1 waits for you")
	next := s.pull()
	s.answered("I wrote it in capitals.", "I wrote it in capitals.")
	if next.Head == first.Head || next.State != work.PullOpen {
		t.Fatalf("after the rework: %+v", next.PullRequest)
	}
	// The request was heard, and stands until ann looks again.
	s.forge("factory", "--once").want(exitFrozen)
	if third := s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "3"); third.code == exitDone {
		t.Fatal("it was worked on again")
	}
	// Another door's request takes along what was said there.
	s.people.Review(t, "ann", 1, next.Head, work.PullCommented, "", hosttest.Line{Path: "out.txt", Line: 1, Body: "and this one"})
	s.forge("request-changes", s.question(), "-m", "as she says").want(exitDone)
	s.forge("factory", "--once").want(exitFrozen)
	s.answered("I wrote it in capitals.", "I wrote it in capitals.", "")
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "2").want(exitDone).says("~~~data-", "louder", "out.txt:2", "+two", "and why this", "out.txt:1")
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "3").want(exitDone).says("as she says", "and this one", "out.txt:1")
	s.people.Review(t, "ann", 1, s.pull().Head, work.PullApproved, "thanks")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\nTWO\n", 2)
}

// answered says that each thread has just one answer of Forge's, in the order
// in which they were begun; "" = none.
func (s *issueWorld) answered(want ...string) {
	s.t.Helper()
	threads := s.pull().Threads
	if len(threads) != len(want) {
		s.t.Fatalf("%d threads, want %d: %+v", len(threads), len(want), threads)
	}
	for n, thread := range threads {
		own := slices.DeleteFunc(slices.Clone(thread.Comments), func(c work.PullComment) bool { return !c.Own })
		if want[n] == "" && len(own) == 0 {
			continue // the agent had nothing to say, and nothing changed there
		}
		if len(own) != 1 || !strings.Contains(own[0].Body, want[n]) {
			s.t.Errorf("thread %d, %q, has %d answers: %+v", n, thread.Comments[0].Body, len(own), own)
		}
	}
}

// run is the issue's.
func (s *issueWorld) run() string {
	return strings.Fields(strings.SplitN(s.forge("issue", "show", "1").stdout, "Run ", 2)[1])[0]
}

// A person's merge moves the card, once it is known what came of it.
func TestIssueIsMergedByHand(t *testing.T) {
	t.Parallel()
	t.Run("AsProven", func(t *testing.T) {
		t.Parallel()
		issueHub(t, "plan_then_review").mergedByHand()
	})
	t.Run("WithMore", func(t *testing.T) {
		t.Parallel()
		s := issueHub(t, "plan_then_review")
		s.forge("factory", "--once").want(exitFrozen)
		s.push(s.pull().Branch, map[string]string{"more.txt": "x\n"})
		s.people.MergeByHand(t, 1)
		s.forge("factory", "--once").want(exitDone)
		s.card("Column     done (merged by", "not as it was proven before: it was proven again")
	})
	t.Run("Red", func(t *testing.T) {
		t.Parallel()
		s := issueHub(t, "plan_then_review")
		s.forge("factory", "--once").want(exitFrozen)
		s.push(s.pull().Branch, map[string]string{"red.txt": "x\n"})
		s.people.MergeByHand(t, 1)
		s.forge("factory", "--once").want(exitFrozen)
		s.card("in_review, waits (pull request 1 was merged by", "not as it was proven: verify command failed with exit code 1: test ! -f red.txt", "mend it in main, then forge issue run 1", "landing_red")
		s.forge("factory", "--once").want(exitFrozen)
		main := s.push("main", map[string]string{"README.md": "mended\n"})
		s.forge("issue", "run", "1").want(exitFrozen)
		mended, err := s.store.WithFilesFrom(t.Context(), main, s.git("rev-parse", "HEAD"), []string{"red.txt"})
		if err == nil {
			err = s.host.Push(t.Context(), "main", mended, main)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.forge("issue", "run", "1").want(exitDone)
		s.card("Column     done (merged by")
	})
	t.Run("Closed", func(t *testing.T) {
		t.Parallel()
		s := issueHub(t, "plan_then_review")
		s.forge("factory", "--once").want(exitFrozen)
		s.people.Close(t, 1)
		s.forge("factory", "--once").want(exitFrozen)
		s.card("in_review (pull request 1 was closed: reopen it there)", "pull_closed")
		// Approved all the same, it waits for the pull request.
		s.forge("approve", s.question()).want(exitDone)
		s.forge("factory", "--once").want(exitFrozen)
		s.card("in_review, waits (pull request 1 was closed: reopen it there)", "pull_closed")
	})
}

func (s *issueWorld) mergedByHand() {
	s.forge("factory", "--once").want(exitFrozen)
	s.people.MergeByHand(s.t, 1)
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntwo\n", 2)
}

// question is the id of the one open checkpoint.
func (s *issueWorld) question() string {
	s.t.Helper()
	fields := strings.Fields(s.forge("checkpoints").want(exitDone).stdout)
	for _, f := range fields {
		if strings.HasPrefix(f, "i1-") && strings.Contains(f, ".") {
			return f
		}
	}
	s.t.Fatalf("no question in %q", fields)
	return ""
}

// Commits that people push become part of it once they are approved there.
func TestIssueTakesWhatPeoplePush(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	s := issueHub(t, "plan_then_review")
	s.forge("factory", "--once").want(exitFrozen)
	pushed := s.push(s.pull().Branch, map[string]string{"more.txt": "by ann\n"})
	s.forge("approve", s.question()).want(exitDone)
	s.forge("factory", "--once").want(exitFrozen)
	s.card("in_review, waits (pull request 1 has commits that Forge has not made: approve it there", "pull_pushed")
	s.said(1)
	s.people.Review(t, "ann", 1, pushed, work.PullApproved, "mine")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntwo\n", 2)
	s.said(1, "(cli), as checkpoint `i1-")
	if got, err := s.store.Show(t.Context(), s.pull().MergeCommit, "more.txt"); err != nil || string(got) != "by ann\n" {
		t.Errorf("more.txt is %q, %v", got, err)
	}
}

// A rule of the target that is not met holds it; it lands when that is met.
func TestIssueWaitsForTheHost(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	issueHub(t, "end_to_end").waits()
}

func (s *issueWorld) waits() {
	t := s.t
	s.people.Protect(t, "main", 1, "")
	s.forge("factory", "--once").want(exitFrozen)
	s.card("in_review, waits (pull request 1 may not be merged yet, says the host", "pull_blocked")
	look := s.pull()
	if look.State != work.PullOpen {
		t.Fatalf("it is %s", look.State)
	}
	s.people.Review(t, "ann", 1, look.Head, work.PullApproved, "fine")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntwo\n", 2)
}

// Sent back by a reviewer, what was decided to be done is worked on again, in the
// same pull request.
func TestIssueIsSentBackOnTheHost(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	issueHub(t, "end_to_end").sentBack()
}

func (s *issueWorld) sentBack() {
	t := s.t
	s.people.Protect(t, "main", 1, "")
	s.forge("factory", "--once").want(exitFrozen)
	first := s.pull()
	pushed := s.push(first.Branch, map[string]string{"more.txt": "by ann\n"})
	s.people.Review(t, "ann", 1, pushed, work.PullChangesRequested, "not yet", hosttest.Line{Path: "out.txt", Line: 2, Body: "louder, please"})
	s.write(".forge/agent.toml", inThreads(strings.NewReplacer(`one\ntwo\n`, `one\nTWO\n`, "<promise>", "I wrote it in capitals. <promise>").Replace(workerScript), "I wrote it in capitals."))
	s.forge("factory", "--once").want(exitFrozen)
	next := s.pull()
	s.answered("I wrote it in capitals.")
	if next.Head == pushed || !s.grew(next.Branch, pushed) {
		t.Fatalf("after the rework: %+v", next.PullRequest)
	}
	s.forge("factory", "--once").want(exitFrozen)
	if again := s.pull(); again.Head != next.Head {
		t.Fatal("it was worked on again")
	}
	s.people.Review(t, "ann", 1, next.Head, work.PullApproved, "thanks")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\nTWO\n", 2)
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "1").want(exitDone).says("louder, please", "out.txt:2")
}

// A host that is away promotes nothing: it is said, and done later.
func TestIssueWhoseHostIsAway(t *testing.T) {
	pace.Slow(t, "waits out the pauses after which a worker tries again")
	t.Parallel()
	s := issueHub(t, "end_to_end")
	s.down.Store(true)
	s.forge("factory", "--once").want(exitLimit)
	s.card("in_progress (tried again at", "502")
	var begun atomic.Int64
	s.proxy.Misbehave(func(req *http.Request) hosttest.Fault {
		// It goes away when the run has begun.
		if req.URL.Path == "/user" {
			begun.Add(1)
		}
		if begun.Load() > 1 {
			return hosttest.Fault{Status: http.StatusBadGateway}
		}
		return hosttest.Fault{}
	})
	time.Sleep(time.Second) // the first pause of the worker
	s.forge("factory", "--once").want(exitLimit)
	s.card("in_review (tried again at", "host_unreachable")
	s.proxy.Misbehave(nil)
	w := s.begin("factory")
	s.eventually("it is done", func() bool {
		return strings.Contains(s.forge("issue", "show", "1").stdout, "Column     done")
	})
	w.stop()
	w.wait()
	s.landed("one\ntwo\n", 2)
}
