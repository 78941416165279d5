package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show where a run stands", ArgsUsage: "[RUN]",
		Flags: []cli.Flag{
			runFlag(),
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "list all runs of this project"},
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "go on until no process drives the run any more; not on a terminal: print what changes"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			run, err := runOf(c)
			if err != nil {
				return err
			}
			if c.Bool("all") {
				if run != "" {
					return refusal.New("leave one out", "--all and a run do not go together")
				}
				if c.Bool("watch") {
					return refusal.New("leave one out", "--all and --watch do not go together")
				}
				return a.statusAll(c.Context, out)
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			if c.Bool("watch") {
				return p.watchStatus(c.Context, run, out)
			}
			return p.status(c.Context, run, out)
		},
	}
}

func runFlag() cli.Flag {
	return &cli.StringFlag{Name: "run", Usage: "the run `ID`, or how it begins; the newest when not given"}
}

// runOf is the run named by --run or as the only argument; "" = the newest.
func runOf(c *cli.Context) (string, error) {
	run, err := oneArg(c.Args().Slice(), "run")
	if err == nil && run != "" && c.IsSet("run") && run != c.String("run") {
		err = refusal.New("name one", "two runs, %q and %q", c.String("run"), run)
	}
	if run == "" {
		run = c.String("run")
	}
	return run, err
}

// runStatus is forge status --output json.
type runStatus struct {
	orchestrator.RunStanding
	Phases      []phaseStatus                     `json:"phases"`
	Checkpoints []orchestrator.CheckpointStanding `json:"checkpoints"`
	Job         *orchestrator.JobStanding         `json:"job,omitempty"`
}

type phaseStatus struct {
	orchestrator.PhaseStanding
	Pull *pullrequest.Shown `json:"pull,omitempty"`
}

func statusOfRun(r journal.RunRow, s *orchestrator.State, asked []work.Checkpoint) runStatus {
	out := runStatus{
		RunStanding: s.Standing(project.RunState(r), r.Outcome), Phases: []phaseStatus{}, Checkpoints: []orchestrator.CheckpointStanding{}, Job: s.JobStanding(),
	}
	for _, n := range s.Order {
		p := s.Phases[n]
		out.Phases = append(out.Phases, phaseStatus{PhaseStanding: p.Standing(), Pull: pullrequest.ShownOf(p)})
	}
	for _, cp := range asked {
		out.Checkpoints = append(out.Checkpoints, orchestrator.StandingOf(cp))
	}
	return out
}

func (p *checkout) status(ctx context.Context, run, output string) error {
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return err
	}
	asked, err := approval.Checkpoints(ctx, p.Checkout, journal.CheckpointFilter{Run: row.ID})
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(p.app.Stdout, statusOfRun(row, s, asked))
	}
	body := p.statusText(row, s, asked, phaseTable(s), p.landed(ctx, s))
	if run == "" {
		more, err := p.otherUnfinished(ctx, row.ID)
		if err != nil {
			return err
		}
		body += more
	}
	_, err = fmt.Fprint(p.app.Stdout, text.Harmless(body))
	return err
}

func (p *checkout) statusText(r journal.RunRow, s *orchestrator.State, asked []work.Checkpoint, phases, landed string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", narrate.NounOf(s), r.ID, standingOf(r, s))
	branch := s.Spec.Base.Branch
	switch {
	case s.Spec.Issue != nil && branch == "":
		branch = "of the target" // nobody's HEAD
	case branch == "":
		branch = "detached HEAD"
	}
	rows := [][]string{
		{"  policy", cmp.Or(s.Spec.Policy.Preset, "of its own")},
		{"  branch", s.Spec.Branch},
		{"  base", text.Short(s.Spec.Base.Commit) + " (" + branch + ")"},
		{"  began", r.Created.Local().Format(time.DateTime) + " (" + p.Ago(r.Created) + "), last event " + p.Ago(r.Updated)},
		{"  cost", narrate.MoneyText(s.Ledger)},
	}
	now := p.Now()
	if !project.Driven(r) {
		now = r.Updated
	}
	if took := narrate.TookText(s, now); took != "" {
		rows = append(rows, []string{"  time", took})
	}
	if s.Job != nil {
		rows = append([][]string{{"  job", text.OneLine(s.Spec.Job.Description, 100)}}, rows...)
	}
	if r.Owner != nil && project.Driven(r) {
		rows = append(rows, []string{"  driver", fmt.Sprintf("process %d on %s", r.Owner.PID, r.Owner.Host)})
	}
	b.WriteString(text.Table(rows[0], rows[1:]))
	b.WriteString("\n" + phases + narrate.ProofsText(s) + pullsText(s))
	if result := narrate.ResultText(s, landed) + narrate.AssumedText(s); result != "" {
		b.WriteString("\n" + result)
	}
	if kept := narrate.KeptText(s, ""); kept != "" {
		b.WriteString("\n" + kept)
	}
	b.WriteString(nextSteps(r, s, asked, p.Now()))
	return b.String()
}

