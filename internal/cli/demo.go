package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"forge/internal/beside"
	"forge/internal/demo"
	"forge/internal/refusal"
)

func (a *App) demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "see Forge at work on a small repository made for it; nothing of yours is touched",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "machines", Usage: "see it on several machines instead: a Temporal server, workers and a factory, of which some are killed"},
			&cli.StringFlag{Name: "keep", Usage: "make it in `DIR` and keep it, to look around in afterwards"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge demo --keep DIR names a folder", "forge demo takes no arguments, got %q", c.Args().First())
			}
			if c.Bool("machines") {
				return a.machines(c.Context, c.String("keep"))
			}
			program, err := os.Executable()
			if err != nil {
				return fmt.Errorf("find forge's own program: %w", err)
			}
			return a.demo(c.Context, program, c.String("keep"))
		},
	}
}

// machines plays the story of several machines.
func (a *App) machines(ctx context.Context, keep string) error {
	if a.With.Machines == nil {
		beside.Become(os.Args, a.Environ) // returns where there is none
		return refusal.New("put it beside forge or on the PATH: make forge-temporal builds it", "forge demo --machines needs the program forge-temporal")
	}
	held, err := a.With.Machines(ctx, a.Environ, keep, a.Stdout)
	switch {
	case ctx.Err() != nil:
		return errors.Join(codeError(exitInterrupted), err)
	case err == nil && !held:
		return codeError(exitFailed)
	}
	return err
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
