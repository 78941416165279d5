package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/factory"
	"forge/factory/triage"
	"forge/internal/approval"
	"forge/internal/board"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// pageOfHistory is how many lines of an issue's history are shown at once: a
// line may hold two whole descriptions.
const pageOfHistory = 20

func (a *App) issueShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show an issue and what became of it so far", ArgsUsage: "ISSUE",
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "before", Usage: "show the history before line `N`"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := issueArg(c, "")
			if err != nil {
				return err
			}
			if c.Int64("before") < 0 {
				return refusal.New("the oldest line shown has the number to give", "--before %d is no line", c.Int64("before"))
			}
			b, err := a.openBoard(c.Context, false)
			if err != nil {
				return err
			}
			defer b.Close()
			if b.None {
				return refusal.New(`forge issue add "…" puts an issue on it`, "this project has no board")
			}
			return a.showIssue(c.Context, b, id, c.Int64("before"), out)
		},
	}
}

// shownIssue is forge issue show --output json.
type shownIssue struct {
	listedIssue
	NextBranch string            `json:"next_branch,omitempty"` // what its branch will be called when it is claimed
	History    []work.IssueEntry `json:"history"`               // the newest first
	Before     int64             `json:"before,omitempty"`      // for --before; none = that was all
	Waiting    []work.Checkpoint `json:"waiting"`               // questions about it that are open

	now time.Time
}

func (a *App) showIssue(ctx context.Context, b *board.Opened, id, before int64, out string) error {
	i, err := b.Journal.Issue(ctx, b.Project, id)
	if err != nil {
		return issueError(err)
	}
	s := shownIssue{listedIssue: listedIssue{Issue: i}, History: []work.IssueEntry{}}
	if i.Branch == "" {
		s.NextBranch = factory.Branch(i.ID, i.Title)
	}
	history, err := b.Journal.IssueHistory(ctx, b.Project, id, pageOfHistory+1, before)
	if err != nil {
		return err
	}
	if len(history) > pageOfHistory {
		history = history[:pageOfHistory]
		s.Before = history[pageOfHistory-1].Seq
	}
	s.History = append(s.History, history...)
	if s.BlockedBy, err = blockersOf(ctx, b, id); err != nil {
		return err
	}
	if s.Waiting, err = waitingOn(ctx, b, i); err != nil {
		return err
	}
	if s.now = b.Now(); out == "json" {
		return printJSON(a.Stdout, s)
	}
	w, done := a.viewer()
	if _, err := fmt.Fprint(w, s.text()); err != nil {
		return err
	}
	return done()
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

// asks says what is asked, and the commands that answer it.
func (s shownIssue) asks() string {
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

func blockersOf(ctx context.Context, b *board.Opened, id int64) ([]int64, error) {
	all, err := b.Journal.Blockers(ctx, b.Project, []int64{id})
	return append([]int64{}, all[id]...), err
}

// tellIssue says how an issue stands after a change.
func (a *App) tellIssue(ctx context.Context, b *board.Opened, i work.Issue, out string) error {
	blockers, err := blockersOf(ctx, b, i.ID)
	if err != nil {
		return err
	}
	if out == "json" {
		return printJSON(a.Stdout, listedIssue{Issue: i, BlockedBy: blockers})
	}
	body := fmt.Sprintf("#%d %s: %s", i.ID, text.OneLine(i.Title, 60), standingOfIssue(i))
	if len(blockers) > 0 {
		body += ", blocked by " + narrate.Hashes(blockers)
	}
	_, err = fmt.Fprintln(a.Stdout, text.Harmless(body))
	return err
}

func standingOfIssue(i work.Issue) string {
	text := string(i.Column)
	if i.State == work.IssueWaits && strings.HasPrefix(i.Reason, string(i.State)) {
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

func (s shownIssue) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d %s\n\n", s.ID, s.Title)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, text)
		}
	}
	line("Column", standingOfIssue(s.Issue))
	var held []string
	for _, reason := range s.Hold {
		held = append(held, reason+" ("+factory.HeldWords(reason)+")")
	}
	line("Held by", strings.Join(held, ", "))
	line("Blocked by", narrate.Hashes(s.BlockedBy))
	line("Needs", narrate.Hashes(s.Needs))
	if s.Parent != 0 {
		line("Part of", narrate.Hashes([]int64{s.Parent}))
	}
	line("Priority", string(s.Priority))
	line("Labels", strings.Join(s.Labels, ", "))
	line("Level", s.Level)
	line("Run", s.Run)
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
			fmt.Fprintf(&b, "      %s: %s → %s\n", f.Field, quotedShort(f.From), quotedShort(f.To))
		}
	}
	if s.Before != 0 {
		fmt.Fprintf(&b, "  earlier: forge issue show %d --before %d\n", s.ID, s.Before)
	}
	return b.String()
}

func noteText(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

func quotedShort(body string) string {
	if body == "" {
		return "nothing"
	}
	return "“" + text.OneLine(body, 50) + "”"
}

func dateTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }
