package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/board"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// pageOfIssues is how many issues of a column are shown when no limit is given.
const pageOfIssues = 20

// issueQuery are the flags of issue list.
type issueQuery struct {
	columns       []work.Column
	label, search string
	limit         int
	after         int64 // 0 = from the top
	output        string
}

func (a *App) issueListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "show the board, column by column",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "column", Usage: "only `COLUMN`"},
			&cli.StringFlag{Name: "label", Usage: "only issues with label `WORD`"},
			&cli.StringFlag{Name: "search", Usage: "only issues with `TEXT` in title or description"},
			&cli.IntFlag{Name: "limit", Usage: fmt.Sprintf("up to `N` issues of each column, at most %d", journal.MaxIssuePage-1), Value: pageOfIssues},
			&cli.StringFlag{Name: "after", Usage: "go on below `ISSUE`; with --column"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			q, err := issueQueryOf(c)
			if err != nil {
				return err
			}
			return a.listIssues(c.Context, q)
		},
	}
}

func issueQueryOf(c *cli.Context) (q issueQuery, err error) {
	q = issueQuery{columns: work.Columns(), label: c.String("label"), search: c.String("search"), limit: c.Int("limit")}
	if q.output, err = outputOf(c, "text", "json"); err != nil {
		return q, err
	}
	if c.Args().Present() {
		return q, refusal.New("forge issue show ISSUE shows one", "forge issue list takes no arguments, got %q", c.Args().First())
	}
	if q.limit < 1 || q.limit >= journal.MaxIssuePage {
		return q, refusal.New(fmt.Sprintf("use 1 to %d", journal.MaxIssuePage-1), "--limit %d is no length of a page", q.limit)
	}
	if len(q.search) > work.MaxIssueTitle {
		return q, refusal.New("look for fewer words", "--search has %d bytes, more than %d", len(q.search), work.MaxIssueTitle)
	}
	if c.IsSet("column") {
		column, err := columnOf(c.String("column"))
		if err != nil {
			return q, err
		}
		q.columns = []work.Column{column}
	}
	if c.IsSet("after") {
		if !c.IsSet("column") {
			return q, refusal.New("forge issue list --column ready --after 12", "--after goes with --column")
		}
		q.after, err = issueNumber(c.String("after"), "--after 12")
	}
	return q, err
}

// listedColumn is one column of forge issue list --output json.
type listedColumn struct {
	Column work.Column   `json:"column"`
	Count  int           `json:"count"` // of all issues in it, whatever the filters
	Issues []listedIssue `json:"issues"`
	Next   int64         `json:"next,omitempty"` // for --after; none = that was all
}

// listedIssue is an issue without its description.
type listedIssue struct {
	work.Issue
	BlockedBy []int64 `json:"blocked_by"` // what it needs that is not done
}

// listedBoard is forge issue list --output json.
type listedBoard struct {
	Project string         `json:"project"` // "" = there is no board yet
	Columns []listedColumn `json:"columns"`
}

func (a *App) listIssues(ctx context.Context, q issueQuery) error {
	b, err := a.openBoard(ctx, false)
	if err != nil {
		return err
	}
	defer b.Close()
	list := listedBoard{Project: b.Project, Columns: []listedColumn{}}
	counts := map[work.Column]int{}
	if !b.None {
		if counts, err = b.Journal.IssueCounts(ctx, b.Project); err != nil {
			return err
		}
	}
	for _, column := range q.columns {
		one := listedColumn{Column: column, Count: counts[column], Issues: []listedIssue{}}
		if b.None && q.after != 0 {
			return refusal.New("forge issue list", "there is no issue %d", q.after)
		}
		if !b.None {
			if err := readPage(ctx, b, q, &one); err != nil {
				return issueError(err)
			}
		}
		list.Columns = append(list.Columns, one)
	}
	if q.output == "json" {
		return printJSON(a.Stdout, list)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(list.text(q)))
	return err
}

