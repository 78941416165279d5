package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/effect"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) logsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "show what the agents said and did", ArgsUsage: "[PHASE]",
		Flags: []cli.Flag{
			runFlag(),
			&cli.IntFlag{Name: "iteration", Aliases: []string{"i"}, Usage: "of iteration `N` alone"},
			&cli.IntFlag{Name: "attempt", Usage: "of attempt `N` alone, where an iteration ran more than once"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on as the agents print, until the run ends"},
			&cli.BoolFlag{Name: "full", Usage: "with what tools answered and what the agents thought"},
			&cli.BoolFlag{Name: "raw", Usage: "the bytes that the agents printed"},
			&cli.BoolFlag{Name: "verify", Usage: "what the verify commands printed"},
			&cli.BoolFlag{Name: "prompt", Usage: "the prompts that were sent"},
		},
		Action: func(c *cli.Context) error {
			phase, err := oneArg(c.Args().Slice(), "phase")
			if err != nil {
				return err
			}
			f := logFilter{phase: phase, iteration: c.Int("iteration"), attempt: c.Int("attempt"), verify: c.Bool("verify"), prompt: c.Bool("prompt"),
				full: c.Bool("full"), raw: c.Bool("raw")}
			switch {
			case c.IsSet("iteration") && f.iteration < 1, c.IsSet("attempt") && f.attempt < 1:
				return refusal.New("they are counted from 1", "there is no such iteration or attempt")
			case f.verify && f.prompt:
				return refusal.New("name one", "--verify and --prompt do not go together")
			case f.raw && f.full:
				return refusal.New("name one", "--raw and --full do not go together")
			case (f.raw || f.full) && (f.verify || f.prompt):
				return refusal.New("leave it out", "--raw and --full are about what agents printed, not --verify or --prompt")
			case f.verify && f.attempt > 0:
				return refusal.New("leave it out", "--attempt does not go with --verify")
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			if c.Bool("follow") {
				return p.follow(c.Context, c.String("run"), f)
			}
			return p.logs(c.Context, c.String("run"), f)
		},
	}
}

// logFilter says which logs are wanted; zero values let all through.
type logFilter struct {
	phase              string
	iteration, attempt int
	verify, prompt     bool
	raw, full          bool
}

// talks says that conversations are shown, not bytes.
func (f logFilter) talks() bool { return !f.raw && !f.verify && !f.prompt }

// runLog is the log of one effect of a run.
type runLog struct {
	title string
	path  string
	over  bool // nothing is added to it any more

	kind         string // of the agent
	times        string // file that says when what came
	full         bool   // results of tools are told
	began, ended work.Event
}

// logList are the logs of a run that a filter lets through, in the order in
// which their effects began.
type logList struct {
	filter logFilter
	layout effect.Layout
	agents map[string]work.AgentSettings
	logs   []*runLog
}

// maxAgentRunes bounds the name of an agent in a title.
const maxAgentRunes = 60

// see takes in an event: it begins a log, or ends one.
func (l *logList) see(e work.Event) {
	began, ended := work.IterationStarted, work.IterationFinished
	if l.filter.verify {
		began, ended = work.VerifyStarted, work.VerifyFinished
	}
	switch e.Kind {
	case began:
		if log := l.of(e); log != nil {
			// The same effect done again writes the same file anew.
			l.logs = append(slices.DeleteFunc(l.logs, func(old *runLog) bool { return old.path == log.path }), log)
		}
	case ended:
		if log := l.of(e); log != nil {
			for _, known := range l.logs {
				if known.path == log.path {
					known.over, known.ended = true, e
				}
			}
		}
	case work.RunFinished, work.RunResumed:
		// What a dead process left unfinished is not written to any more.
		for _, known := range l.logs {
			known.over = true
		}
	}
}

