package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/internal/config"
	"forge/internal/pullrequest"
	"forge/internal/work"
)

// open is the project's shop in this process, which says what it says to log.
func (s *shopWorld) open(log io.Writer) *shop {
	s.t.Helper()
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: log, Environ: s.env, Dir: s.root, Now: time.Now}
	app.logTo(0)
	sh, err := openShop(s.t.Context(), app.env(), s.root, factory.NewPlaces(1))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(sh.Close)
	return sh
}

// looks reads the terms as a loop does when its last ones are old.
func (s *shop) looks(ctx context.Context) error {
	s.terms.at = time.Time{}
	_, err := s.Terms(ctx)
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
	loop := sh.loop()
	if err := sh.looks(t.Context()); err != nil {
		t.Fatal(err)
	}
	for why, more := range map[string]string{"removed": head, "another repository": other} {
		configure(more)
		if err := sh.looks(t.Context()); err == nil || !strings.Contains(err.Error(), "until it is started again") {
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
		if err := sh.looks(t.Context()); err != nil {
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
		if _, err := anew.loop().Works.Drive(t.Context(), factory.Order{Issue: i, Again: true}); err != nil {
			t.Errorf("%s: it is tried again: %v", why, err)
		}
		p, err := anew.fresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := anew.resultOf(t.Context(), p, i)
		if err != nil {
			t.Fatal(err)
		}
		heard := &overhearing{s: anew, p: p, state: r.State}
		if err := heard.takeAlong(t.Context(), &work.Answer{Status: work.CheckpointChangesRequested}, work.Checkpoint{}); err != nil {
			t.Errorf("%s: an answer takes along: %v", why, err)
		}
		s.card("in_review", "its pull request 1 is on github "+s.proxy.URL+"/octo/repo")
		notLanded(why)
	}
	configure(there)
	s.forge("issue", "run", "1").want(exitDone)
	s.landed("one\ntwo\n", 2)
}

func TestWhatIsAnotherHost(t *testing.T) {
	at := func(url, repo, token string, poll time.Duration) config.CodeHost {
		return config.CodeHost{Kind: "gitea", Named: true, URL: url, Owner: "o", Repo: repo, Token: config.Secret{Name: "T", Value: token}, Poll: poll}
	}
	none, local := config.CodeHost{}, config.CodeHost{Kind: "local", Named: true}
	a := at("https://a.invalid", "r", "1", time.Minute)
	for _, c := range []struct {
		why      string
		was, now config.CodeHost
		same     bool
	}{
		{"as it was", a, a, true},
		{"another token", a, at("https://a.invalid", "r", "2", time.Minute), true},
		{"another interval", a, at("https://a.invalid", "r", "1", time.Hour), true},
		{"another server", a, at("https://b.invalid", "r", "1", time.Minute), false},
		{"another repository", a, at("https://a.invalid", "s", "1", time.Minute), false},
		{"removed", a, none, false}, {"made local", a, local, false},
		{"added", none, a, false}, {"added to local", local, a, false}, {"local is named", none, local, true},
	} {
		s := &shop{host: c.was}
		err := s.sameHost(c.now)
		if (err == nil) != c.same {
			t.Errorf("%s: %v", c.why, err)
		}
		if err != nil && (!pullrequest.PullTrouble(err).Passes || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v is not one line that passes", c.why, err)
		}
	}
	for place, elsewhere := range map[string]bool{pullrequest.HostPlace(a).String(): false, "": true, "github https://a.invalid/o/r": true} {
		s := &shop{host: a}
		if got := s.elsewhere(work.Issue{Pull: &work.IssuePull{Number: 1, Host: place}}); got != elsewhere {
			t.Errorf("a pull request on %q is elsewhere: %v", place, got)
		}
	}
	if (&shop{host: a}).elsewhere(work.Issue{}) {
		t.Error("what has no pull request is elsewhere")
	}
}
