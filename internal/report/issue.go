package report

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"forge/factory"
	"forge/factory/triage"
	"forge/internal/approval"
	"forge/internal/board"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// Query says which part of a board is wanted.
type Query struct {
	Columns       []work.Column
	Label, Search string // only issues with it; "" = any
	Limit         int    // issues of each column
	After         int64  // the issue below which it goes on; 0 = from the top
}

// ListedIssue is an issue without its description.
type ListedIssue struct {
	work.Issue
	BlockedBy []int64 `json:"blocked_by"` // what it needs that is not done
}

// ListedColumn is one column of forge issue list --output json.
type ListedColumn struct {
	Column work.Column   `json:"column"`
	Count  int           `json:"count"` // of all issues in it, whatever the filters
	Issues []ListedIssue `json:"issues"`
	Next   int64         `json:"next,omitempty"` // for --after; none = that was all
}

// ListedBoard is forge issue list --output json.
type ListedBoard struct {
	Project string         `json:"project"` // "" = there is no board yet
	Columns []ListedColumn `json:"columns"`
}

// Issue is forge issue show --output json.
type Issue struct {
	ListedIssue
	NextBranch string            `json:"next_branch,omitempty"` // what its branch will be called when it is claimed
	History    []work.IssueEntry `json:"history"`               // the newest first
	Before     int64             `json:"before,omitempty"`      // for --before; none = that was all
	Waiting    []work.Checkpoint `json:"waiting"`               // questions about it that are open
	ByLabel    []string          `json:"by_label,omitempty"`    // what its labels say of how it is worked on

	run    *orchestrator.State // nil where it has none, or unread says why
	unread error
	took   string
	now    time.Time
}

// waitingOn are the open questions about an issue: of its run, or, before it has
// one, of its triage.
func waitingOn(ctx context.Context, b *board.Opened, i work.Issue) ([]work.Checkpoint, error) {
	run := i.Run
	for n := 1; i.Run == ""; n++ {
		id := triage.ThreadID(i.ID, n)
		if _, err := b.Journal.RunOf(ctx, id); errors.Is(err, journal.ErrNoRun) {
			break
		} else if err != nil {
			return nil, err
		}
		run = id
	}
	open := []work.Checkpoint{}
	if run == "" {
		return open, nil
	}
	found, err := approval.Checkpoints(ctx, b.Checkout, journal.CheckpointFilter{Run: run, Status: work.CheckpointPending})
	// A run may be named before it is opened.
	if errors.Is(err, journal.ErrNoRun) {
		err = nil
	}
	return append(open, found...), err
}

// BlockersOf are the issues that one needs and that are not done.
func BlockersOf(ctx context.Context, b *board.Opened, id int64) ([]int64, error) {
	all, err := b.Journal.Blockers(ctx, b.Project, []int64{id})
	return append([]int64{}, all[id]...), err
}

// readPage reads one page of a column.
func readPage(ctx context.Context, b *board.Opened, q Query, into *ListedColumn) error {
	after := ""
	if q.After != 0 {
		last, err := b.Journal.Issue(ctx, b.Project, q.After)
		if err != nil {
			return err
		}
		if last.Column != into.Column {
			return refusal.New("forge issue list --column "+string(into.Column), "issue %d stands in %s now", last.ID, last.Column)
		}
		after = last.Rank
	}
	filter := work.IssueFilter{Project: b.Project, Column: into.Column, Label: q.Label, Search: q.Search}
	found, err := b.Journal.Issues(ctx, filter, q.Limit+1, after)
	if err != nil {
		return err
	}
	if len(found) > q.Limit {
		found = found[:q.Limit]
		into.Next = found[q.Limit-1].ID
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
		into.Issues = append(into.Issues, ListedIssue{Issue: i, BlockedBy: append([]int64{}, blockers[i.ID]...)})
	}
	return nil
}

// Text is the board for a person, with the way to what of q is not shown. Words
// of others in it may still act on a terminal.
func (l ListedBoard) Text(q Query) string {
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
	case shown == 0 && (q.Label != "" || q.Search != ""):
		b.WriteString("\nNo issue has what you look for.\n")
	}
	return b.String()
}

