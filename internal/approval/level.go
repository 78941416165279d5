package approval

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forge/factory/triage"
	"forge/gates"
	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// LevelChange is what a change of a run's level comes to.
type LevelChange struct {
	Run     string       `json:"run"`
	Level   string       `json:"level"`   // what was asked for
	Policy  gates.Policy `json:"policy"`  // what it comes to
	Version string       `json:"version"` // of Policy
	Bounded []string     `json:"bounded"` // axes on which the ceiling or a parent took something away
	Changed []string     `json:"changed"` // axes that are not as they were
	Open    []string     `json:"open"`    // checkpoints that wait all the same

	Differs []gates.Difference `json:"-"` // what Changed names
}

// OverError says that a run is over, so that nothing of it is left to be decided.
type OverError struct {
	Run     string
	Outcome work.RunOutcome
}

// Error names the run and how it ended.
func (e *OverError) Error() string {
	return fmt.Sprintf("run %s is %s: nothing is left to be decided", e.Run, e.Outcome)
}

// SetLevel changes the level of a run to a preset from its next boundary on, and
// says where the run stands. The process that drives the run, or will, takes it
// up. It returns an *OverError for a run that is over.
func SetLevel(ctx context.Context, p *project.Checkout, run, level, by, door string) (LevelChange, journal.RunRow, error) {
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return LevelChange{}, row, err
	}
	if row.Outcome == work.RunCompleted || row.Outcome == work.RunCancelled {
		return LevelChange{}, row, &OverError{Run: row.ID, Outcome: row.Outcome}
	}
	c, err := LevelFor(p, s, level)
	if err != nil {
		return c, row, err
	}
	if err := c.stillOpen(ctx, p); err != nil {
		return c, row, err
	}
	if err := c.Tell(ctx, p, by, door); err != nil {
		return c, row, err
	}
	row, err = p.PickRun(ctx, row.ID)
	return c, row, err
}

// Tell leaves the change for the process that drives the run, or will.
func (c LevelChange) Tell(ctx context.Context, p *project.Checkout, by, door string) error {
	policy, err := json.Marshal(c.Policy)
	if err != nil {
		return fmt.Errorf("write down policy %s: %w", c.Level, err)
	}
	return p.Journal.Tell(ctx, c.Run, work.Answer{By: by, Door: door, At: p.Now(), Policy: policy})
}

// LevelFor is what a preset comes to for a run: its bound is that of the run's
// start and the ceiling of today.
func LevelFor(p *project.Checkout, s *orchestrator.State, level string) (LevelChange, error) {
	c := LevelChange{Run: s.Run, Level: level, Bounded: []string{}, Changed: []string{}, Open: []string{}}
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
	c.Differs = gates.Compare(s.Spec.Policy, c.Policy)
	for _, d := range c.Differs {
		c.Changed = append(c.Changed, d.Name)
	}
	for id := range s.Open {
		c.Open = append(c.Open, id)
	}
	slices.Sort(c.Open)
	return c, config.CheckHooks(cfg, c.Policy, project.Alone(s.Spec))
}

// stillOpen drops what was answered and is not yet taken up by the run.
func (c *LevelChange) stillOpen(ctx context.Context, p *project.Checkout) error {
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
	c, err := LevelFor(p, s, level)
	if err != nil {
		return err
	}
	c.Say(p)
	ans.Policy, err = json.Marshal(c.Policy)
	return err
}

// Say logs it, with what the bound took away.
func (c LevelChange) Say(p *project.Checkout) {
	pairs := []any{"version", text.Short(c.Version)}
	if len(c.Bounded) > 0 {
		pairs = append(pairs, "the run's bound is more careful on", strings.Join(c.Bounded, ", "))
	}
	p.Log.Info("level "+c.Level+" from the next boundary on", pairs...)
}
