package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/factory/triage"
	"forge/internal/approval"
	"forge/internal/handoff"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) approveCommand() *cli.Command {
	return a.answerCommand("approve", "answer a checkpoint with yes", work.CheckpointApproved)
}

func (a *App) requestChangesCommand() *cli.Command {
	return a.answerCommand("request-changes", "answer a checkpoint with what has to change", work.CheckpointChangesRequested)
}

func (a *App) rejectCommand() *cli.Command {
	return a.answerCommand("reject", "answer a checkpoint with no", work.CheckpointRejected)
}

func (a *App) answerCommand(name, usage string, status work.CheckpointStatus) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "ID",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "your `COMMENT`; - reads it from standard input"},
			&cli.StringFlag{Name: "choice", Usage: "which of the checkpoint's choices is meant (forge show `NAME`s them)"},
			&cli.IntFlag{Name: "revision", Usage: "refuse when something else than revision `N` is asked about"},
			&cli.StringSliceFlag{Name: "file", Usage: "say it of `PATH` alone (repeatable); the whole is answered afterwards"},
			levelFlag(),
			&cli.BoolFlag{Name: "resume", Usage: "go on with the run here and now, unless a process drives it"},
			remoteFlag("answer it at the remote `NAME`, where the run is"),
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
			if c.IsSet("revision") && c.Int("revision") < 1 {
				return refusal.New("forge show names it", "--revision %d is not a revision", c.Int("revision"))
			}
			comment, err := a.comment(c.String("message"))
			if err != nil {
				return err
			}
			if files := c.StringSlice("file"); len(files) > 0 {
				for _, flag := range []string{"choice", "resume", "level", "remote"} {
					if c.IsSet(flag) {
						return refusal.New("answer the whole afterwards", "--%s does not go with --file, which answers nothing yet", flag)
					}
				}
				return a.judgeFiles(c.Context, fileAnswer{id: id, revision: c.Int("revision"), paths: files, status: status, comment: comment, output: out})
			}
			if c.IsSet("remote") {
				if err := a.fetchCheckpoint(c.Context, id, c.String("remote")); err != nil {
					return err
				}
			}
			return a.answer(c.Context, work.Answer{
				Checkpoint: id, Revision: c.Int("revision"), Status: status, Comment: comment, Choice: c.String("choice"),
				By: a.env().User(), Door: "cli", At: a.Now(),
			}, answerOptions{level: c.String("level"), resume: c.Bool("resume"), output: out})
		},
	}
}

// comment is the text of -m, where "-" stands for standard input.
func (a *App) comment(text string) (string, error) {
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(a.Stdin, approval.MaxComment*4))
		if err != nil {
			return "", fmt.Errorf("read the comment from standard input: %w", err)
		}
		text = strings.TrimSpace(string(read))
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > approval.MaxComment {
		return "", refusal.New(fmt.Sprintf("keep it under %d bytes, or put it into a file of the project and name that", approval.MaxComment), "the comment has %d bytes", len(text))
	}
	return text, nil
}

// answered is what the answering commands print with --output json.
type answered struct {
	Error   string `json:"error,omitempty"` // code of a refused answer
	Message string `json:"message,omitempty"`
	// Checkpoint is the record as it is now, also when the answer was refused;
	// null when there is none.
	Checkpoint *work.Checkpoint `json:"checkpoint"`
	Driven     bool             `json:"driven"` // a process goes on with the run by itself
	Next       string           `json:"next,omitempty"`
}

// answerOptions are what an answer is given with.
type answerOptions struct {
	level  string // "" = as it is
	resume bool
	output string
}

func (a *App) answer(ctx context.Context, ans work.Answer, o answerOptions) error {
	if o.resume {
		if err := a.checkGoingOn(ctx, ans.Checkpoint, o.level); err != nil {
			return err
		}
	}
	cp, row, err := a.giveAnswer(ctx, ans, o.level)
	if err != nil {
		if code := approval.Code(err); code != "" && o.output == "json" {
			out := answered{Error: code, Message: err.Error()}
			if cp.ID != "" {
				out.Checkpoint = &cp
			}
			err = errors.Join(err, printJSON(a.Stdout, out))
		}
		return err
	}
	out := answered{Checkpoint: &cp, Driven: project.Driven(row), Next: "forge resume " + row.ID}
	if out.Driven {
		out.Next = "the process that drives the run goes on by itself"
	}
	if row.Issue != 0 && !out.Driven && !o.resume {
		out.Next = fmt.Sprintf("the factory goes on with it; forge issue run %d does it here", row.Issue)
	}
	if triage.IsThread(row.ID) && !out.Driven {
		out.Next, o.resume = fmt.Sprintf("the factory goes on with it; forge issue run %d does it here", row.Issue), false
	}
	if o.resume && !out.Driven {
		// The stream of the resumed run holds the answer too.
		a.log.Info("answered", "checkpoint", cp.ID, "status", cp.Status)
		return a.resume(ctx, runOptions{run: row.ID, output: o.output})
	}
	if o.output == "json" {
		return printJSON(a.Stdout, out)
	}
	next := "Next: " + out.Next
	if out.Driven {
		next = "Next: " + out.Next + fmt.Sprintf(" (process %d)", row.Owner.PID)
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: %s by %s\n%s\n", cp.ID, strings.ReplaceAll(string(cp.Status), "_", " "), text.Harmless(cp.AnsweredBy), next)
	return err
}

// giveAnswer writes the answer, with a change of level if one is named, and
// says where its run stands. The checkpoint is returned as it is now, also when
// the answer is refused.
func (a *App) giveAnswer(ctx context.Context, ans work.Answer, level string) (work.Checkpoint, journal.RunRow, error) {
	none := journal.RunRow{}
	p, err := a.openJournal(ctx)
	if err != nil {
		return work.Checkpoint{}, none, err
	}
	defer p.Close()
	if err := p.CheckKey(); err != nil {
		return work.Checkpoint{}, none, err
	}
	return approval.Give(ctx, p.Checkout, ans, approval.Options{Level: level, Away: handoff.AnswerAway})
}
