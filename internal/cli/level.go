package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/factory/triage"
	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
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
	return &cli.StringFlag{Name: "level", Usage: usage, Action: func(_ *cli.Context, name string) error {
		if name == "" {
			return refusal.New("forge policy list shows them, or leave --level out", "--level names no preset")
		}
		return nil
	}}
}

// levelChange is what a change of level comes to, and forge level --output json.
type levelChange struct {
	Run     string       `json:"run"`
	Level   string       `json:"level"`   // what was asked for
	Policy  gates.Policy `json:"policy"`  // what it comes to
	Version string       `json:"version"` // of Policy
	Bounded []string     `json:"bounded"` // axes on which the ceiling or a parent took something away
	Changed []string     `json:"changed"` // axes that are not as they were
	Open    []string     `json:"open"`    // checkpoints that wait all the same
	Driven  bool         `json:"driven"`  // a process goes on with the run by itself
	Next    string       `json:"next"`

	differs []gates.Difference
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
	row, s, _, err := p.LookAt(ctx, run)
	if err != nil {
		if _, ok := gates.Preset(run); ok {
			err = refusal.New("forge level RUN PRESET", "%q is a preset, and stands where the run is named", run)
		}
		return err
	}
	if row.Outcome == work.RunCompleted || row.Outcome == work.RunCancelled {
		return refusal.New("forge run --level "+level+" starts a new one", "run %s is %s: nothing is left to be decided", row.ID, row.Outcome)
	}
	change, err := levelFor(p.Checkout, s, level)
	if err != nil {
		return err
	}
	if err := change.stillOpen(ctx, p.Checkout); err != nil {
		return err
	}
	if err := p.tellLevel(ctx, change); err != nil {
		return err
	}
	if row, err = p.PickRun(ctx, row.ID); err != nil {
		return err
	}
	change.Driven, change.Next = project.Driven(row), "forge resume "+row.ID
	if change.Driven {
		change.Next = "the process that drives the run takes it up by itself"
	}
	if output == "json" {
		return printJSON(a.Stdout, change)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(change.text()))
	return err
}

// levelFor is what a preset comes to for a run: its bound is that of the run's
// start and the ceiling of today.
func levelFor(p *project.Checkout, s *orchestrator.State, level string) (levelChange, error) {
	c := levelChange{Run: s.Run, Level: level, Bounded: []string{}, Changed: []string{}, Open: []string{}}
	cfg := p.Config
	if cfg == nil {
		var err error
		if cfg, err = project.RecordedConfig(p.Env, p.Base.RepoRoot); err != nil {
			return c, err
		}
	}
	chosen, err := project.Preset(cfg, level)
	if err != nil {
		return c, err
	}
	c.Policy = chosen.WithCheckpointTypes(s.Spec.Settings.CheckpointTypes)
	for _, bound := range []*gates.Policy{s.Spec.Bound, cfg.Ceiling()} {
		if bound == nil {
			continue
		}
		for _, axis := range gates.Exceeds(c.Policy, *bound) {
			if !slices.Contains(c.Bounded, axis) {
				c.Bounded = append(c.Bounded, axis)
			}
		}
		c.Policy = gates.Meet(c.Policy, *bound)
	}
	c.Version = c.Policy.Version()
	c.differs = gates.Compare(s.Spec.Policy, c.Policy)
	for _, d := range c.differs {
		c.Changed = append(c.Changed, d.Name)
	}
	for id := range s.Open {
		c.Open = append(c.Open, id)
	}
	slices.Sort(c.Open)
	return c, config.CheckHooks(cfg, c.Policy, s.Spec.Job != nil || s.Spec.Issue != nil)
}

// stillOpen drops what was answered and is not yet taken up by the run.
func (c *levelChange) stillOpen(ctx context.Context, p *project.Checkout) error {
	open := []string{}
	for _, id := range c.Open {
		record, err := p.Journal.Checkpoint(ctx, id)
		if err != nil {
			return err
		}
		if record.Status == work.CheckpointPending {
			open = append(open, id)
		}
	}
	c.Open = open
	return nil
}

// tellLevel leaves the change for the process that drives the run, or will.
func (p *checkout) tellLevel(ctx context.Context, c levelChange) error {
	return tellLevelAs(ctx, p.Checkout, c, p.User(), "cli")
}

func tellLevelAs(ctx context.Context, p *project.Checkout, c levelChange, by, door string) error {
	policy, err := json.Marshal(c.Policy)
	if err != nil {
		return fmt.Errorf("write down policy %s: %w", c.Level, err)
	}
	return p.Journal.Tell(ctx, c.Run, work.Answer{By: by, Door: door, At: p.Now(), Policy: policy})
}

func (c levelChange) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: level %s (version %s) from the next boundary on\n", c.Run, c.Level, text.Short(c.Version))
	if len(c.Changed) == 0 {
		b.WriteString("  It decides as before.\n")
	} else {
		for _, d := range c.differs {
			fmt.Fprintf(&b, "  changed: %s %s from %s to %s\n", axisKind(d.Axis), d.Name, valueText(d.A), valueText(d.B))
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

// withLevel puts a change of level into an answer, so that one transaction
// writes both. It says what the bound took away.
func withLevel(ctx context.Context, p *project.Checkout, run, level string, ans *work.Answer) error {
	if level == "" {
		return nil
	}
	if triage.IsThread(run) {
		return refusal.New("forge issue edit changes the issue's level", "--level does not go with the triage of an issue")
	}
	_, s, _, err := p.LookAt(ctx, run)
	if err != nil {
		return err
	}
	c, err := levelFor(p, s, level)
	if err != nil {
		return err
	}
	sayLevel(p, c)
	ans.Policy, err = json.Marshal(c.Policy)
	return err
}

func sayLevel(p *project.Checkout, c levelChange) {
	pairs := []any{"version", text.Short(c.Version)}
	if len(c.Bounded) > 0 {
		pairs = append(pairs, "the run's bound is more careful on", strings.Join(c.Bounded, ", "))
	}
	p.Log.Info("level "+c.Level+" from the next boundary on", pairs...)
}
