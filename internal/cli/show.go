package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"forge/factory/triage"
	"forge/gates"
	"forge/internal/approval"
	"forge/internal/jobs"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show what a checkpoint asks, and what is judged", ArgsUsage: "ID",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "stat", Usage: "list the changed files without the changes"},
			remoteFlag("look at what the remote `NAME` has, without taking it over"),
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := checkpointArg(c)
			if err != nil {
				return err
			}
			p, done, err := a.openLook(c, runOfCheckpoint(id))
			if err != nil {
				return err
			}
			defer done()
			cp, err := findCheckpoint(c.Context, p.Checkout, id)
			if err != nil {
				return refused(err, cp)
			}
			s, err := showCheckpoint(c.Context, p.Checkout, cp, c.Bool("stat"))
			if err != nil {
				return err
			}
			if out == "json" {
				return printJSON(a.Stdout, s)
			}
			return p.showText(s)
		},
	}
}

// shownCheckpoint is forge show --output json: the record, and what is judged
// as it was when the question was asked.
type shownCheckpoint struct {
	work.Checkpoint
	Name     string            `json:"name,omitempty"` // of the phase
	Level    string            `json:"level"`          // the policy's preset
	Who      string            `json:"who"`            // may answer
	From     string            `json:"from,omitempty"` // commit that Judged is compared with
	Judged   string            `json:"judged,omitempty"`
	Files    []work.FileChange `json:"files"`
	Diff     string            `json:"diff"`
	Evidence evidenceShown     `json:"evidence"`
	wordsShown
	// Papers are a job's documents as they are judged; null outside of a job.
	Papers *jobs.Folder `json:"papers,omitempty"`

	// Triage is the proposal that is judged; null outside of triage.
	Triage *triageShown `json:"triage,omitempty"`
	// Pull is where it is looked at, too; null without a code host.
	Pull *pullrequest.Shown `json:"pull,omitempty"`

	over bool // its time is over, and it takes no answer
}

// evidenceShown is what is known about the proof of what is judged.
type evidenceShown struct {
	Verify    *work.VerifyFinishedData `json:"verify"`    // the last one before the question; null = none
	Protected []string                 `json:"protected"` // protected files that the phase touched
	Gone      []string                 `json:"gone"`      // test files of the base that are missing
	// Proofs says of each done phase what its "done" rests on, where the run
	// as a whole is judged.
	Proofs map[string]work.Proof `json:"proofs,omitempty"`
	// Records are the last proofs by phase, Doubts what is in doubt about them.
	Records map[string]work.ProofRecord `json:"records,omitempty"`
	Doubts  []work.Doubt                `json:"doubts,omitempty"`
}

func showCheckpoint(ctx context.Context, p *project.Checkout, cp work.Checkpoint, stat bool) (shownCheckpoint, error) {
	if triage.IsThread(cp.Run) {
		return showThread(ctx, p, cp)
	}
	cp, err := keptVerdicts(ctx, p, cp)
	if err != nil {
		return shownCheckpoint{Checkpoint: cp}, err
	}
	out := shownCheckpoint{Checkpoint: cp, Files: []work.FileChange{}, Evidence: evidenceShown{Protected: []string{}, Gone: []string{}}}
	s, err := askedBy(ctx, p, cp, &out.Evidence, &out.wordsShown)
	if err != nil {
		return out, err
	}
	_, out.over = gates.Expire(cp, p.Now())
	if out.Pull, err = pullrequest.ShownAt(ctx, p, cp); err != nil {
		return out, err
	}
	out.Level, out.Who = s.Spec.Policy.Preset, gates.WhoAnswers(cp)
	switch ph := s.Phases[cp.Phase]; {
	case ph != nil:
		out.Name, out.From, out.Judged = ph.Plan.Name, ph.Base, approval.JudgedCommit(ph, cp)
		out.Evidence.Protected = append(out.Evidence.Protected, ph.Evidence...)
		out.Evidence.Gone = append(out.Evidence.Gone, ph.Gone...)
		out.Evidence.prove(cp.Phase, ph)
		out.Evidence.Doubts = ph.Record.Doubts
		out.stand(ph)
		if s.Job != nil && slices.Contains(cp.Points, string(gates.PointFinal)) {
			out.From = s.Spec.Job.Start // the job's work as a whole
		}
	case cp.Kind != orchestrator.PointBaseline:
		out.From, out.Judged = s.Spec.Base.Commit, s.Head
		out.Evidence.Proofs = map[string]work.Proof{}
		for _, n := range s.Order {
			ph := s.Phases[n]
			if ph.Outcome == work.PhaseDone {
				out.Evidence.Proofs[n] = ph.Proof
			}
			out.Evidence.prove(n, ph)
		}
		out.Evidence.Doubts = s.Doubts
	}
	if out.From == out.Judged {
		return out, nil
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return out, err
	}
	if s.Job != nil && s.Phases[cp.Phase] != nil {
		read, err := jobs.ReadFolder(ctx, repo, out.Judged)
		if err != nil {
			return out, fmt.Errorf("read the job's documents: %w", err)
		}
		out.Papers = &read
	}
	changes, err := repo.Changes(ctx, out.From, out.Judged)
	if err != nil {
		return out, fmt.Errorf("list what is judged: %w", err)
	}
	out.Files = append(out.Files, changes...)
	if !stat {
		if out.Diff, err = repo.Diff(ctx, out.From, out.Judged); err != nil {
			return out, fmt.Errorf("show what is judged: %w", err)
		}
	}
	return out, nil
}