// of is the log of the effect that e began or ended; nil when it is not wanted.
func (l *logList) of(e work.Event) *runLog {
	f := l.filter
	if f.phase != "" && e.Phase != f.phase || f.iteration > 0 && e.Iteration != f.iteration || f.attempt > 0 && e.Attempt != f.attempt {
		return nil
	}
	if !f.verify {
		log := &runLog{
			title: fmt.Sprintf("phase %s, iteration %d, attempt %d", e.Phase, e.Iteration, e.Attempt),
			path:  l.layout.IterationLog(e.Run, e.Phase, e.Iteration, e.Attempt),
		}
		var d work.IterationStartedData
		if f.talks() && e.Kind == work.IterationStarted && work.Decode(e, &d) == nil {
			log.kind, log.began, log.full = l.agents[d.Agent].Kind, e, f.full
			log.times = l.layout.IterationTimes(e.Run, e.Phase, e.Iteration, e.Attempt)
			log.title += ", " + text.OneLine(d.Agent, maxAgentRunes)
		}
		if f.prompt {
			log.title, log.path = log.title+", prompt", strings.TrimSuffix(log.path, ".log")+".prompt"
		}
		return log
	}
	var d struct {
		On work.VerifyOn `json:"on"`
	}
	if work.Decode(e, &d) != nil {
		return nil
	}
	if d.On == work.OnBase {
		return &runLog{title: "verify on the base", path: l.layout.Log(e.Run, "base-verify")}
	}
	return &runLog{
		title: fmt.Sprintf("phase %s, iteration %d, verify on the %s tree", e.Phase, e.Iteration, d.On),
		path:  l.layout.Log(e.Run, fmt.Sprintf("%s-%d-verify-%s", e.Phase, e.Iteration, d.On)),
	}
}

// logList lists the wanted logs of a run, and the last event that it looked at.
func (p *checkout) logList(ctx context.Context, run string, f logFilter) (*logList, int64, error) {
	_, s, evs, err := p.LookAt(ctx, run)
	if err != nil {
		return nil, 0, err
	}
	if f.phase != "" && s.Phases[f.phase] == nil {
		return nil, 0, runs.NoPhase(s, f.phase)
	}
	l := &logList{filter: f, layout: p.Layout(), agents: s.Spec.Settings.Agents}
	for _, e := range evs {
		l.see(e)
	}
	return l, s.Seq, nil
}

func (p *checkout) logs(ctx context.Context, run string, f logFilter) error {
	l, _, err := p.logList(ctx, run, f)
	if err != nil {
		return err
	}
	if len(l.logs) == 0 {
		return refusal.New("forge status shows how far it came", "there is no such log: nothing of the kind has begun")
	}
	out, done := p.app.viewer()
	for i, log := range l.logs {
		if len(l.logs) > 1 {
			if err := logTitle(out, log.title, i == 0); err != nil {
				return err
			}
		}
		show := p.printLog
		if f.talks() {
			show = p.printTalk
		}
		if err := show(out, log); err != nil {
			return err
		}
		if err := done(); err != nil {
			return err
		}
	}
	return nil
}

func logTitle(out io.Writer, title string, first bool) error {
	gap := "\n"
	if first {
		gap = ""
	}
	_, err := fmt.Fprintf(out, "%s==> %s <==\n", gap, title)
	return err
}

// printLog copies one log. One that is gone is said on stderr: the others are
// still worth showing.
func (p *checkout) printLog(out io.Writer, log *runLog) error {
	f, err := p.openLog(log)
	if f == nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(out, f); err != nil {
		return fmt.Errorf("show %s: %w", log.title, err)
	}
	return nil
}

// openLog is nil, without an error, when the log was not kept.
func (p *checkout) openLog(log *runLog) (*os.File, error) {
	f, err := os.Open(log.path)
	if errors.Is(err, fs.ErrNotExist) {
		p.Log.Warn("this was not kept", "of", log.title, "file", log.path)
		return nil, nil
	}
	if err != nil {
		return nil, refusal.New("ask as the user who started the run", "open a log: %v", err)
	}
	return f, nil
}
