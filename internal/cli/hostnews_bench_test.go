package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// BenchmarkReviewToRework is how long it takes from a review that requests
// changes until the agent runs its first command, with forge host watch: told by
// a webhook, and polling each second. The limit is 2 s, and a poll more where
// nothing tells. It is held against a GitHub of Forge's own, and against a real
// Gitea where FORGE_REAL_GITEA names one.
func BenchmarkReviewToRework(b *testing.B) {
	hub := func(t *testing.T) *pullWorld {
		g := hosttest.StartGitHub(t)
		return hubAt(t, g, g.URL)
	}
	tea := func(t *testing.T) *pullWorld {
		g := hosttest.StartCrowd(t)
		repo := g.Repo(t, true)
		store, _ := hosttest.NewStore(t)
		h, err := gitea.New(gitea.Config{URL: g.URL, Owner: "owner", Repo: repo, Token: g.Tokens["forge"], Store: store})
		if err != nil {
			t.Fatal(err)
		}
		return newPullWorld(t, "gitea", g.URL, "owner/"+repo, g.Tokens["forge"], store, h, g.People(repo))
	}
	b.Run("FakeGitHub/Webhook", func(b *testing.B) { benchRework(b, hub, true, false) })
	b.Run("FakeGitHub/Poll", func(b *testing.B) { benchRework(b, hub, false, false) })
	if os.Getenv("FORGE_REAL_GITEA") == "" {
		return
	}
	b.Run("Gitea/Webhook", func(b *testing.B) { benchRework(b, tea, true, true) })
	b.Run("Gitea/Poll", func(b *testing.B) { benchRework(b, tea, false, true) })
}

// reworkRounds is how many reviews a p99 is taken of at least.
const reworkRounds = 20

// benchRework measures rounds of one pull request; of a host that delivers for
// itself the webhook is made there, else it is sent here.
func benchRework(b *testing.B, world func(*testing.T) *pullWorld, told, delivers bool) {
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: b.Name(), F: func(t *testing.T) {
		w := world(t)
		stamps := filepath.Join(t.TempDir(), "stamps")
		w.write(".forge/agent.toml", fmt.Sprintf(`[[step]]
iteration = 1
do = [{write = "out.txt", content = "one\n"}, {print = "<promise>PHASE 01 DONE</promise>"}]
[[step]]
do = [{run = "date +%%s%%N >> %s; date +%%s%%N >> out.txt"}, {print = "Done. <promise>PHASE 01 DONE</promise>"}]
`, stamps))
		w.plan(phase("01", "first", 500))
		const secret = "what both sides know"
		at, limit := freePort(t), 2*time.Second
		w.env = append(w.env, "WEBHOOK_SECRET="+secret)
		if told {
			w.more(fmt.Sprintf("poll_secs = 3600\nwebhook_url = \"http://%s/hooks\"\n", at))
		} else {
			w.more("poll_secs = 1\n")
			limit += time.Second
		}
		if told && delivers {
			w.forge("host", "setup", "--webhook").want(exitDone)
		}
		w.forge("run").want(exitFrozen)
		watch := w.begin("host", "watch", "--listen", at)
		w.eventually("it watches", func() bool { _, err := os.Stat(w.newsFile()); return err == nil })
		see, took, last := w.eyes(), []time.Duration{}, ""
		round := func() {
			w.eventually("it is asked", func() bool {
				_, outcome := see.outcome()
				return outcome == work.RunFrozen && w.pull(1).Head != last
			})
			last = w.pull(1).Head
			begin := time.Now()
			w.people.Review(t, "ann", 1, last, work.PullChangesRequested, fmt.Sprint("round ", len(took)), hosttest.Line{Path: "out.txt", Line: 1, Body: "louder"})
			if told && !delivers {
				d := delivery{secret, fmt.Sprint(len(took)), hookBody("octo/repo", 1, fmt.Sprint("submitted ", len(took)))}
				a, err := http.DefaultClient.Do(d.request(t, http.MethodPost, "http://"+at+"/hooks"))
				if err != nil {
					t.Fatal(err)
				}
				a.Body.Close()
			}
			w.eventually("the agent has begun", func() bool {
				text, _ := os.ReadFile(stamps) // it is made by the first round
				lines := strings.Fields(string(text))
				if len(lines) <= len(took) {
					return false
				}
				nanos, err := strconv.ParseInt(lines[len(took)], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Unix(0, nanos).Sub(begin))
				return true
			})
		}
		for b.Loop() {
			round()
		}
		for len(took) < reworkRounds {
			round()
		}
		watch.stop()
		watch.wait()
		slices.Sort(took)
		p99 := took[(len(took)*99+99)/100-1]
		b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
		b.ReportMetric(p99.Seconds()*1000, "p99-ms")
		b.ReportMetric(limit.Seconds()*1000, "limit-ms")
		b.ReportMetric(float64(p99)/float64(limit), "of-limit")
	}}})
	if !ok {
		b.Fail()
	}
}
