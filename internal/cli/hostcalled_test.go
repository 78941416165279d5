package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/host"
	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/text"
	"forge/internal/work"
)

// calledScript does what is called for in issue 1.
const calledScript = `[[step]]
phase = "1"
do = [{write = "nil.txt", content = "no nil\n"}, {print = "<promise>ISSUE 1 DONE</promise>"}]
`

const calledCritic = `echo '{"verdict":"warn","confidence":0.9,"findings":[],"summary":["It adds a file."]}'
`

// On the pull request of a person, who may write calls Forge: the change is reviewed
// there, and what is to be mended is done on top of the branch, proposed for it and,
// approved, in it. Whoever may not write calls in vain.
func TestCalledOnAPullRequestOfAPerson(t *testing.T) {
	pace.Slow(t, "a factory, a review and an issue")
	t.Parallel()
	g := hosttest.StartGitHub(t)
	w := newWorld(t, calledScript)
	store, head := w.storeOf()
	g.Seed(t, store, "main", head)
	h, err := github.New(github.Config{URL: g.URL, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken, Store: store})
	check(t, err)
	(&pullWorld{world: w, host: h, people: g.People(), store: store}).called("github", g.URL, "octo/repo", hosttest.GitHubToken, head)
}

func (w *pullWorld) called(kind, url, repo, token, start string) {
	t := w.t
	w.env = append(w.env, "HOST_TOKEN="+token)
	w.write(filepath.Join(w.home, "critic.sh"), calledCritic)
	w.configure(fmt.Sprintf("[factory]\ntriage = \"off\"\n[host]\nkind = %q\nurl = %q\nrepo = %q\ntoken_env = \"HOST_TOKEN\"\npoll_secs = 1\n", kind, url, repo), "test -f README.md")
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), fmt.Sprintf("[sandbox]\nmode = \"off\"\n[host]\ncall_sandbox = \"as_configured\"\n[agents.critic]\nkind = \"exec\"\ncommand = [\"sh\", %q]\n[reviews]\nagent = \"critic\"\n", filepath.Join(w.home, "critic.sh")))
	w.git("add", "-A")
	w.git("commit", "--quiet", "-m", "how it is worked on")
	was := start
	start = strings.TrimSpace(w.git("rev-parse", "HEAD"))
	check(t, w.host.Push(t.Context(), "main", start, was))
	feature := (&hosttest.World{Store: w.store}).Commit(t, start, "by ann\n", map[string]string{"feature.txt": "hers\n"})
	check(t, w.host.Push(t.Context(), "feature", feature, ""))
	pull, err := hosttest.Await(t, func() (work.PullRequest, error) {
		return w.host.OpenPull(t.Context(), work.PullProposal{Marker: "m", Branch: "feature", Base: "main", Title: text.Titled("A feature"), Body: text.Own("Mine.")})
	})
	check(t, err)
	w.people.Rewrite(t, pull.Number, "Mine.") // as a person opens it
	says := func(words string) bool {
		for _, said := range host.OwnWords(w.pull(pull.Number)) {
			if strings.Contains(said, words) {
				return true
			}
		}
		for _, c := range w.pull(pull.Number).Comments {
			if c.Own && strings.Contains(c.Body, words) {
				return true
			}
		}
		return false
	}
	f := w.serve("bot")
	defer func() {
		if t.Failed() {
			for _, c := range w.pull(pull.Number).Comments {
				t.Logf("%s: %s", c.By, c.Body)
			}
		}
	}()
	w.people.Say(t, "eve", pull.Number, "/forge fix it my way")
	last := time.Time{} // what was said before the first look is no news
	w.eventually("a call is heard", func() bool {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			w.people.Say(t, "ann", pull.Number, "/forge explain")
		}
		return says("Nothing is worked on for this pull request")
	})
	w.people.Say(t, "ann", pull.Number, "/forge review")
	w.eventually("the review stands there", func() bool { return says("It adds a file.") })
	w.people.Say(t, "ann", pull.Number, "/forge fix the nil case")
	var result work.PullLook
	w.eventually("the result is proposed for the branch", func() bool {
		for n := pull.Number + 1; n < pull.Number+5; n++ {
			if look := w.pull(n); look.Number == n && look.Base == "feature" {
				result = look
			}
		}
		return result.Number != 0 && says("Its result")
	})
	w.forge("issue", "show", "1").want(exitDone).says("Target     feature", "the nil case")
	if result.State == work.PullOpen {
		w.people.Review(t, "ann", result.Number, result.Head, work.PullApproved, "thanks")
	}
	w.eventually("it is in the branch", func() bool {
		at, err := w.host.Fetch(t.Context(), "feature", "refs/forge/at")
		check(t, err)
		content, _ := w.store.Show(t.Context(), at, "nil.txt")
		return string(content) == "no nil\n" && says("Done")
	})
	if main, err := w.host.Fetch(t.Context(), "main", "refs/forge/main"); err != nil || main != start {
		t.Errorf("main moved to %s, %v", main, err)
	}
	if n := len(w.forge("issue", "list", "--output", "json").want(exitDone).stdout); n == 0 || strings.Contains(w.forge("issue", "list").stdout, "my way") {
		t.Error("somebody was heard who may not write")
	}
	if got := f.metrics(); !strings.Contains(got, `forge_calls_total{end="taken"}`) || strings.Contains(got, `forge_calls_total{end="ignored"} 0`) && strings.Contains(got, `forge_calls_total{end="taken"} 0`) {
		t.Errorf("/metrics:\n%s", got)
	}
	f.run.stop()
	f.run.wait().want(exitDone)
}