// askedBy is the run as it was when cp was opened, with the last verify before,
// and what was said.
func askedBy(ctx context.Context, p *project.Checkout, cp work.Checkpoint, ev *evidenceShown, words *wordsShown) (*orchestrator.State, error) {
	evs, err := p.Journal.Events(ctx, cp.Run, 0)
	if err != nil {
		return nil, err
	}
	s, err := p.BeginRun(ctx, cp.Run, evs)
	if err != nil {
		return nil, err
	}
	said := map[string]string{} // by phase, where the run as a whole is judged
	for _, e := range evs {
		if err := orchestrator.Apply(s, e); err != nil {
			return nil, err
		}
		switch {
		case cp.Phase == "" && e.Kind == work.IterationFinished:
			var d work.IterationFinishedData
			if err := work.Decode(e, &d); err != nil {
				return nil, err
			}
			said[e.Phase] = d.Message
		case cp.Phase != "" && e.Phase == cp.Phase:
			if err := words.hear(e); err != nil {
				return nil, err
			}
		}
		switch {
		case e.Kind == work.VerifyFinished && (e.Phase == cp.Phase || cp.Phase == ""):
			var d work.VerifyFinishedData
			if err := work.Decode(e, &d); err != nil {
				return nil, err
			}
			ev.Verify = &d
		case e.Kind == work.CheckpointOpened && s.Open[cp.ID] != nil:
			if cp.Phase == "" {
				words.Summary = saidInAll(s, said)
			}
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: run %s does not say that checkpoint %s was opened", journal.ErrBroken, cp.Run, cp.ID)
}

func (p *checkout) showText(s shownCheckpoint) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n\n", s.ID, s.Question)
	phase := s.Phase
	if phase == "" {
		phase = "the run as a whole"
	} else {
		phase += " " + s.Name
	}
	rows := [][]string{
		{"  status", statusLine(s.Checkpoint)}, {"  run", s.Run}, {"  phase", phase},
		{"  gate", strings.Join(s.Points, ", ")},
		{"  revision", fmt.Sprintf("%d, content %s", s.Revision, text.Short(s.Hash))},
		{"  policy", cmp.Or(s.Level, "of its own") + ", version " + text.Short(s.Policy)},
		{"  who", s.Who},
		{"  opened", s.OpenedAt.Local().Format(time.DateTime) + " (" + p.Ago(s.OpenedAt) + ")"},
	}
	if s.ExpiresAt != nil {
		end := s.ExpiresAt.Local().Format(time.DateTime)
		if _, over := gates.Expire(s.Checkpoint, p.Now()); over {
			end += "; its time is over: it is held, and forge resume " + s.Run + " asks again"
		}
		rows = append(rows, []string{"  expires", end})
	}
	if line := pullLine(s.Pull); line != "" {
		rows = append(rows, []string{"  pull request", line})
		if s.Pull.News != "" {
			rows = append(rows, []string{"  news", s.Pull.News})
		}
	}
	b.WriteString(text.Table(rows[0], rows[1:]))
	if s.Comment != "" {
		b.WriteString("\nComment:\n" + text.Indent(strings.TrimSpace(s.Comment)) + "\n")
	}
	if s.Facts != "" {
		b.WriteString("\nFacts:\n" + text.Indent(strings.TrimSpace(s.Facts)) + "\n")
	}
	if s.Papers != nil {
		b.WriteString(folderText(*s.Papers))
	}
	b.WriteString(s.wordsShown.text(gates.Point(s.Kind) == gates.PointFindings))
	b.WriteString(s.Evidence.text())
	b.WriteString(s.changes())
	b.WriteString(verdictsText(s.Verdicts))
	b.WriteString(s.Triage.text())
	b.WriteString(s.ways())
	if _, err := fmt.Fprint(p.app.Stdout, text.Harmless(b.String())); err != nil || s.Diff == "" {
		return err
	}
	if _, err := fmt.Fprintln(p.app.Stdout); err != nil {
		return err
	}
	return p.app.printPatch(s.Diff)
}

func statusLine(cp work.Checkpoint) string {
	text := strings.ReplaceAll(string(cp.Status), "_", " ")
	if cp.AnsweredAt != nil {
		text += fmt.Sprintf(" by %s (%s) at %s", cp.AnsweredBy, cp.Door, cp.AnsweredAt.Local().Format(time.DateTime))
	}
	if cp.Choice != "" {
		text += ", choice " + cp.Choice
	}
	return text
}

func (e evidenceShown) text() string {
	var b strings.Builder
	if v := e.Verify; v != nil {
		word := "passed"
		if !v.OK {
			word = "FAILED: " + v.Problem
		}
		fmt.Fprintf(&b, "  verify on the %s tree: %s (%s)\n", v.On, word, v.Command)
	}
	for _, n := range slices.Sorted(maps.Keys(e.Proofs)) {
		if _, known := e.Records[n]; !known {
			fmt.Fprintf(&b, "  phase %s: %s\n", n, e.Proofs[n])
		}
	}
	for _, n := range slices.Sorted(maps.Keys(e.Records)) {
		b.WriteString(narrate.RecordText(n, e.Records[n]))
	}
	if len(e.Protected) > 0 {
		fmt.Fprintf(&b, "  protected files it touched: %s\n", strings.Join(e.Protected, ", "))
	}
	if len(e.Gone) > 0 {
		fmt.Fprintf(&b, "  tests of the base that are gone: %s\n", strings.Join(e.Gone, ", "))
	}
	if b.Len() == 0 {
		return narrate.DoubtsText(e.Doubts)
	}
	return narrate.DoubtsText(e.Doubts) + "\nEvidence:\n" + b.String()
}

func (s shownCheckpoint) changes() string {
	if len(s.Files) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nChanges: %s..%s, %d file(s)\n", text.Short(s.From), text.Short(s.Judged), len(s.Files))
	const most = 50
	for i, f := range s.Files {
		if i == most {
			fmt.Fprintf(&b, "  … and %d more\n", len(s.Files)-most)
			break
		}
		fmt.Fprintf(&b, "  %s %s\n", f.Status, f.Path)
	}
	return b.String()
}

// ways are the commands that answer it, while it can be answered.
func (s shownCheckpoint) ways() string {
	if s.Status != work.CheckpointPending || s.over {
		return ""
	}
	var rows [][]string
	if len(s.Choices) < 2 { // aborting is always one
		reason := ""
		if s.ReasonDue {
			reason = " -m REASON"
		}
		rows = [][]string{{"  forge approve " + s.ID + reason, ""}, {"  forge request-changes " + s.ID + " -m TEXT", ""}, {"  forge reject " + s.ID, ""}}
	}
	for _, c := range s.Choices {
		verb, comment := "approve", ""
		switch c.Answer {
		case work.CheckpointRejected:
			verb = "reject"
		case work.CheckpointChangesRequested:
			verb, comment = "request-changes", " -m TEXT"
		}
		rows = append(rows, []string{fmt.Sprintf("  forge %s %s --choice %s%s", verb, s.ID, c.Name, comment), c.Label})
	}
	return "\nAnswer:\n" + text.Table(rows[0], rows[1:])
}
