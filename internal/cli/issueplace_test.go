package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/internal/work"
	"forge/internal/worker"
)

// open is the project's worker in this process, which says what it says to log.
func (s *issueWorld) open(log io.Writer) *worker.Worker {
	s.t.Helper()
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: log, Environ: s.env, Dir: s.root, Now: time.Now}
	app.logTo(0)
	sh, err := worker.Open(s.t.Context(), app.env(), s.root, factory.NewConcurrency(1))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(sh.Close)
	return sh
}

// looks reads the terms as a loop does when its last ones are old.
func looks(ctx context.Context, s *worker.Worker) error {
	was := s.Now
	s.Now = func() time.Time { return was().Add(time.Minute) }
	_, err := s.Admission(ctx)
	return err
}

// Whatever becomes of [host] while a factory runs or rests: what people look at
// there lands nowhere else, and a number of a pull request is asked of no other
// repository.
func TestTheHostIsChangedBelowAFactory(t *testing.T) {
	t.Parallel()
	s := issueHub(t, "plan_then_review")
	const head = "[factory]\ntriage = \"off\"\n"
	there := head + "[host]\nkind = \"github\"\nurl = \"" + s.proxy.URL + "\"\nrepo = \"octo/repo\"\ntoken_env = \"HOST_TOKEN\"\n"
	other := strings.Replace(there, "octo/repo", "octo/other", 1)
	configure := func(more string) { s.configure(more, "test -f README.md", "test ! -f red.txt") }
	notLanded := func(why string) {
		t.Helper()
		if s.git("branch", "--list", "forge/landed") != "" {
			t.Fatalf("%s: it landed without its host", why)
		}
		for _, asked := range s.proxy.Seen() {
			if strings.Contains(asked, "octo/other/pulls/1") || strings.Contains(asked, "octo/other/issues/1") {
				t.Errorf("%s: another repository is asked for its pull request: %s", why, asked)
			}
		}
		if look := s.pull(); look.State != work.PullOpen {
			t.Fatalf("%s: %+v", why, look.PullRequest)
		}
	}
	s.forge("factory", "--once").want(exitFrozen)
	s.forge("approve", s.question(), "--resume").want(exitDone)

	// While it runs: it holds everything, and says so, until it is as it was.
	log := &safeBuffer{}
	sh := s.open(log)
	loop := sh.Loop()
	if err := looks(t.Context(), sh); err != nil {
		t.Fatal(err)
	}
	for why, more := range map[string]string{"removed": head, "another repository": other} {
		configure(more)
		if err := looks(t.Context(), sh); err == nil || !strings.Contains(err.Error(), "until it is started again") {
			t.Errorf("%s: the terms are %v", why, err)
		}
		i, err := sh.Journal.Issue(t.Context(), sh.Project, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := loop.Works.Land(t.Context(), i, "", nil)
		if err != nil || got.Commit != "" || !got.Waits || got.Until.IsZero() || !strings.Contains(got.Reason, "until it is started again") {
			t.Errorf("%s: landed %+v, %v", why, got, err)
		}
		notLanded(why)
	}
	// What is no other place is taken up when it can be, and said once.
	configure(there + "poll_secs = 77\n")
	for range 3 {
		if err := looks(t.Context(), sh); err != nil {
			t.Errorf("another interval: %v", err)
		}
	}
	if n := strings.Count(log.String(), "[host] was changed"); n != 1 {
		t.Errorf("said %d times:\n%s", n, log)
	}

	// Started again, the result is held all the same, until its host is named.
	for why, more := range map[string]string{"removed": head, "another repository": other} {
		configure(more)
		s.forge("factory", "--once")
		anew := s.open(io.Discard)
		i, err := anew.Journal.Issue(t.Context(), anew.Project, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := anew.Loop().Works.Drive(t.Context(), factory.Order{Issue: i, Again: true}); err != nil {
			t.Errorf("%s: it is tried again: %v", why, err)
		}
		s.card("in_review", "its pull request 1 is on github "+s.proxy.URL+"/octo/repo")
		notLanded(why)
	}
	configure(there)
	s.forge("issue", "run", "1").want(exitDone)
	s.landed("one\ntwo\n", 2)
}
