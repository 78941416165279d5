package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// pullWorld is a project whose boundaries people look at on a code host.
type pullWorld struct {
	*world
	host   host.Host
	people hosttest.People
	store  *git.Store
}

// pullScript writes out-01.txt, mends it when asked to, and then out-02.txt.
const pullScript = `[[step]]
phase = "01"
iteration = 1
do = [{write = "out-01.txt", content = "one\ntwo\nthree\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
phase = "01"
do = [{write = "out-01.txt", content = "one\nTWO\nthree\n"}, {print = "I wrote the second line in capitals."}]
[[step]]
phase = "02"
do = [{write = "out-02.txt", content = "made by 02\n"}, {print = "<promise>PHASE 02 DONE</promise>"}]
`

// inThreads lets a script say some words in each thread that it is told of: it
// cannot read the numbers, and what it says in others counts for nothing.
func inThreads(script, words string) string {
	var all strings.Builder
	for n := range work.MaxSignals - 1 {
		fmt.Fprintf(&all, "<reply>%d: %s</reply>", n+1, words)
	}
	return strings.ReplaceAll(script, words, all.String())
}

// saysIn lets the agent's script say some words in each thread that a pull request
// has now, whatever their numbers are on a server that others use as well.
func (w *pullWorld) saysIn(number int64, script, words string) {
	w.t.Helper()
	look, err := w.host.Look(w.t.Context(), number)
	if err != nil || len(look.Threads) == 0 {
		w.t.Fatalf("threads %+v, %v", look.Threads, err)
	}
	var all strings.Builder
	for _, thread := range look.Threads {
		fmt.Fprintf(&all, "<reply>%s: %s</reply>", thread.ID, words)
	}
	w.write(".forge/agent.toml", strings.ReplaceAll(script, words, all.String()))
}

// newPullWorld makes a project on a host of a kind, with a token in its
// environment.
func newPullWorld(t *testing.T, kind, url, repo, token string, store *git.Store, on host.Host, people hosttest.People) *pullWorld {
	w := &pullWorld{world: newWorld(t, inThreads(pullScript, "I wrote the second line in capitals.")), host: on, people: people, store: store}
	w.env = append(w.env, "HOST_TOKEN="+token)
	w.configure(fmt.Sprintf("[autonomy]\nlevel = \"autonomous\"\n[autonomy.policy]\ngates.\"ckpt.phase_transition\" = \"human\"\n[host]\nkind = %q\nurl = %q\nrepo = %q\ntoken_env = \"HOST_TOKEN\"\n", kind, url, repo), "test -f README.md")
	w.plan(phase("01", "first", 2), phase("02", "second", 2, "01"))
	return w
}

// asked is the one open question, with the pull request that shows it.
func (w *pullWorld) asked(number int64) (work.PullLook, string) {
	w.t.Helper()
	look, err := w.host.Look(w.t.Context(), number)
	if err != nil {
		w.t.Fatal(err)
	}
	var list struct {
		Checkpoints []struct{ ID, Status string }
	}
	if err := json.Unmarshal([]byte(w.forge("status", "--output", "json").want(exitDone).stdout), &list); err != nil {
		w.t.Fatal(err)
	}
	var open []string
	for _, cp := range list.Checkpoints {
		if cp.Status == string(work.CheckpointPending) {
			open = append(open, cp.ID)
		}
	}
	if len(open) != 1 {
		w.t.Fatalf("open questions: %+v", list)
	}
	return look, open[0]
}

func fakeHub(t *testing.T) *pullWorld {
	g := hosttest.StartGitHub(t)
	return hubAt(t, g, g.URL)
}