// again are the flags that the next page needs as well.
func (q Query) again() string {
	text := ""
	for _, f := range [][2]string{{"label", q.Label}, {"search", q.Search}} {
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
func (i ListedIssue) about() string {
	var parts []string
	switch {
	case i.State == "":
	case i.WaitsByReason():
		parts = append(parts, text.OneLine(i.Reason, 60))
	case i.Reason != "":
		parts = append(parts, string(i.State)+": "+text.OneLine(i.Reason, 60))
	default:
		parts = append(parts, string(i.State))
	}
	if len(i.Hold) > 0 {
		var whys []string
		for _, reason := range i.Hold {
			whys = append(whys, factory.HeldWords(reason))
		}
		parts = append(parts, "waits: "+strings.Join(whys, ", "))
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

// asks says what is asked, and the commands that answer it.
func (s Issue) asks() string {
	if len(s.Waiting) == 0 {
		return ""
	}
	text := "\nIt waits for you:\n"
	for _, cp := range s.Waiting {
		text += fmt.Sprintf("  %s  %s%s\n", cp.ID, cp.Question, untilWhen(cp, s.now))
		text += fmt.Sprintf("      look:   forge show %s\n      answer: forge approve %[1]s | forge request-changes %[1]s -m TEXT | forge reject %[1]s\n", cp.ID)
	}
	return text
}

// wayOut are the commands that help where nothing works on the issue any more.
func (s Issue) wayOut() string {
	if s.State != work.IssueFailed && s.State != work.IssueCancelled {
		return ""
	}
	text := fmt.Sprintf("\nAgain:     forge issue retry %d\n", s.ID)
	if s.Run != "" {
		text += fmt.Sprintf("Why:       forge why --run %s\nSaid:      forge logs --run %[1]s\nWork:      forge status %[1]s   (how far it came, and how to keep it)\n", s.Run)
	}
	return text
}

// Text is the issue for a person. Words of others in it may still act on a
// terminal.
func (s Issue) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s\n\n", s.ID, s.Title)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, text)
		}
	}
	line("Column", IssueStanding(s.Issue))
	var held []string
	for _, reason := range s.Hold {
		held = append(held, factory.HeldWords(reason)+" ("+reason+")")
	}
	line("Waits", strings.Join(held, ", "))
	line("Blocked by", narrate.Hashes(s.BlockedBy))
	line("Needs", narrate.Hashes(s.Needs))
	if s.Parent != 0 {
		line("Part of", narrate.Hashes([]int64{s.Parent}))
	}
	line("Priority", string(s.Priority))
	line("Labels", strings.Join(s.Labels, ", "))
	for _, said := range s.ByLabel {
		line("By label", said)
	}
	line("Level", s.Level)
	line("Target", s.Target)
	line("Run", s.Run)
	switch {
	case s.unread != nil:
		line("Cost", "unknown: "+s.unread.Error())
	case s.run != nil:
		line("Cost", narrate.MoneyText(s.run.Ledger))
		line("Time", s.took)
		line("Diff", narrate.DiffCommand(s.run))
	}
	if s.After != "" {
		line("After", s.After+", whose result it goes on from")
	}
	if s.Pull != nil {
		line("Pull", strings.TrimSpace(fmt.Sprintf("%d %s", s.Pull.Number, s.Pull.URL)))
	}
	if s.Branch != "" {
		line("Branch", s.Branch)
	} else {
		line("Branch", s.NextBranch+" (when it is claimed)")
	}
	line("Added", fmt.Sprintf("%s by %s", dateTime(s.Created), s.Author))
	line("Version", fmt.Sprintf("%d, of %s", s.Version, dateTime(s.Changed)))
	b.WriteString(s.asks())
	b.WriteString(s.wayOut())
	if s.Description != "" {
		b.WriteString("\n" + text.Indent(strings.TrimRight(s.Description, "\n")) + "\n")
	}
	if len(s.Criteria) > 0 {
		b.WriteString("\nThe result is held against:\n")
		for _, c := range s.Criteria {
			fmt.Fprintf(&b, "  %-4s %s\n", c.ID, c.Text)
		}
	}
	b.WriteString("\nHistory:\n")
	for _, e := range s.History {
		fmt.Fprintf(&b, "  %s  %s %s%s\n", dateTime(e.At), e.By, e.Action, noteText(e.Note))
		for _, f := range e.Fields {
			most := 50
			if f.Field == "hold" {
				// Of two lists that begin alike the rest is what says something.
				f.From, f.To, most = factory.HeldList(f.From), factory.HeldList(f.To), 1000
			}
			fmt.Fprintf(&b, "      %s: %s → %s\n", f.Field, quoted(f.From, most), quoted(f.To, most))
		}
	}
	if s.Before != 0 {
		fmt.Fprintf(&b, "  earlier: forge issue show %d --before %d\n", s.ID, s.Before)
	}
	return b.String()
}

// IssueStanding says in words where an issue stands.
func IssueStanding(i work.Issue) string {
	text := string(i.Column)
	if i.WaitsByReason() {
		return text + ", " + i.Reason
	}
	if i.State != "" {
		text += ", " + string(i.State)
	}
	if i.Reason != "" {
		text += " (" + i.Reason + ")"
	}
	return text
}

func noteText(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

func quoted(body string, most int) string {
	if body == "" {
		return "nothing"
	}
	return "“" + text.OneLine(body, most) + "”"
}

func dateTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// pageOfHistory is how many lines of an issue's history are shown at once: a
// line may hold two whole descriptions.
const pageOfHistory = 20

// ReadIssue reads an issue with its history before a line of it, 0 = the
// newest.
func ReadIssue(ctx context.Context, b *board.Opened, id, before int64) (Issue, error) {
	i, err := b.Journal.Issue(ctx, b.Project, id)
	s := Issue{ListedIssue: ListedIssue{Issue: i}, History: []work.IssueEntry{}, now: b.Now()}
	if err != nil {
		return s, err
	}
	if len(i.Labels) > 0 {
		cfg, err := project.ConfigNow(b.Env, b.Base.RepoRoot)
		if err != nil {
			s.ByLabel = []string{"what its labels say cannot be read: " + text.OneLine(err.Error(), 500)}
		} else {
			s.ByLabel = cfg.LabelsSay(i.Labels)
		}
	}
	if i.Branch == "" {
		s.NextBranch = factory.Branch(i.ID, i.Title)
	}
	history, err := b.Journal.IssueHistory(ctx, b.Project, id, pageOfHistory+1, before)
	if err != nil {
		return s, err
	}
	if len(history) > pageOfHistory {
		history = history[:pageOfHistory]
		s.Before = history[pageOfHistory-1].Seq
	}
	s.History = append(s.History, history...)
	if s.BlockedBy, err = BlockersOf(ctx, b, id); err != nil {
		return s, err
	}
	if s.Waiting, err = waitingOn(ctx, b, i); err != nil || i.Run == "" {
		return s, err
	}
	row, err := b.Journal.RunOf(ctx, i.Run)
	if errors.Is(err, journal.ErrNoRun) || err == nil && row.Events == 0 { // it is named before it is opened
		return s, nil
	}
	if err != nil {
		return s, err
	}
	// The issue is shown also where its run cannot be read.
	if row, s.run, s.unread = b.StandOf(ctx, i.Run); s.unread != nil {
		return s, nil
	}
	end := s.now
	if !project.Driven(row) {
		end = row.Updated
	}
	s.took = narrate.TookText(s.run, end)
	return s, nil
}

// ReadBoard reads the part of a board that q asks for.
func ReadBoard(ctx context.Context, b *board.Opened, q Query) (ListedBoard, error) {
	list := ListedBoard{Project: b.Project, Columns: []ListedColumn{}}
	counts := map[work.Column]int{}
	if !b.None {
		var err error
		if counts, err = b.Journal.IssueCounts(ctx, b.Project); err != nil {
			return list, err
		}
	}
	for _, column := range q.Columns {
		one := ListedColumn{Column: column, Count: counts[column], Issues: []ListedIssue{}}
		if b.None && q.After != 0 {
			return list, refusal.New("forge issue list", "there is no issue %d", q.After)
		}
		if !b.None {
			if err := readPage(ctx, b, q, &one); err != nil {
				return list, err
			}
		}
		list.Columns = append(list.Columns, one)
	}
	return list, nil
}
