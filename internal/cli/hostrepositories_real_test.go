//go:build real

package cli

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// TestRealGiteaRepositories: the parts of a result are pull requests in two
// repositories of a real Gitea, which land together or not at all.
func TestRealGiteaRepositories(t *testing.T) {
	g := hosttest.StartCrowd(t)
	t.Run("Beside", func(t *testing.T) {
		for name, test := range map[string]func(*partsWorld){
			"Story": (*partsWorld).story, "Closed": (*partsWorld).closedOne, "ClosedAll": (*partsWorld).closedAll, "TargetMoved": (*partsWorld).targetMoved,
			"MergedByHand": (*partsWorld).mergedByHand, "Killed": (*partsWorld).killedOften, "ApprovedHere": (*partsWorld).approvedHere, "Watched": (*partsWorld).watched, "Issue": (*partsWorld).issue,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(newParts(t, g))
			})
		}
	})
}

// partsWorld is a home and a repository api beside it, each with a repository of its
// own on a Gitea.
type partsWorld struct {
	*world
	g     *hosttest.GiteaCrowd
	repos map[string]string // on the host, by repository
	first map[string]string // commits that they began with
}

func newParts(t *testing.T, g *hosttest.GiteaCrowd) *partsWorld {
	w := &partsWorld{world: newWorld(t, done("01")+done("02"), "test -f README.md"), g: g, repos: map[string]string{}, first: map[string]string{}}
	api := filepath.Join(filepath.Dir(w.root), "api")
	w.write(filepath.Join(api, "README.md"), "an api\n")
	w.env = append(w.env, "HOST_TOKEN="+g.Tokens["forge"])
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n[autonomy]\nlevel = \"autonomous\"\n")
	for name, dir := range map[string]string{"home": w.root, "api": api} {
		w.repos[name] = g.Repo(t, false)
		hosted := fmt.Sprintf("[host]\nkind = \"gitea\"\nurl = %q\nrepo = %q\ntoken_env = \"HOST_TOKEN\"\n", g.URL, "owner/"+w.repos[name])
		if name == "home" {
			w.configure("[workspace.repositories.api]\npath = \"../api\"\n"+hosted, "test -f README.md")
		} else {
			w.write(filepath.Join(api, ".forge/forge.toml"), "[verify]\ncommands = [\"test -f README.md\"]\n"+hosted)
			w.git("init", "--quiet", api)
		}
		w.git("-C", dir, "add", ".")
		w.git("-C", dir, "commit", "--quiet", "-m", "begin")
		w.git("-C", dir, "push", "--quiet", strings.Replace(g.URL, "://", "://forge:"+g.Tokens["forge"]+"@", 1)+"/owner/"+w.repos[name]+".git", "main")
		w.first[name] = w.git("-C", dir, "rev-parse", "HEAD")
	}
	one := phase("01", "server", 2)
	one.Repository = "api"
	w.plan(one, phase("02", "client", 2, "01"))
	w.forge("trust", "../api", "--yes").want(exitDone)
	return w
}

// pull is the one pull request of a repository.
func (w *partsWorld) pull(repo string) (p struct {
	hostedPull
	Body string
	URL  string `json:"html_url"`
}) {
	w.t.Helper()
	all := []struct {
		hostedPull
		Body string
		URL  string `json:"html_url"`
	}{}
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodGet, "/repos/owner/"+w.repos[repo]+"/pulls?state=all&limit=50", nil, &all)
	if len(all) != 1 {
		w.t.Fatalf("%s has %d pull requests", repo, len(all))
	}
	return all[0]
}

// says lets ann review the pull request of a repository.
func (w *partsWorld) says(repo string, verdict work.PullVerdict) {
	w.t.Helper()
	p := w.pull(repo)
	w.g.People(w.repos[repo]).Review(w.t, "ann", p.Number, p.Head.Sha, verdict, "as ann sees it")
}