// landed is what the board says of an issue whose result is done.
func (p *checkout) landed(ctx context.Context, s *orchestrator.State) string {
	if s.Spec.Issue == nil {
		return ""
	}
	all, err := p.Journal.Projects(ctx)
	if err != nil {
		return ""
	}
	for _, project := range all {
		i, err := p.Journal.Issue(ctx, project.ID, s.Spec.Issue.ID)
		if err == nil && project.Root == p.Base.RepoRoot && i.Run == s.Run && i.Column == work.ColumnDone {
			return standingOfIssue(i)
		}
	}
	return ""
}

// standingOf says in words where a run stands.
func standingOf(r journal.RunRow, s *orchestrator.State) string {
	why := ""
	if s.Reason != "" && r.Outcome != "" {
		why = " (" + s.Reason + ")"
	}
	switch state := project.RunState(r); state {
	case project.StateFinished:
		return string(r.Outcome) + why
	case string(work.RunInterrupted):
		if r.Outcome == "" {
			return "interrupted (its process died)"
		}
		return state + why
	case string(work.RunFrozen):
		return "frozen, it waits for a person"
	default:
		return state + why
	}
}

// untilWhen says how long a question may be answered, where it has an end.
func untilWhen(cp work.Checkpoint, now time.Time) string {
	if cp.ExpiresAt == nil {
		return ""
	}
	if _, over := gates.Expire(cp, now); over || cp.Status == work.CheckpointExpired {
		return "  (its time is over: held; forge resume " + cp.Run + " asks again)"
	}
	return "  (until " + cp.ExpiresAt.Local().Format("2006-01-02 15:04") + ")"
}

// nextSteps says what a person can do now.
func nextSteps(r journal.RunRow, s *orchestrator.State, asked []work.Checkpoint, now time.Time) string {
	var b strings.Builder
	open, answered := 0, 0
	for _, cp := range asked {
		switch {
		case cp.Status == work.CheckpointPending:
			if open++; open == 1 {
				b.WriteString("\nIt waits for you:\n")
			}
			fmt.Fprintf(&b, "  %s  %s%s\n%s", cp.ID, cp.Question, untilWhen(cp, now), narrate.ChoicesText(cp))
		case s.Open[cp.ID] != nil:
			answered++
			fmt.Fprintf(&b, "\nAnswered: %s %s by %s\n", cp.ID, cp.Status, cp.AnsweredBy)
		}
	}
	if open > 0 {
		b.WriteString("Look:   forge show ID\nAnswer: forge approve ID | forge request-changes ID -m TEXT | forge reject ID\n")
	}
	switch state := project.RunState(r); {
	case state == project.StateRunning:
		fmt.Fprintf(&b, "\nFollow: forge logs --follow --run %s\n", r.ID)
	case state == string(work.RunFrozen) && answered == 0:
		fmt.Fprintf(&b, "Then:   forge resume %s\n", r.ID)
	case state != project.StateFinished:
		fmt.Fprintf(&b, "\nGo on:  forge resume %s\n", r.ID)
	case r.Outcome == work.RunFailed:
		fmt.Fprintf(&b, "\nAgain:  forge resume %s   (opens the next attempt of what failed)\n", r.ID)
	}
	fmt.Fprintf(&b, "Why:    forge why --run %s\n", r.ID)
	return b.String()
}

// otherUnfinished names the runs beside id that something is left to do in.
func (p *checkout) otherUnfinished(ctx context.Context, id string) (string, error) {
	rows, err := p.Journal.Unfinished(ctx)
	text := ""
	for _, r := range rows {
		if r.ID != id && r.Issue == 0 {
			text += fmt.Sprintf("\nAlso unfinished: run %s (%s): forge status --run %s\n", r.ID, project.RunState(r), r.ID)
		}
	}
	return text, err
}

// runSummary is one run of forge status --all --output json.
type runSummary struct {
	Run     string          `json:"run"`
	State   string          `json:"state"`
	Outcome work.RunOutcome `json:"outcome,omitempty"`
	Created time.Time       `json:"created"`
	Updated time.Time       `json:"updated"`
	Branch  string          `json:"branch,omitempty"` // of the result, once delivered
	CostUSD *float64        `json:"cost_usd"`         // null = unknown
}

func (a *App) statusAll(ctx context.Context, output string) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	list := []runSummary{}
	if ok, err := p.OpenStore(ctx, false); err != nil {
		return err
	} else if ok {
		rows, err := runs.WithoutTriage(p.Journal.Runs(ctx))
		if err != nil {
			return err
		}
		for _, r := range rows {
			list = append(list, runSummary{Run: r.ID, State: project.RunState(r), Outcome: r.Outcome, Created: r.Created.UTC(), Updated: r.Updated.UTC(), Branch: r.Branch, CostUSD: r.CostUSD})
		}
	}
	if output == "json" {
		return printJSON(a.Stdout, map[string]any{"runs": list})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "This project has no runs: forge run starts one.")
		return err
	}
	var rows [][]string
	for _, r := range list {
		state, cost := r.State, "unknown"
		if state == project.StateFinished {
			state = string(r.Outcome)
		}
		if r.CostUSD != nil {
			cost = fmt.Sprintf("%.4f", *r.CostUSD)
		}
		rows = append(rows, []string{r.Run, r.Created.Local().Format(time.DateTime), a.env().Ago(r.Updated), state, cost, r.Branch})
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(text.Table([]string{"RUN", "BEGAN", "LAST EVENT", "STATE", "USD", "RESULT"}, rows)))
	return err
}
