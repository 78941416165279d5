package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/tui"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "show what a run, a phase or an iteration changed", ArgsUsage: "[run | PHASE [ITERATION]]",
		Flags: []cli.Flag{
			runFlag(),
			&cli.IntFlag{Name: "attempt", Usage: "of an iteration that ran more than once: attempt `N`, else the last"},
			&cli.BoolFlag{Name: "stat", Usage: "list the changed files without the changes"},
		},
		Action: func(c *cli.Context) error {
			what, err := diffArgs(c)
			if err != nil {
				return err
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			return p.diff(c.Context, c.String("run"), what, c.Bool("stat"))
		},
	}
}

// diffOf is what a diff is wanted of: a phase, or one of its iterations, or
// with neither the run.
type diffOf struct {
	phase     string
	iteration int // 0 = the whole phase
	attempt   int // 0 = the last
}

func diffArgs(c *cli.Context) (diffOf, error) {
	args := c.Args().Slice()
	bad := refusal.New("forge diff, forge diff 05, or forge diff 05 3", "forge diff takes a phase and an iteration of it, got %q", strings.Join(args, " "))
	var d diffOf
	switch {
	case len(args) > 2:
		return d, bad
	case len(args) > 0 && args[0] != "run":
		d.phase = args[0]
	case len(args) == 2:
		return d, bad
	}
	if len(args) == 2 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 {
			return d, refusal.New("iterations are counted from 1", "%q is not the number of an iteration", args[1])
		}
		d.iteration = n
	}
	d.attempt = c.Int("attempt")
	if c.IsSet("attempt") && (d.attempt < 1 || d.iteration == 0) {
		return d, refusal.New("forge diff 05 3 --attempt 1", "--attempt goes with an iteration and counts from 1")
	}
	return d, nil
}

// span is the change from one commit to another.
type span struct {
	from, to string
	title    string
}

func (p *checkout) diff(ctx context.Context, run string, what diffOf, stat bool) error {
	row, err := p.PickRun(ctx, run)
	if err != nil {
		return err
	}
	spans, err := p.spans(ctx, row.ID, what)
	if err != nil {
		return err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	empty := true
	for _, s := range spans {
		patch, err := repo.Diff(ctx, s.from, s.to)
		if err != nil {
			return fmt.Errorf("diff %s: %w", s.title, err)
		}
		if patch == "" {
			continue
		}
		empty = false
		if err := p.printSpan(s, patch, len(spans) > 1, stat); err != nil {
			return err
		}
	}
	if empty {
		// Not on stdout, where a patch is expected.
		p.Log.Info("no change", "of", spans[0].title)
	}
	return nil
}

func (p *checkout) printSpan(s span, patch string, titled, stat bool) error {
	if stat {
		_, err := fmt.Fprintf(p.app.Stdout, "%s: %s..%s\n%s", s.title, text.Short(s.from), text.Short(s.to), text.Harmless(tui.PatchStat(patch)))
		return err
	}
	if titled {
		p.Log.Info(s.title, "from", text.Short(s.from), "to", text.Short(s.to))
	}
	return p.app.printPatch(patch)
}

// spans replays a run for the commits before and after what is wanted.
func (p *checkout) spans(ctx context.Context, run string, what diffOf) ([]span, error) {
	evs, err := p.Journal.Events(ctx, run, 0)
	if err != nil {
		return nil, err
	}
	s, err := p.BeginRun(ctx, run, evs)
	if err != nil {
		return nil, err
	}
	var iterations, merges []span
	ended := "" // how the iteration ended that has no snapshot
	for _, e := range evs {
		ph := s.Phases[e.Phase]
		switch {
		case ph == nil || what.phase != e.Phase:
		case e.Kind == work.IterationFinished && e.Iteration == what.iteration && (what.attempt == 0 || what.attempt == e.Attempt):
			var d work.IterationFinishedData
			if err := work.Decode(e, &d); err != nil {
				return nil, err
			}
			iterations, ended = nil, string(d.Outcome)
			if d.Snapshot != "" {
				iterations = []span{{from: before(ph), to: d.Snapshot, title: fmt.Sprintf("phase %s, iteration %d, attempt %d", e.Phase, e.Iteration, e.Attempt)}}
			}
		case e.Kind == work.PhaseMerged && ph.Merge != nil:
			var d orchestrator.PhaseMergedData
			if err := work.Decode(e, &d); err != nil {
				return nil, err
			}
			merges = append(merges, span{from: ph.Merge.Head, to: d.Commit, title: "phase " + e.Phase + ", as merged"})
		}
		if err := orchestrator.Apply(s, e); err != nil {
			return nil, err
		}
	}
	if what.phase == "" {
		return []span{{from: s.Spec.Base.Commit, to: s.Head, title: "run " + run}}, nil
	}
	ph := s.Phases[what.phase]
	switch {
	case ph == nil:
		return nil, noPhase(s, what.phase)
	case what.iteration > 0 && len(iterations) == 0 && ended != "":
		return nil, refusal.New("its changes were dropped", "iteration %d of phase %s ended %s and has no snapshot", what.iteration, what.phase, ended)
	case what.iteration > 0 && len(iterations) == 0:
		return nil, refusal.New(fmt.Sprintf("the last one of phase %s is %d", what.phase, ph.Iteration), "iteration %d of phase %s has not finished", what.iteration, what.phase)
	case what.iteration > 0:
		return iterations, nil
	case len(merges) > 0 && ph.Stage == orchestrator.StageFinished:
		return merges, nil
	case ph.Last == "":
		return nil, refusal.New("forge status shows where it stands", "phase %s has not begun", what.phase)
	}
	return []span{{from: ph.Base, to: ph.Last, title: "phase " + what.phase}}, nil
}

// before is the content that the current iteration of p started from.
func before(p *orchestrator.Phase) string {
	if p.Kind == orchestrator.IterationResolve && p.Merge != nil {
		return p.Merge.Commit
	}
	return p.Last
}

// noPhase refuses a phase that a run does not have.
func noPhase(s *orchestrator.State, number string) error {
	fix := "it has " + strings.Join(s.Order, ", ")
	if near := gates.Nearest(number, s.Order); near != "" {
		fix = fmt.Sprintf("did you mean %s? %s", near, fix)
	}
	return refusal.New(fix, "run %s has no phase %q", s.Run, number)
}

// printPatch prints a patch on stdout: as it is into a file or pipe, harmless
// and coloured on a terminal.
func (a *App) printPatch(patch string) error {
	if isTerminal(a.Stdout) {
		patch = text.Harmless(patch)
	}
	if a.colour() {
		patch = tui.ColourPatch(patch)
	}
	if patch != "" && !strings.HasSuffix(patch, "\n") {
		patch += "\n"
	}
	_, err := io.WriteString(a.Stdout, patch)
	return err
}
