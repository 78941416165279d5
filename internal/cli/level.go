package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/approval"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
)

func (a *App) levelCommand() *cli.Command {
	return &cli.Command{
		Name: "level", Usage: "change the policy of a run or job from its next boundary on", ArgsUsage: "RUN|JOB PRESET",
		Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Args().Len() != 2 {
				return refusal.New("forge level RUN PRESET; forge status names the run, forge policy list the presets", "forge level takes a run and a preset")
			}
			return a.changeLevel(c.Context, c.Args().Get(0), c.Args().Get(1), out)
		},
	}
}

// levelFlag is --level of the commands that let a run go on.
func levelFlag() cli.Flag {
	return presetFlag("change the run's policy to the preset `NAME` from its next boundary on")
}

// presetFlag is a --level that names a preset when it is given: an empty
// variable of a script is no choice.
func presetFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "level", Usage: usage, Action: func(c *cli.Context, name string) error {
		if name == "" {
			return refusal.New("forge policy list shows them, or leave --level out", "--level names no preset")
		}
		if hint := gates.OldNameHint(name); hint != "" {
			fmt.Fprintf(c.App.ErrWriter, "forge: --level: %s\n", hint)
		}
		return nil
	}}
}

// changedLevel is forge level --output json.
type changedLevel struct {
	approval.LevelChange
	Driven bool   `json:"driven"` // a process goes on with the run by itself
	Next   string `json:"next"`
}

func (a *App) changeLevel(ctx context.Context, run, level, output string) error {
	p, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckKey(); err != nil {
		return err
	}
	change, row, err := approval.SetLevel(ctx, p.Checkout, run, level, p.User(), "cli")
	var over *approval.OverError
	switch _, isPreset := gates.Preset(run); {
	case errors.As(err, &over):
		return refusal.New("forge run --level "+level+" starts a new one", "%v", err)
	case err != nil && isPreset:
		return refusal.New("forge level RUN PRESET", "%q is a preset, and stands where the run is named", run)
	case err != nil:
		return err
	}
	out := changedLevel{LevelChange: change, Driven: project.Driven(row), Next: "forge resume " + row.ID}
	if out.Driven {
		out.Next = "the process that drives the run takes it up by itself"
	}
	if output == "json" {
		return printJSON(a.Stdout, out)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(out.text()))
	return err
}

func (c changedLevel) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: level %s (version %s) from the next boundary on\n", c.Run, c.Level, text.Short(c.Version))
	if len(c.Changed) == 0 {
		b.WriteString("  It decides as before.\n")
	} else {
		for _, d := range c.Differs {
			fmt.Fprintf(&b, "  changed: %s %s from %s to %s\n", report.AxisKind(d.Axis), d.Name, orNone(report.PolicyValue(d.A)), orNone(report.PolicyValue(d.B)))
		}
	}
	if len(c.Bounded) > 0 {
		fmt.Fprintf(&b, "  The bound of the run is more careful than %s on: %s\n", c.Level, strings.Join(c.Bounded, ", "))
	}
	for _, id := range c.Open {
		fmt.Fprintf(&b, "  %s was asked before, and still waits: forge show %s\n", id, id)
	}
	fmt.Fprintf(&b, "Next: %s\n", c.Next)
	return b.String()
}

// orNone is a value in a sentence.
func orNone(value string) string {
	if value == "" || value == "[]" {
		return "none"
	}
	return value
}
