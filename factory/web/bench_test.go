package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// p99 is the time that one in a hundred exceeds.
func p99(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)*99/100]
}

// large is a board of that many issues, put there as a running factory leaves
// them.
func large(tb testing.TB, w *webtest.World, issues int) {
	tb.Helper()
	columns := work.Columns()
	for begin := 0; begin < issues; begin += 500 {
		change := work.BoardChange{Project: "demo"}
		last := map[work.Column]string{}
		for n := begin; n < min(begin+500, issues); n++ {
			column := columns[n%len(columns)]
			if _, known := last[column]; !known {
				var err error
				if last[column], _, err = w.Store.RanksAround(context.Background(), "demo", column, ""); err != nil {
					tb.Fatal(err)
				}
			}
			rank, _ := factory.Between(last[column], "")
			i := work.Issue{Project: "demo", Title: fmt.Sprintf("Issue number %d, which has a title of the usual length", n), Column: column, Rank: rank, Priority: work.PriorityNormal,
				Labels: []string{fmt.Sprint("label-", n%20)}, Needs: []int64{}, Hold: []string{}, Criteria: []work.Criterion{}, Author: "bench", Created: time.Now(), Changed: time.Now()}
			change.Issues = append(change.Issues, work.IssueChange{Issue: i, Low: last[column], Entry: work.IssueEntry{At: time.Now(), By: "bench", Door: "cli", Action: work.IssueAdded, Fields: []work.FieldChange{}}})
			last[column] = rank
		}
		if _, err := w.Store.ChangeBoard(context.Background(), change); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkBoardPage is a board of 10,000 issues, against a bare handler that
// serves the same bytes. "x-of-bare" is to stay below 5.
func BenchmarkBoardPage(b *testing.B) {
	w := webtest.New(b)
	large(b, w, 10_000)
	owner := w.Owner()
	first := owner.Get("/p/demo")
	if first.Status != 200 || strings.Count(first.Body, `class="card`) < 250 {
		b.Fatalf("the board: %d, %d bytes", first.Status, len(first.Body))
	}
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, first.Body) }))
	defer bare.Close()
	ask := func(client *http.Client, address string) time.Duration {
		begin := time.Now()
		res, err := client.Get(address)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || n < int64(len(first.Body))*9/10 {
			b.Fatalf("%d, %d bytes of %d: %v", res.StatusCode, n, len(first.Body), err)
		}
		return time.Since(begin)
	}
	var ours, theirs []time.Duration
	for range 50 { // warm
		ask(owner.Client, w.HTTP.URL+"/p/demo")
		ask(bare.Client(), bare.URL)
	}
	for b.Loop() {
		for range 20 {
			theirs = append(theirs, ask(bare.Client(), bare.URL))
			ours = append(ours, ask(owner.Client, w.HTTP.URL+"/p/demo"))
		}
	}
	b.ReportMetric(float64(p99(ours).Microseconds()), "p99-µs")
	b.ReportMetric(float64(p99(theirs).Microseconds()), "bare-p99-µs")
	b.ReportMetric(float64(p99(ours))/float64(p99(theirs)), "x-of-bare")
	b.ReportMetric(float64(len(first.Body)), "bytes")
}

// BenchmarkMoves moves cards at 200 a second by eight people at once; any answer
// but yes fails it.
func BenchmarkMoves(b *testing.B) {
	w := webtest.New(b)
	large(b, w, 1_000)
	var tokens []string
	for n := range 8 {
		token, err := w.Keys.PutUser(fmt.Sprint("mover ", n), web.RoleOperator, "demo")
		if err != nil {
			b.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	places := []string{"backlog", "ready", "done"}
	var late atomic.Int64
	var mu sync.Mutex
	var times []time.Duration
	n := 0
	for b.Loop() {
		tick := time.NewTicker(5 * time.Millisecond) // 200 a second
		var all sync.WaitGroup
		for range 200 {
			<-tick.C
			n++
			issue, to, token := int64(n%600/3*5+1+n%2), places[n%3], tokens[n%8]
			all.Go(func() {
				begin := time.Now()
				r, _ := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/p/demo/issues/%d/move", w.HTTP.URL, issue), strings.NewReader(url.Values{"column": {to}, "place": {"top"}}.Encode()))
				r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				r.Header.Set("Accept", "application/json")
				r.Header.Set("Authorization", "Bearer "+token)
				res, err := w.HTTP.Client().Do(r)
				if err != nil {
					b.Error(err)
					return
				}
				body, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if res.StatusCode != 200 {
					b.Errorf("moving %d to %s: %d: %s", issue, to, res.StatusCode, body)
				}
				took := time.Since(begin)
				if took > time.Second {
					late.Add(1)
				}
				mu.Lock()
				times = append(times, took)
				mu.Unlock()
			})
		}
		all.Wait()
		tick.Stop()
	}
	b.ReportMetric(float64(p99(times).Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(late.Load()), "over-1s")
}

// BenchmarkListeners has 1,000 pages hear of each move; every one has to.
func BenchmarkListeners(b *testing.B) {
	w := webtest.New(b)
	i := w.Issue("Moved to and fro", work.ColumnBacklog)
	owner := w.Owner()
	token := owner.FormToken()
	owner.Client.Transport = &http.Transport{MaxIdleConnsPerHost: 1100}
	const pages = 1000
	type heard struct {
		line int64
		at   time.Time
	}
	news := make(chan heard, 4*pages)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var ready sync.WaitGroup
	for range pages {
		ready.Add(1)
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.HTTP.URL+"/live?topic=demo/board", nil)
		r.Header.Set("X-Forge-Token", token)
		res, err := owner.Client.Do(r) //nolint:bodyclose // the reader below closes it
		if err != nil {
			b.Fatal(err)
		}
		if res.StatusCode != 200 {
			b.Fatal(res.StatusCode)
		}
		go func() {
			defer res.Body.Close()
			in := bufio.NewReader(res.Body)
			first := true
			for {
				line, err := in.ReadBytes('\n')
				if err != nil {
					return
				}
				if first {
					first = false
					ready.Done()
				}
				if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
					var m struct{ Line int64 }
					if json.Unmarshal(data, &m) == nil {
						news <- heard{m.Line, time.Now()}
					}
				}
			}
		}()
	}
	ready.Wait()
	p, _ := w.Site.Project(context.Background(), "demo")
	columns := []work.Column{work.ColumnReady, work.ColumnBacklog}
	var times []time.Duration
	n := 0
	for b.Loop() {
		begin := time.Now()
		// By another door: the server has to find out.
		if _, err := p.Board.Move(context.Background(), i.ID, columns[n%2], factory.Place{At: factory.Top}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
			b.Fatal(err)
		}
		n++
		for range pages {
			select {
			case h := <-news:
				times = append(times, h.at.Sub(begin))
			case <-time.After(20 * time.Second):
				b.Fatalf("only %d of %d messages came", len(times)%pages, pages)
			}
		}
	}
	b.ReportMetric(float64(p99(times).Microseconds())/1000, "p99-ms")
}