// target are the commits of main on the host, the newest first.
func (w *partsWorld) target(repo string) []string {
	w.t.Helper()
	var all []struct{ Sha string }
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodGet, "/repos/owner/"+w.repos[repo]+"/commits?sha=main&limit=50", nil, &all)
	var out []string
	for _, c := range all {
		out = append(out, c.Sha)
	}
	return out
}

// unmerged says that no target has moved.
func (w *partsWorld) unmerged() {
	w.t.Helper()
	for repo, first := range w.first {
		if at := w.target(repo); at[0] != first {
			w.t.Errorf("%s is at %s, it began at %s", repo, at[0], first)
		}
	}
}

// together says that each target has just the one commit more, on where it began.
func (w *partsWorld) together() {
	w.t.Helper()
	for repo, first := range w.first {
		if at := w.target(repo); len(at) < 2 || at[1] != first || !w.pull(repo).Merged {
			w.t.Errorf("%s is at %v, and began at %s; its pull request: %+v", repo, at, first, w.pull(repo))
		}
	}
	w.forge("status").want(exitDone).says("completed")
}

// half is what is said where one part is merged and the other one is not.
const half = "only some repositories are moved"

// waits says that the run is held, and why.
func (w *partsWorld) waits(e ended, why ...string) {
	w.t.Helper()
	code := exitFrozen
	if slices.Contains(why, half) {
		code = exitInterrupted
	}
	e.want(code)
	w.forge("status").says(why...)
}

// story: both name each other, both have to be approved, and both land.
func (w *partsWorld) story() {
	w.waits(w.forge("run"), "pull request 1 (nobody has approved it yet)", "waits for its pull requests")
	w.unmerged()
	home, api := w.pull("home"), w.pull("api")
	for _, c := range []struct{ body, other string }{{home.Body, api.URL}, {api.Body, home.URL}} {
		if !strings.Contains(c.body, "<"+c.other+">") {
			w.t.Errorf("the text does not link %s:\n%s", c.other, c.body)
		}
	}

	w.says("api", work.PullApproved)
	w.waits(w.forge("resume"), "home is not moved, pull request 1 (nobody has approved it yet)")
	w.unmerged()
	w.says("home", work.PullChangesRequested)
	w.waits(w.forge("resume"), "somebody asks for changes there")
	w.unmerged()
	w.says("home", work.PullApproved)
	w.g.People(w.repos["home"]).Status(w.t, home.Head.Sha, "ci/unit", "failure")
	w.waits(w.forge("resume"), "its checks fail")
	w.unmerged()
	w.g.People(w.repos["home"]).Status(w.t, home.Head.Sha, "ci/unit", "success")

	w.forge("resume").want(exitDone).says("the pull request of each repository was merged", api.URL)
	w.together()
	why := w.forge("why").want(exitDone).stdout
	if first, second := strings.Index(why, "repository api was moved"), strings.Index(why, "repository home was moved"); first < 0 || second < first {
		w.t.Errorf("api is not moved before home:\n%s", why)
	}
}

// watched: whoever watches the host of the home goes on with the run as soon as a pull
// request stands otherwise, in whichever repository, and leaves it alone else.
func (w *partsWorld) watched() {
	w.forge("run").want(exitFrozen)
	events := func() int64 { return w.one("select count(*) from events") }
	before := events()
	for range 2 {
		w.forge("host", "watch", "--once").want(exitDone)
	}
	if now := events(); now != before {
		w.t.Errorf("it is gone on with where nothing changed: %d events, then %d", before, now)
	}
	w.says("api", work.PullApproved)
	w.forge("host", "watch", "--once", "--answer-only").want(exitDone)
	if now := events(); now != before {
		w.t.Error("it is gone on with by who only answers")
	}
	w.forge("host", "watch", "--once").want(exitDone)
	w.unmerged()
	between := events()
	if between == before {
		w.t.Error("an approval is not seen")
	}
	w.forge("host", "watch", "--once").want(exitDone)
	if now := events(); now != between {
		w.t.Errorf("what was seen is news again: %d events, then %d", between, now)
	}
	w.says("home", work.PullApproved)
	w.forge("host", "watch", "--once").want(exitDone)
	w.together()
}

