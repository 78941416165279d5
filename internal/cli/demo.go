package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"forge/internal/demo"
	"forge/internal/refusal"
)

func (a *App) demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "see Forge at work on a small repository made for it; nothing of yours is touched",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "keep", Usage: "make it in `DIR` and keep it, to look around in afterwards"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge demo --keep DIR names a folder", "forge demo takes no arguments, got %q", c.Args().First())
			}
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find forge's own program: %w", err)
			}
			return a.demo(c.Context, program, c.String("keep"))
		},
	}
}

// demo plays the whole story with program, which is forge, and says how it
// ended. The exit code is 1 when something was not as it must be.
func (a *App) demo(ctx context.Context, program, keep string) error {
	outcome, err := demo.Play(ctx, a.env(), demo.Options{Program: program, Keep: keep, Out: a.Stdout, Colour: a.colour(), Quiet: a.quiet})
	switch outcome {
	case demo.Stopped:
		return errors.Join(codeError(exitInterrupted), err)
	case demo.Broken:
		return codeError(exitFailed)
	}
	return err
}
