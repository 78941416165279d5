package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/factory"
	"forge/internal/fakemodel"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
	"forge/internal/worker"
	"forge/orchestrator"
)

// What specialists say of an issue's change, and of a file that people pushed.
const (
	hubPass   = `{"verdict":"pass","confidence":0.9,"findings":[],"need":[],"criteria":[]}`
	pushedBug = `{"verdict":"fail","confidence":0.9,"findings":[{"file":"more.txt","line":1,"end_line":null,"severity":"critical","issue":"it is not the agent's","failure":"f","suggestion":"s","repro":null}],"need":[],"criteria":[]}`
)

// reviewedHub is issueHub with specialists, whose answers are turns.
func reviewedHub(t *testing.T, level string, turns ...fakemodel.Turn) (*issueWorld, func() []string) {
	model, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	address := model.Service("svc", fakemodel.Service{Models: []string{"m"}, Turns: append(turns, fakemodel.Turn{Text: hubPass, Repeat: -1})})
	s := issueHub(t, level)
	s.more("[llm]\nbase_url = \"" + address + "\"\nmodel = \"m\"\n[reviews]\nenabled = true\n")
	seen := 0
	return s, func() []string {
		var out []string
		all := model.Requests("svc")
		for _, r := range all[seen:] {
			if body := string(r.Body); !strings.Contains(body, "Answer with the one word") { // that asks whether it is there
				out = append(out, body)
			}
		}
		seen = len(all)
		return out
	}
}

// Commits of people, approved as they are, are looked at by the specialists
// before they land, and nobody is asked again.
func TestIssueReviewsWhatPeoplePush(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	s, asked := reviewedHub(t, "plan_then_review")
	s.forge("factory", "--once").want(exitFrozen)
	asked()
	first := s.run()
	pushed := s.push(s.pull().Branch, map[string]string{"more.txt": "by ann\n"})
	s.people.Review(t, "ann", 1, pushed, work.PullApproved, "mine")
	// Also where Forge died before it opened the run that the card names.
	spec, shown := s.begins()
	if from := spec.Issue.Pushed; spec.Base.Commit != shown || from == nil || from.Commit != pushed || from.Approved != "ann" || strings.Contains(spec.Settings.Spec, "What people said") {
		t.Errorf("a run would begin at %s with %+v, told %q", spec.Base.Commit, from, spec.Settings.Spec)
	}
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntwo\n", 2)
	look := s.pull()
	if got, err := s.store.Show(t.Context(), look.MergeCommit, "more.txt"); err != nil || string(got) != "by ann\n" || look.Head != pushed {
		t.Errorf("more.txt is %q at %s, %v", got, look.Head, err)
	}
	if s.run() == first {
		t.Fatal("nothing judged what was pushed")
	}
	reviews := asked()
	if len(reviews) == 0 {
		t.Error("no specialist was asked")
	}
	for _, r := range reviews {
		if !strings.Contains(r, "by ann") || strings.Contains(r, "+two") {
			t.Errorf("a specialist was asked about\n%s", r)
		}
	}
	// No agent did anything.
	if e := s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "1"); e.code == exitDone {
		t.Errorf("an agent worked:\n%s", e.stdout)
	}
}

// begins is what a run is opened with that follows another one on the pull
// request, and the commit that people saw there.
func (s *issueWorld) begins() (orchestrator.Spec, string) {
	t := s.t
	t.Helper()
	sh, i := s.worker()
	f, err := sh.For(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sh.Spec(t.Context(), f, factory.Order{Issue: i}, i.Run)
	if err != nil {
		t.Fatal(err)
	}
	return spec, i.Pull.Shown
}

// worker is the project as the factory works on it, and its issue.
func (s *issueWorld) worker() (*worker.Worker, work.Issue) {
	t := s.t
	t.Helper()
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: s.env, Dir: s.root, Now: time.Now}
	app.log = log.New(io.Discard)
	sh, err := worker.Open(t.Context(), app.env(), s.root, factory.NewConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sh.Close)
	i, err := sh.Journal.Issue(t.Context(), sh.Project, 1)
	if err != nil {
		t.Fatal(err)
	}
	return sh, i
}

