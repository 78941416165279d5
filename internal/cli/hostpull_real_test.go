//go:build real

package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// TestRealGiteaPullRequests drives whole runs and jobs through one real Gitea,
// over HTTP and git.
func TestRealGiteaPullRequests(t *testing.T) {
	g := hosttest.StartCrowd(t)
	t.Run("Beside", func(t *testing.T) {
		for _, s := range []struct {
			name string
			test func(*testing.T)
		}{ // the longest first
			{"Table", func(t *testing.T) { resumeRows(t, g) }},
			{"BadStart", func(t *testing.T) { badStarts(t, g) }},
			{"Killed", func(t *testing.T) { killed(t, g) }},
			{"Travels", func(t *testing.T) { travels(t, g) }},
			{"Reviewers", func(t *testing.T) { reviewers(t, g) }},
			{"Faults", func(t *testing.T) { faulty(t, g) }},
			{"BadMiddle", func(t *testing.T) { badMiddle(t, g) }},
			{"BadBranch", func(t *testing.T) { badBranch(t, g) }},
			{"Story", func(t *testing.T) {
				realPulls(t, g, inThreads(pullScript, "I wrote the second line in capitals.")).hosted(g.URL, "forge").story()
			}},
			{"RedPush", func(t *testing.T) { realPulls(t, g, redScript).hosted(g.URL, "forge").redPush() }},
			{"ByHand", func(t *testing.T) { realPulls(t, g, pullScript).hosted(g.URL, "forge").byHand() }},
		} {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				s.test(t)
			})
		}
	})
	t.Run("Restarted", func(t *testing.T) { restarted(t, g) }) // the others would see it
}

// giteaWorld is a project whose repository is on a real Gitea.
type giteaWorld struct {
	*pullWorld
	g    *hosttest.GiteaCrowd
	repo string
	// Nothing may be merged but the heads that somebody approved, and the pull
	// requests that the policy lets pass.
	approved []string
	auto     []int64
}

// realPulls makes a project and a repository on the server; hosted has to say
// how the one gets to the other.
func realPulls(t *testing.T, g *hosttest.GiteaCrowd, script string) *giteaWorld {
	repo := g.Repo(t, true)
	store, _ := hosttest.NewStore(t)
	h, err := gitea.New(gitea.Config{URL: g.URL, Owner: "owner", Repo: repo, Token: g.Tokens["forge"], Store: store, Transport: g.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return &giteaWorld{
		pullWorld: &pullWorld{world: newWorld(t, script), host: h, people: g.People(repo), store: store},
		g:         g, repo: repo,
	}
}

// hosted names the host, and whose token is used: an account's, or any word.
func (w *giteaWorld) hosted(url, token string) *giteaWorld {
	if of, ok := w.g.Tokens[token]; ok {
		token = of
	}
	w.env = slices.DeleteFunc(w.env, func(kv string) bool { return strings.HasPrefix(kv, "HOST_TOKEN=") })
	w.env = append(w.env, "HOST_TOKEN="+token)
	w.configure(fmt.Sprintf("[autonomy]\nlevel = \"autonomous\"\n[autonomy.policy]\ngates.\"ckpt.phase_transition\" = \"human\"\n[host]\nkind = \"gitea\"\nurl = %q\nrepo = %q\ntoken_env = \"HOST_TOKEN\"\npoll_secs = 1\n", url, "owner/"+w.repo), "test -f README.md")
	w.plan(phase("01", "first", 2), phase("02", "second", 2, "01"))
	return w
}

// hostedPull is a pull request as the host lists it.
type hostedPull struct {
	Number int64
	State  string
	Merged bool
	Head   struct{ Label, Sha string }
	Base   struct{ Ref string }
}

// pulls are all of the repository, the oldest first.
func (w *giteaWorld) pulls() []hostedPull {
	w.t.Helper()
	var all []hostedPull
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodGet, "/repos/owner/"+w.repo+"/pulls?state=all&limit=50&sort=oldest", nil, &all)
	slices.SortFunc(all, func(a, b hostedPull) int { return int(a.Number - b.Number) })
	return all
}

// current is the newest pull request, with the one open question that it shows.
func (w *giteaWorld) current() (work.PullLook, string) {
	w.t.Helper()
	all := w.pulls()
	if len(all) == 0 {
		w.t.Fatal("there is no pull request")
	}
	look, id := w.asked(all[len(all)-1].Number)
	if look.State != work.PullOpen || !strings.Contains(look.Body, "forge approve "+id) {
		w.t.Fatalf("the newest pull request does not show %s: %s, %s", id, look.State, look.Body)
	}
	return look, id
}

// says lets somebody review what is shown.
func (w *giteaWorld) says(who string, look work.PullLook, verdict work.PullVerdict, lines ...hosttest.Line) {
	w.t.Helper()
	if verdict == work.PullApproved {
		w.approved = append(w.approved, look.Head)
	}
	w.people.Review(w.t, who, look.Number, look.Head, verdict, "as "+who+" sees it", lines...)
}

// landed says that a pull request was merged as it was shown, as one commit on
// what its base was, and its branch is gone.
func (w *giteaWorld) landed(was work.PullLook) {
	w.t.Helper()
	is, err := w.host.Look(w.t.Context(), was.Number)
	if err != nil || is.State != work.PullMerged || is.Head != was.Head {
		w.t.Fatalf("pull request %d was to be merged: %+v, %v", was.Number, is.PullRequest, err)
	}
	if at, err := w.host.Head(w.t.Context(), was.Branch); err != nil || at != "" {
		w.t.Errorf("the branch %s is at %q, %v", was.Branch, at, err)
	}
	var c struct{ Parents []struct{ Sha string } }
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodGet, "/repos/owner/"+w.repo+"/git/commits/"+is.MergeCommit, nil, &c)
	if len(c.Parents) != 1 || c.Parents[0].Sha != was.BaseHead {
		w.t.Errorf("%s was merged on %+v, the base was %s", was.Branch, c.Parents, was.BaseHead)
	}
}

// sound is what must hold whatever happened: no two pull requests for a branch,
// and nothing merged that nobody approved.
func (w *giteaWorld) sound() {
	w.t.Helper()
	seen := map[string]int64{}
	for _, p := range w.pulls() {
		if other := seen[p.Head.Label]; other != 0 {
			w.t.Errorf("pull requests %d and %d are both for %s", other, p.Number, p.Head.Label)
		}
		seen[p.Head.Label] = p.Number
		if p.Merged && !slices.Contains(w.approved, p.Head.Sha) && !slices.Contains(w.auto, p.Number) {
			w.t.Errorf("pull request %d was merged at %s, and nobody approved that", p.Number, p.Head.Sha)
		}
	}
}
