package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/factory"
	"forge/internal/board"
	"forge/internal/issueform"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

func (a *App) issueEditCommand() *cli.Command {
	edits := append(issueTextFlags(),
		&cli.StringFlag{Name: "title", Usage: "call it `TITLE`"},
		&cli.GenericFlag{Name: "no-label", Usage: "take label `WORD` away; may be repeated", Value: &words{}},
		&cli.GenericFlag{Name: "no-need", Usage: "wait for `ISSUE` no more; may be repeated", Value: &words{}},
		&cli.GenericFlag{Name: "no-criterion", Usage: "take criterion `ID` away; may be repeated", Value: &words{}})
	return &cli.Command{
		Name: "edit", Usage: "change what an issue says, by flags, or without any in $VISUAL or $EDITOR", ArgsUsage: "ISSUE",
		Flags: append(append([]cli.Flag{}, edits...),
			&cli.Int64Flag{Name: "if-version", Usage: "change nothing when the issue is not at version `N`"}, outputFlag("text", "json")),
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := issueArg(c, "")
			if err != nil {
				return err
			}
			version := c.Int64("if-version")
			if version < 0 || version == 0 && c.IsSet("if-version") {
				return refusal.New("forge issue show tells it", "--if-version %d is not a version", version)
			}
			for _, f := range edits {
				if c.IsSet(f.Names()[0]) {
					return a.editIssue(c, id, version, out)
				}
			}
			return a.editIssueByHand(c.Context, id, version, out)
		},
	}
}

func (a *App) editIssue(c *cli.Context, id, version int64, out string) error {
	edit, err := a.issueEdit(c)
	if err != nil {
		return err
	}
	b, err := a.openBoard(c.Context, true)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := project.CheckLevel(b.Env, b.Base.RepoRoot, c.String("level")); err != nil {
		return err
	}
	i, err := b.Edit(c.Context, id, version, edit, a.by(""))
	if err != nil {
		return issueError(err)
	}
	return a.tellIssue(c.Context, b, i, out)
}

// editIssueByHand lets a person edit the issue as a file. What they wrote is
// kept when it cannot be stored.
func (a *App) editIssueByHand(ctx context.Context, id, version int64, out string) error {
	editor := a.getenv("VISUAL")
	if editor == "" {
		editor = a.getenv("EDITOR")
	}
	if editor == "" {
		return refusal.New("forge issue edit --help shows the flags", "nothing says what to change, and neither VISUAL nor EDITOR names an editor")
	}
	b, err := a.openBoard(ctx, true)
	if err != nil {
		return err
	}
	defer b.Close()
	was, err := b.Journal.Issue(ctx, b.Project, id)
	if err != nil {
		return issueError(err)
	}
	if version != 0 && version != was.Version {
		return issueError(&factory.StaleError{Issue: id, Read: version, Stored: was.Version})
	}
	dir, err := os.MkdirTemp("", "forge-issue-")
	if err != nil {
		return fmt.Errorf("make a folder for the editor: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("issue-%d.md", id))
	i, err := a.editByHand(ctx, b, was, path, editor)
	if err != nil {
		var usage *refusal.Error
		if errors.As(err, &usage) {
			return refusal.New(usage.Fix+"; what you wrote is in "+path, "%s", usage.What)
		}
		return fmt.Errorf("%w; what you wrote is in %s", err, path)
	}
	if err := os.RemoveAll(dir); err != nil {
		a.log.Warn("remove what was edited", "err", err)
	}
	return a.tellIssue(ctx, b, i, out)
}

func (a *App) editByHand(ctx context.Context, b *board.Opened, was work.Issue, path, editor string) (work.Issue, error) {
	if err := os.WriteFile(path, []byte(issueform.Of(was)), 0o600); err != nil {
		return was, fmt.Errorf("write the issue for the editor: %w", err)
	}
	// By a shell, as git does: an editor may have arguments.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stderr, a.Stderr
	cmd.Env, cmd.Dir = b.Environ, b.Dir
	if err := cmd.Run(); err != nil {
		return was, refusal.New("nothing was changed", "the editor %s: %v", strings.Fields(editor + " ?")[0], err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return was, refusal.New("nothing was changed", "read what was edited: %v", err)
	}
	now, err := issueform.Read(was, string(text))
	if err != nil {
		return was, err
	}
	if now.Level != was.Level {
		if err := project.CheckLevel(b.Env, b.Base.RepoRoot, now.Level); err != nil {
			return was, err
		}
	}
	i, err := b.Edit(ctx, was.ID, was.Version, func(i *work.Issue) error { *i = now; return nil }, a.by(""))
	return i, issueError(err)
}