// issue: what an issue of the board came to is proposed in both, waits in review until both
// can be merged, and lands in both.
func (w *partsWorld) issue() {
	one := w.read(".forge/phases.json")
	w.write("draft.json", one)
	w.write("agent.sh", `cat >/dev/null
if [ "$FORGE_RUN" = plan ]; then cp draft.json forge-plan.json; exit 0; fi
echo "$FORGE_PHASE" >"work$FORGE_PHASE.txt"
echo "<promise>PHASE $FORGE_PHASE DONE</promise>"
`)
	w.git("-C", w.root, "add", "draft.json", "agent.sh")
	w.git("-C", w.root, "commit", "--quiet", "-m", "an agent")
	w.git("-C", w.root, "push", "--quiet", strings.Replace(w.g.URL, "://", "://forge:"+w.g.Tokens["forge"]+"@", 1)+"/owner/"+w.repos["home"]+".git", "main")
	w.first["home"] = w.git("-C", w.root, "rev-parse", "HEAD")
	w.write(".forge/forge.toml", strings.ReplaceAll(w.read(".forge/forge.toml"), "[host]\n", "[host]\npoll_secs = 1\n")+
		fmt.Sprintf("[agents.drafter]\nkind = \"exec\"\ncommand = [\"sh\", %q]\n[factory]\ntriage = \"off\"\ndefault_policy = \"full\"\nplan = \"draft\"\n", filepath.Join(w.root, "agent.sh")))
	w.write(".forge/forge.toml", strings.Replace(w.read(".forge/forge.toml"), "use = \"dry\"", "use = \"drafter\"", 1))
	w.forge("issue", "add", "both", "--column", "ready").want(exitDone)
	w.forge("factory", "--once")
	w.forge("issue", "show", "1").want(exitDone).says("in_review", "pull_blocked", "nobody has approved it yet")
	w.unmerged()
	w.says("api", work.PullApproved)
	time.Sleep(2 * time.Second) // as long as the host is not asked
	w.forge("factory", "--once")
	w.unmerged()
	w.says("home", work.PullApproved)
	time.Sleep(2 * time.Second)
	w.forge("factory", "--once").want(exitDone)
	w.forge("issue", "show", "1").want(exitDone).says("Column     done", "landed together in api (main), home (main)")
	for repo, first := range w.first {
		if at := w.target(repo); len(at) < 2 || at[1] != first || !w.pull(repo).Merged {
			w.t.Errorf("%s is at %v, and began at %s", repo, at, first)
		}
	}
}

// closedOne: one that is closed holds both, until it is open again.
func (w *partsWorld) closedOne() {
	w.forge("run").want(exitFrozen)
	w.says("home", work.PullApproved)
	w.says("api", work.PullApproved)
	w.g.People(w.repos["api"]).Close(w.t, w.pull("api").Number)
	w.waits(w.forge("resume"), "api is not moved, pull request 1 (it was closed: reopen it there")
	w.unmerged()
	w.g.People(w.repos["api"]).Reopen(w.t, w.pull("api").Number)
	w.forge("resume").want(exitDone)
	w.together()
}

