package journal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// boardOf makes a board of n issues, all in ready, each with a long
// description and every third one needing the one before.
func boardOf(b *testing.B, n int) *Store {
	b.Helper()
	ctx := context.Background()
	s := openIn(b, b.TempDir(), unsynced)
	if err := s.PutProject(ctx, work.BoardProject{ID: "p", Root: "/p", Created: testTime}); err != nil {
		b.Fatal(err)
	}
	long := strings.Repeat("A sentence of a description. ", 100)
	entry := work.IssueEntry{At: testTime, By: "someone", Door: "cli", Action: work.IssueAdded, Fields: []work.FieldChange{}}
	low, graph := "", int64(0)
	for i := range n {
		issue := work.Issue{
			Project: "p", Title: fmt.Sprint("issue ", i), Description: long, Priority: work.PriorityNormal, Column: work.ColumnReady,
			Rank: fmt.Sprintf("%05dz", i), Criteria: []work.Criterion{{ID: "c1", Text: "it holds"}}, Labels: []string{"bug", fmt.Sprint("l", i%10)},
			Needs: []int64{}, Hold: []string{}, Author: "someone", Created: testTime, Changed: testTime,
		}
		c := work.BoardChange{Project: "p", Issues: []work.IssueChange{{Issue: issue, Low: low, Entry: entry}}}
		if i%3 == 2 {
			revision := graph
			c.Issues[0].Issue.Needs, c.Graph = []int64{int64(i)}, &revision
			graph++
		}
		if _, err := s.ChangeBoard(ctx, c); err != nil {
			b.Fatal(err)
		}
		low = issue.Rank
	}
	return s
}

// BenchmarkBoardPage compares one page of a column in the middle of a board of
// 10,000 issues, with what blocks its issues, with the bare query of its rows,
// alternating.
func BenchmarkBoardPage(b *testing.B) {
	const page = 50
	ctx := context.Background()
	s := boardOf(b, 10_000)
	var ours, floor []time.Duration
	for b.Loop() {
		start := time.Now()
		rows, err := s.readers.QueryContext(ctx, `SELECT id, rank, record FROM issues WHERE project = 1 AND col = 'ready' AND rank > '05000z' ORDER BY rank LIMIT 50`)
		if err != nil {
			b.Fatal(err)
		}
		scanned := 0
		for rows.Next() {
			var id int64
			var rank, record string
			if err := rows.Scan(&id, &rank, &record); err != nil {
				b.Fatal(err)
			}
			scanned++
		}
		if err := rows.Err(); err != nil || scanned != page {
			b.Fatalf("scanned %d rows, %v", scanned, err)
		}
		floor = append(floor, time.Since(start))

		start = time.Now()
		list, err := s.Issues(ctx, work.IssueFilter{Project: "p", Column: work.ColumnReady}, page, "05000z")
		if err != nil || len(list) != page {
			b.Fatalf("%d issues, %v", len(list), err)
		}
		var ids []int64
		for _, i := range list {
			ids = append(ids, i.ID)
		}
		if blocked, err := s.Blockers(ctx, "p", ids); err != nil || len(blocked) < page/3 {
			b.Fatalf("%d blocked, %v", len(blocked), err)
		}
		ours = append(ours, time.Since(start))
	}
	b.ReportMetric(float64(median(ours))/1e3, "µs/page")
	b.ReportMetric(float64(median(floor))/1e3, "µs/query")
	b.ReportMetric(float64(median(ours))/float64(median(floor)), "ratio")
}