// hubAt is a project on g, which it reaches at another address.
func hubAt(t *testing.T, g *hosttest.GitHub, address string) *pullWorld {
	store, start := hosttest.NewStore(t)
	g.Seed(t, store, "main", start)
	h, err := github.New(github.Config{URL: g.URL, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return newPullWorld(t, "github", address, "octo/repo", hosttest.GitHubToken, store, h, g.People())
}

func TestPullRequests(t *testing.T) {
	t.Run("Story", func(t *testing.T) { t.Parallel(); fakeHub(t).story() })
	t.Run("ByHand", func(t *testing.T) { t.Parallel(); fakeHub(t).byHand() })
}

// story: frozen with one pull request; a comment and a review that asks for
// changes reach the agent, with a commit that a person pushed; the same pull
// request, answered; an approval by somebody without the right is none; an
// approval lands it there, and the next phase begins.
func (w *pullWorld) story() {
	t := w.t
	frozen := w.forge("run").want(exitFrozen)
	look, id := w.asked(1)
	frozen.says("Phase 01 is pull request 1: " + look.URL)
	w.forge("show", id).want(exitDone).says("pull request", look.URL)
	first := look.Head
	if look.State != work.PullOpen || !strings.HasPrefix(look.Branch, "forge/phases/") || !strings.HasSuffix(look.Branch, "/phase-1-tactical") || !strings.HasPrefix(look.Base, "forge/run-") {
		t.Fatalf("pull request: %+v", look.PullRequest)
	}
	for _, part := range []string{"What changed", "out-01.txt", "Evidence", "test -f README.md", "No reviewer of Forge's looked at this", "Read first", "How to answer", "forge approve"} {
		if !strings.Contains(look.Body, part) {
			t.Errorf("the text lacks %q:\n%s", part, look.Body)
		}
	}
	// Nothing is said, or nothing that counts.
	w.forge("host", "watch", "--once").want(exitDone)
	w.people.Review(t, "eve", 1, first, work.PullApproved, "fine")
	w.people.Say(t, "ann", 1, "I look at it later")
	w.forge("host", "watch", "--once").want(exitDone)
	w.forge("resume").want(exitFrozen)
	if again, _ := w.asked(1); again.Head != first {
		t.Fatalf("the branch moved from %s to %s", first, again.Head)
	}
	// Changes, with a commit of a person's, and a word of somebody who has
	// decided nothing.
	w.people.Say(t, "ben", 1, "mind-the-end")
	w.people.Review(t, "ann", 1, first, work.PullChangesRequested, "the second line", hosttest.Line{Path: "out-01.txt", Line: 2, Body: "louder"})
	w.saysIn(1, pullScript, "I wrote the second line in capitals.")
	pushed := w.push(look.Branch, map[string]string{"by-ann.txt": "ann\n"})
	w.forge("resume").want(exitFrozen)
	prompt := w.forge("logs", "01", "--prompt", "--iteration", "2").want(exitDone)
	prompt.says("louder", "mind-the-end", "out-01.txt:2", "the second line", "by-ann.txt")
	look, _ = w.asked(1)
	if look.Head == first || look.Head == pushed || look.Number != 1 {
		t.Fatalf("after the rework: %+v", look.PullRequest)
	}
	for _, part := range []string{"Somebody pushed to the branch, which is part of it now: by-ann.txt", "ann asked for changes"} {
		if !strings.Contains(look.Body, part) {
			t.Errorf("the text does not say what happened, %q:\n%s", part, look.Body)
		}
	}
	why := w.forge("why").want(exitDone)
	why.says("on the host: Somebody pushed to the branch: 1 file", "policy of its own")
	if n := strings.Count(why.stdout, "mind-the-end"); n != 1 {
		t.Errorf("forge why tells %d times what people said:\n%s", n, why.stdout)
	}
	w.forge("status").want(exitDone).says("  policy  of its own")
	if !w.grew(look.Branch, pushed) {
		t.Error("the branch lost what was pushed")
	}
	answers := 0
	for _, thread := range look.Threads {
		for _, c := range thread.Comments {
			if c.Own && strings.Contains(c.Body, "second line in capitals") {
				answers++
			}
		}
	}
	if answers != 1 {
		t.Errorf("the thread has %d answers: %+v", answers, look.Threads)
	}
	// The request stands, and is not taken twice; the question says whose it is.
	w.forge("resume").want(exitFrozen)
	_, id = w.asked(1)
	w.forge("show", id).want(exitDone).says("read once, ", "ann still asks for changes: ask for another look")
	// Approved as it is, it is merged there, and phase 02 has its own.
	w.people.Review(t, "ann", 1, look.Head, work.PullApproved, "thanks")
	resumed := w.forge("resume").want(exitFrozen)
	after, err := w.host.Look(t.Context(), 1)
	if err != nil || after.State != work.PullMerged || after.Head != look.Head {
		t.Fatalf("after the approval: %+v, %v\n%s", after.PullRequest, err, resumed.stderr)
	}
	if at, err := w.host.Head(t.Context(), look.Branch); err != nil || at != "" {
		t.Errorf("the branch is at %q, %v", at, err)
	}
	second, id := w.asked(2)
	if second.State != work.PullOpen || !strings.HasSuffix(second.Branch, "/phase-2-tactical") {
		t.Fatalf("the second pull request: %+v", second.PullRequest)
	}
	if at, err := w.host.Head(t.Context(), second.Base); err != nil || at != after.MergeCommit {
		t.Errorf("the run's branch is at %s, %v; merged was %s", at, err, after.MergeCommit)
	}
	// Another door answers, and the host merges all the same.
	w.forge("approve", id, "--resume").want(exitDone)
	w.said(1)
	w.said(2, "(cli), as checkpoint `"+id+"`")
	if after, err = w.host.Look(t.Context(), 2); err != nil || after.State != work.PullMerged {
		t.Errorf("after forge approve: %+v, %v", after.PullRequest, err)
	}
	for name, want := range map[string]string{"out-01.txt": "one\nTWO\nthree", "by-ann.txt": "ann", "out-02.txt": "made by 02"} {
		if got := w.git("show", "HEAD:"+name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := w.git("rev-list", "--count", "HEAD"); got != "3" {
		t.Errorf("the history has %s commits", got)
	}
}

// byHand: what people merge there is taken over, and one that they close is
// told, held, and answered here.
func (w *pullWorld) byHand() {
	t := w.t
	w.forge("run").want(exitFrozen)
	look, _ := w.asked(1)
	w.people.MergeByHand(t, 1)
	w.forge("resume").want(exitFrozen)
	if at, err := w.host.Head(t.Context(), look.Branch); err != nil || at != "" {
		t.Errorf("the branch of what was merged by hand is at %q, %v", at, err)
	}
	second, id := w.asked(2)
	if second.State != work.PullOpen || second.Base != look.Base {
		t.Fatalf("the second pull request: %+v", second.PullRequest)
	}
	w.people.Close(t, 2)
	w.forge("resume").want(exitFrozen)
	w.forge("approve", id, "--resume").want(exitFrozen)
	_, again := w.asked(2)
	if again == id {
		t.Fatalf("%s is asked again under its own name", id)
	}
	w.forge("show", again).want(exitDone).says("was closed on the host", "pull request  people do not see this on "+second.URL)
	// Put back there, it is answered there.
	w.people.Reopen(t, 2)
	w.people.Review(t, "ann", 2, second.Head, work.PullApproved, "after all")
	w.forge("resume").want(exitDone)
	if after, err := w.host.Look(t.Context(), 2); err != nil || after.State != work.PullMerged {
		t.Errorf("after it was reopened: %+v, %v", after.PullRequest, err)
	}
	if got := w.git("show", "HEAD:out-02.txt"); got != "made by 02" {
		t.Errorf("out-02.txt is %q", got)
	}
}

// push is what a person does to the branch.
func (w *pullWorld) push(branch string, files map[string]string) string {
	w.t.Helper()
	at, err := w.host.Fetch(w.t.Context(), branch, "refs/forge/at")
	if err != nil {
		w.t.Fatal(err)
	}
	commit := (&hosttest.World{Store: w.store}).Commit(w.t, at, "by hand\n", files)
	if err := w.host.Push(w.t.Context(), branch, commit, at); err != nil {
		w.t.Fatal(err)
	}
	return commit
}

// grew says that a branch of the host holds a commit.
func (w *pullWorld) grew(branch, commit string) bool {
	w.t.Helper()
	at, err := w.host.Fetch(w.t.Context(), branch, "refs/forge/at")
	if err != nil {
		w.t.Fatal(err)
	}
	held, err := w.store.Holds(w.t.Context(), at, commit)
	return held && err == nil
}

// said is what Forge's comments on the whole of a pull request hold, each.
func (w *pullWorld) said(number int64, want ...string) {
	w.t.Helper()
	look, err := w.host.Look(w.t.Context(), number)
	own := slices.DeleteFunc(look.Comments, func(c work.PullComment) bool { return !c.Own })
	if err != nil || len(own) != len(want) {
		w.t.Fatalf("Forge says %+v, %v", own, err)
	}
	for n, c := range own {
		if !strings.Contains(c.Body, want[n]) {
			w.t.Errorf("Forge says %q, want %q", c.Body, want[n])
		}
	}
}