// targetMoved: the result is proven with what a target holds by now, before anything is
// merged. What is red with that holds all.
func (w *partsWorld) targetMoved() {
	w.forge("run").want(exitFrozen)
	w.says("home", work.PullApproved)
	w.says("api", work.PullApproved)
	files := "/repos/owner/" + w.repos["api"] + "/contents/"
	change := func(method, file, sha string) {
		w.t.Helper()
		w.g.Do(w.t, w.g.Tokens["owner"], method, files+file, map[string]any{"content": "b25lCg==", "message": "other", "branch": "main", "sha": sha}, nil)
	}
	var readme struct{ Sha string }
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodGet, files+"README.md", nil, &readme)
	change(http.MethodDelete, "README.md", readme.Sha)
	w.waits(w.forge("resume"), "merged with what main holds by now, it is not proven")
	if at := w.target("home"); at[0] != w.first["home"] {
		w.t.Errorf("home is at %s", at[0])
	}
	before := w.one("select count(*) from events")
	w.forge("host", "watch", "--once").want(exitDone)
	if now := w.one("select count(*) from events"); now != before {
		w.t.Errorf("what is red with a target that stays is tried at each look: %d events, then %d", before, now)
	}
	change(http.MethodPost, "README.md", "")
	other := w.target("api")
	w.forge("resume").want(exitDone).says("the pull request of each repository was merged")
	for repo, before := range map[string]string{"home": w.first["home"], "api": other[0]} {
		if at := w.target(repo); len(at) < 2 || at[1] != before || !w.pull(repo).Merged {
			w.t.Errorf("%s is at %v, and was at %s", repo, at, before)
		}
	}
}

// closedAll: who closes all gives the result up.
func (w *partsWorld) closedAll() {
	w.forge("run").want(exitFrozen)
	w.g.People(w.repos["home"]).Close(w.t, w.pull("home").Number)
	w.g.People(w.repos["api"]).Close(w.t, w.pull("api").Number)
	w.forge("resume").want(exitDone).says("no repository was moved: every pull request of it was closed")
	for _, repo := range []string{"home", "api"} {
		if p := w.pull(repo); p.Merged {
			w.t.Errorf("%s: %+v", repo, p)
		}
	}
}

// mergedByHand: somebody merges one alone. The other one follows as soon as it can.
func (w *partsWorld) mergedByHand() {
	w.forge("run").want(exitFrozen)
	w.g.People(w.repos["home"]).MergeByHand(w.t, w.pull("home").Number)
	w.waits(w.forge("resume"), half, "api is not moved, pull request 1 (nobody has approved it yet)")
	w.says("api", work.PullApproved)
	w.forge("resume").want(exitDone)
	w.together()
}

// approvedHere: who approved the whole result at a terminal need not do it on the host.
func (w *partsWorld) approvedHere() {
	w.write(".forge/forge.toml", w.read(".forge/forge.toml")+"[autonomy.policy]\ngates.final = \"human\"\n")
	w.forge("run").want(exitFrozen)
	w.forge("approve", w.runs()[0]+".1").want(exitDone)
	w.forge("resume").want(exitDone)
	w.together()
}

// killedOften: Forge is killed with -9 again and again, a few events after it went on.
// No pull request is opened twice, nothing is merged twice or alone.
func (w *partsWorld) killedOften() {
	dice := rand.New(rand.NewPCG(pullSeed(w.t), 7))
	of := &giteaWorld{pullWorld: &pullWorld{world: w.world}}
	first, last, kills, approved := int64(0), int64(0), 0, false
	undisturbed := &giteaWorld{pullWorld: &pullWorld{world: newParts(w.t, w.g).world}}
	undisturbed.killedAt(0, "run", func(seq int64, kind work.EventKind) {
		if last = seq; kind == work.TogetherDecided && first == 0 {
			first = seq
		}
	})
	at := first + dice.Int64N(last-first)
	last = 0
	of.killedAt(at, "run", func(seq int64, _ work.EventKind) { last = max(last, seq) })
	for range 60 {
		died, e := of.killedAt(last+2+dice.Int64N(12), "resume", func(seq int64, _ work.EventKind) { last = max(last, seq) })
		moved := 0
		for repo, first := range w.first {
			if w.target(repo)[0] != first {
				moved++
			}
		}
		if died {
			kills++
		}
		if !approved && moved > 0 {
			w.t.Fatal("something is merged that nobody approved")
		}
		if e.code == exitDone || died && strings.Contains(w.forge("status").stdout, ": completed") {
			w.t.Logf("%d kills", kills)
			w.together()
			return
		}
		if !died && !approved || kills > 5 && !approved {
			w.says("api", work.PullApproved)
			w.says("home", work.PullApproved)
			approved = true
		}
	}
	w.t.Error("the run never ends")
}
