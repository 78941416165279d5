package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forge/factory"
	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/hostwatch"
	"forge/internal/pullrequest"
	"forge/internal/work"
	"forge/internal/worker"
)

// heldThere watches runs and finished issues that people approved and that the host
// does not let be merged: however many there are, a poll costs one request and a
// look at one of them, seldom when nothing changes for long, and none is
// forgotten. What ends the waiting is no news on the host.
func (w *pullWorld) heldThere(t *testing.T, g *hosttest.GitHub, first work.PullLook) {
	for n := int64(1); n <= idleRuns; n++ {
		g.People().Review(t, "ann", n, first.Head, work.PullApproved, "")
	}
	g.Pass(time.Hour)
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now}
	app.logTo(0)
	b, err := app.openBoard(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	change, last := work.BoardChange{Project: b.Project}, ""
	for n := int64(1); n <= idleRuns; n++ {
		rank, _ := factory.Between(last, "")
		change.Issues = append(change.Issues, work.IssueChange{Low: last, Issue: work.Issue{
			Project: b.Project, Title: "waits", Priority: work.PriorityNormal, Column: work.ColumnInReview, Rank: rank, State: work.IssueWaits,
			Run: fmt.Sprint("i", n), Branch: fmt.Sprint("waits-", n), Pull: &work.IssuePull{Number: n, Host: "github " + g.URL + "/octo/repo"},
			Created: time.Now(), Changed: time.Now(),
		}, Entry: work.IssueEntry{At: time.Now(), Action: work.IssueAdded, By: "test", Door: "cli"}})
		last = rank
	}
	if _, err := b.Journal.ChangeBoard(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	p, err := app.openProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Journal = b.Journal
	at, err := pullrequest.Settings(p.Checkout)
	if err != nil {
		t.Fatal(err)
	}
	seen := &requests{next: &http.Transport{DisableKeepAlives: true}}
	h, err := github.New(github.Config{URL: g.URL, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken, Transport: seen})
	if err != nil {
		t.Fatal(err)
	}
	watch := hostwatch.New(p.Checkout, h, *at)
	watch.Every = 30 * time.Second
	s := &worker.Worker{Opened: b, Poke: make(chan struct{}, 1)}
	var mu sync.Mutex
	news := map[int64]bool{} // issues of which the loop was told
	watch.AddResults(hostwatch.Results{Project: b.Project, Stands: func(q hostwatch.Question, look work.PullLook) {
		s.StandsNow(q, look)
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-s.Poke:
			news[q.Issue.ID] = true
		default:
		}
	}})
	answered := func() (n int) {
		rows, err := b.Journal.Runs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			in, err := b.Journal.Inbox(t.Context(), r.ID)
			if err != nil {
				t.Fatal(err)
			}
			n += len(in)
		}
		return n
	}
	told := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(news)
	}

	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		watch.Loop(ctx, &hostwatch.Hooks{Env: app.env()}, func(bool) {})
	}()
	defer func() {
		cancel()
		<-over
	}()
	time.Sleep(time.Second)
	synctest.Wait()
	seen.take()
	mu.Lock()
	clear(news) // what is seen first
	mu.Unlock()
	// poll is which pull requests are looked at with the next poll.
	poll := func() map[string]int {
		t.Helper()
		time.Sleep(watch.Every)
		synctest.Wait()
		all := seen.take()
		looked := map[string]int{}
		for n, r := range all {
			if number, of := cutPull(r); of {
				looked[number]++
			} else if isList := r.URL.Path == "/repos/octo/repo/pulls" && r.Header.Get("If-None-Match") != ""; isList != (n == 0) {
				t.Fatalf("the requests of a poll: %s", paths(all))
			}
		}
		if len(looked) > 1 {
			t.Fatalf("with one poll it looks at several: %s", paths(all))
		}
		return looked
	}
	const both = 2 * idleRuns
	times, looks := map[string]int{}, 0
	for n := range 4 * hostwatch.MostTurns {
		for number := range poll() {
			times[number]++
			if n >= 3*hostwatch.MostTurns {
				looks++
			}
		}
	}
	if len(times) != idleRuns || looks < both/2 || looks > both+both/2 {
		t.Errorf("it looked at %v, and %d times in the last %d polls", times, looks, hostwatch.MostTurns)
	}
	if answered() != 0 || told() != 0 {
		t.Errorf("%d answers, news of %d issues, and nothing happened", answered(), told())
	}
	g.People().Status(t, first.Head, "ci", "success")
	for range hostwatch.MostTurns + both {
		poll()
	}
	if answered() != idleRuns || told() != idleRuns {
		t.Errorf("%d answers, news of %d issues, want %d", answered(), told(), idleRuns)
	}
	for range 5 {
		if looked := poll(); len(looked) > 0 {
			t.Errorf("it still looks at %v", looked)
		}
	}
}