// What specialists object to is mended on the same branch, and shown again.
func TestIssueMendsWhatPeoplePush(t *testing.T) {
	pace.Slow(t, "round after round of a pull request, each with a run")
	t.Parallel()
	s, _ := reviewedHub(t, "plan_then_review", fakemodel.Turn{When: "by ann", Text: pushedBug})
	s.forge("factory", "--once").want(exitFrozen)
	pushed := s.push(s.pull().Branch, map[string]string{"more.txt": "by ann\n"})
	s.people.Review(t, "ann", 1, pushed, work.PullApproved, "mine")
	s.write(".forge/agent.toml", "[[step]]\nphase = \"1\"\ndo = [{write = \"more.txt\", content = \"mended\\n\"}, {print = \"It is mended.\"}]\n")
	s.forge("factory", "--once").want(exitFrozen)
	s.card("in_review (pull request 1 waits for you")
	next := s.pull()
	if next.Head == pushed || next.State != work.PullOpen || !s.grew(next.Branch, pushed) {
		t.Fatalf("after the fix: %+v", next.PullRequest)
	}
	s.people.Review(t, "ann", 1, next.Head, work.PullApproved, "thanks")
	s.forge("factory", "--once").want(exitDone)
	s.landed("one\ntwo\n", 2)
	if got, err := s.store.Show(t.Context(), s.pull().MergeCommit, "more.txt"); err != nil || string(got) != "mended\n" {
		t.Errorf("more.txt is %q, %v", got, err)
	}
}

// Changes requested of a result that people pushed to: the agent begins with
// what they pushed, and the branch only grows.
func TestIssueIsReworkedOnTopOfPushes(t *testing.T) {
	t.Parallel()
	issueHub(t, "plan_then_review").onTop()
}

func (s *issueWorld) onTop() {
	t := s.t
	s.forge("factory", "--once").want(exitFrozen)
	pushed := s.push(s.pull().Branch, map[string]string{"out.txt": "by ann\n"})
	s.people.Review(t, "ann", 1, pushed, work.PullChangesRequested, "not yet", hosttest.Line{Path: "out.txt", Line: 1, Body: "mine stays"})
	s.write(".forge/agent.toml", "[[step]]\nphase = \"1\"\ndo = [{write = \"out.txt\", content = \"by the agent\\n\", append = true}]\n")
	s.forge("factory", "--once").want(exitFrozen)
	s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "2").want(exitDone).says("mine stays", "People pushed to the branch", "out.txt")
	next := s.pull()
	if next.Head == pushed || !s.grew(next.Branch, pushed) {
		t.Fatalf("after the rework: %+v", next.PullRequest)
	}
	s.card("in_review (pull request 1 waits for you")
	s.people.Review(t, "ann", 1, next.Head, work.PullApproved, "thanks")
	s.forge("factory", "--once").want(exitDone)
	s.landed("by ann\nby the agent\n", 2)
}

// Where an account is named for it, what reviewers found and was let stand is
// said at its line, once for each state, and decides nothing.
func TestIssueFindingsAreSaidAtTheirLines(t *testing.T) {
	t.Parallel()
	const minor = `{"verdict":"warn","confidence":0.9,"findings":[{"file":"out.txt","line":2,"end_line":null,"severity":"minor","issue":"two is @many","failure":"f","suggestion":"say one","repro":null}],"need":[],"criteria":[]}`
	s, _ := reviewedHub(t, "plan_then_review", fakemodel.Turn{Text: minor, Repeat: -1})
	s.env = append(s.env, "REVIEW_TOKEN="+hosttest.GitHubOther) // of ann
	conf, err := os.ReadFile(filepath.Join(s.root, ".forge/forge.toml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(".forge/forge.toml", strings.Replace(string(conf), "token_env", "reviewer_token_env = \"REVIEW_TOKEN\"\ntoken_env", 1))
	s.forge("factory", "--once").want(exitFrozen)
	s.forge("factory", "--once").want(exitFrozen)
	look := s.pull()
	if len(look.Threads) != 1 || len(look.Reviews) != 1 || look.Reviews[0].By != "ann" {
		t.Fatalf("said was %+v by %+v", look.Threads, look.Reviews)
	}
	at := look.Threads[0]
	if at.Path != "out.txt" || at.Line != 2 || !strings.Contains(at.Comments[0].Body, "**minor** (architecture, also performance, security, simplicity; 4 findings in one):\n\n> two is") || strings.Contains(at.Comments[0].Body, "@many") {
		t.Errorf("said was %+v", at)
	}
	// Nobody is told of it as of a person's words.
	s.people.Review(t, "ben", 1, look.Head, work.PullChangesRequested, "louder")
	s.forge("factory", "--once").want(exitFrozen)
	if e := s.forge("logs", "1", "--run", s.run(), "--prompt", "--iteration", "2").want(exitDone); strings.Contains(e.stdout, "say one") {
		t.Errorf("the agent was told\n%s", e.stdout)
	}
	s.people.Review(t, "ben", 1, s.pull().Head, work.PullApproved, "fine")
	s.forge("factory", "--once").want(exitDone)
}
