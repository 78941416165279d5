package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/runs"
)

func (a *App) resetCommand() *cli.Command {
	return &cli.Command{
		Name: "reset", Usage: "put away all runs and the board of this project: journal, logs, folders; your branches stay",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "run", Usage: "remove the folders and logs of run `ID` alone; its journal stays"},
			&cli.BoolFlag{Name: "purge", Usage: "remove for good instead of putting aside"},
			&cli.BoolFlag{Name: "force", Usage: "although the journal cannot be read"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge reset --run ID", "forge reset takes no arguments, got %q", c.Args().First())
			}
			p, err := a.findProject(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			if run := c.String("run"); run != "" {
				return a.resetRun(c.Context, p, run, c.Bool("yes"))
			}
			return a.resetAll(c.Context, p, resetOptions{yes: c.Bool("yes"), purge: c.Bool("purge"), force: c.Bool("force")})
		},
	}
}

// resetOptions are the flags of reset for all runs.
type resetOptions struct {
	yes, purge, force bool
}

func (a *App) resetAll(ctx context.Context, p *checkout, o resetOptions) error {
	left, err := runs.FindLeftovers(ctx, p.Checkout, o.force)
	if err != nil {
		return err
	}
	if left == nil {
		_, err := fmt.Fprintln(a.Stdout, "Nothing to reset: this project has no runs.")
		return err
	}
	what := fmt.Sprintf("This puts away %s of %s: %s", left.Held(), left.Name, p.State)
	if o.purge {
		what = fmt.Sprintf("This removes %s of %s for good: %s", left.Held(), left.Name, p.State)
	}
	if left.Server != "" {
		what += "\nWith it goes what the factory's server keeps there: its key, users, tokens and sessions"
	}
	if err := a.confirmWord(o.yes, what, left.Name); err != nil {
		return err
	}
	if left.Server != "" {
		a.log.Warn("the server's key, users, tokens and sessions go with the state folder", "folder", left.Server)
	}
	if !o.purge {
		aside, err := left.PutAside()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Put away: %s (%s). Your branches and files are as they were.\nUndo:     mv '%s' '%s'\nFor good: rm -rf '%s'\n", aside, left.Held(), aside, p.State, aside)
		return err
	}
	if err := left.Purge(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Removed: %s (%s). Your branches and files are as they were.\n", p.State, left.Held())
	return err
}

// resetRun removes what of one run is not in the journal.
func (a *App) resetRun(ctx context.Context, p *checkout, run string, yes bool) error {
	row, dir, err := runs.FindFolders(ctx, p.Checkout, run)
	if err != nil {
		return err
	}
	if dir == "" {
		_, err := fmt.Fprintf(a.Stdout, "Nothing to reset: run %s has no folders.\n", row.ID)
		return err
	}
	if err := a.confirmWord(yes, fmt.Sprintf("This removes the folders and logs of run %s: %s", row.ID, dir), row.ID); err != nil {
		return err
	}
	if err := runs.RemoveFolders(row, dir); err != nil {
		return err
	}
	text := fmt.Sprintf("Removed: %s. Its journal stays: forge why --run %s\n", dir, row.ID)
	if row.Unfinished() {
		text += "Its folders are made again by: forge resume " + row.ID + "\n"
	}
	_, err = fmt.Fprint(a.Stdout, text)
	return err
}

// confirmWord has a word typed again; anything else, and nobody to type it, is no.
func (a *App) confirmWord(yes bool, what, word string) error {
	if yes {
		return nil
	}
	fmt.Fprintf(a.Stderr, "%s\nType %s to go on: ", what, word)
	typed, err := bufio.NewReader(a.Stdin).ReadString('\n')
	if strings.TrimSpace(typed) == word && word != "" {
		return nil
	}
	fmt.Fprintln(a.Stderr)
	if err != nil && typed == "" {
		return refusal.New("--yes goes on without asking", "nobody is there to confirm it; nothing was removed")
	}
	return refusal.New("", "%q is not %q; nothing was removed", strings.TrimSpace(typed), word)
}