// readPage reads one page of a column.
func readPage(ctx context.Context, b *board.Opened, q issueQuery, into *listedColumn) error {
	after := ""
	if q.after != 0 {
		last, err := b.Journal.Issue(ctx, b.Project, q.after)
		if err != nil {
			return err
		}
		if last.Column != into.Column {
			return refusal.New("forge issue list --column "+string(into.Column), "issue %d stands in %s now", last.ID, last.Column)
		}
		after = last.Rank
	}
	filter := work.IssueFilter{Project: b.Project, Column: into.Column, Label: q.label, Search: q.search}
	found, err := b.Journal.Issues(ctx, filter, q.limit+1, after)
	if err != nil {
		return err
	}
	if len(found) > q.limit {
		found = found[:q.limit]
		into.Next = found[q.limit-1].ID
	}
	var ids []int64
	for _, i := range found {
		ids = append(ids, i.ID)
	}
	blockers, err := b.Journal.Blockers(ctx, b.Project, ids)
	if err != nil {
		return err
	}
	for _, i := range found {
		into.Issues = append(into.Issues, listedIssue{Issue: i, BlockedBy: append([]int64{}, blockers[i.ID]...)})
	}
	return nil
}

func (l listedBoard) text(q issueQuery) string {
	var b strings.Builder
	shown, all := 0, 0
	for n, c := range l.Columns {
		if n > 0 {
			b.WriteString("\n")
		}
		all, shown = all+c.Count, shown+len(c.Issues)
		fmt.Fprintf(&b, "%s (%d)\n", strings.ToUpper(strings.ReplaceAll(string(c.Column), "_", " ")), c.Count)
		rows := make([][]string, 0, len(c.Issues))
		for _, i := range c.Issues {
			rows = append(rows, []string{fmt.Sprintf("  #%d", i.ID), priorityMark(i.Priority), text.OneLine(i.Title, 60), i.about()})
		}
		if len(rows) > 0 {
			b.WriteString(text.Table(rows[0], rows[1:]))
		}
		if c.Next != 0 {
			fmt.Fprintf(&b, "  more: forge issue list --column %s --after %d%s\n", c.Column, c.Next, q.again())
		}
	}
	switch {
	case all == 0 && len(l.Columns) == len(work.Columns()):
		b.WriteString("\nThe board is empty: forge issue add \"…\" puts an issue on it.\n")
	case shown == 0 && (q.label != "" || q.search != ""):
		b.WriteString("\nNo issue has what you look for.\n")
	}
	return b.String()
}

// again are the flags that the next page needs as well.
func (q issueQuery) again() string {
	text := ""
	for _, f := range [][2]string{{"label", q.label}, {"search", q.search}} {
		if f[1] != "" {
			text += fmt.Sprintf(" --%s '%s'", f[0], strings.ReplaceAll(f[1], "'", `'\''`))
		}
	}
	return text
}

func priorityMark(p work.Priority) string {
	if p == work.PriorityNormal {
		return ""
	}
	return string(p)
}

// about is what a card says under its title.
func (i listedIssue) about() string {
	var parts []string
	if i.State != "" {
		body := string(i.State)
		if i.Reason != "" {
			body += ": " + text.OneLine(i.Reason, 60)
		}
		parts = append(parts, body)
	}
	if len(i.Hold) > 0 {
		parts = append(parts, "held: "+strings.Join(i.Hold, ", "))
	}
	if i.Parent != 0 {
		parts = append(parts, "part of "+narrate.Hashes([]int64{i.Parent}))
	}
	if len(i.BlockedBy) > 0 {
		parts = append(parts, "blocked by "+narrate.Hashes(i.BlockedBy))
	}
	if len(i.Labels) > 0 {
		parts = append(parts, "["+strings.Join(i.Labels, ", ")+"]")
	}
	return strings.Join(parts, "  ")
}
