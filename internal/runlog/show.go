package runlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"forge/internal/agent"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// Show writes the logs of a run that f lets through to out, one after the
// other, and calls flush after each.
func Show(ctx context.Context, p *project.Checkout, run string, f Filter, out io.Writer, flush func() error) error {
	l, _, err := listOf(ctx, p, run, f)
	if err != nil {
		return err
	}
	if len(l.logs) == 0 {
		return refusal.New("forge status shows how far it came", "there is no such log: nothing of the kind has begun")
	}
	for i, log := range l.logs {
		if len(l.logs) > 1 {
			if err := logTitle(out, log.title, i == 0); err != nil {
				return err
			}
		}
		show := printLog
		if f.talks() {
			show = printTalk
		}
		if err := show(p, out, log); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// logTitle writes whose log follows.
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
func printLog(p *project.Checkout, out io.Writer, log *log) error {
	if log.before != nil {
		_, err := fmt.Fprintln(out, log.before.Said())
		return err
	}
	f, err := openLog(p, log)
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
func openLog(p *project.Checkout, log *log) (*os.File, error) {
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

// printTalk shows one log as the conversation that it is.
func printTalk(p *project.Checkout, out io.Writer, log *log) error {
	f, err := openLog(p, log)
	if f == nil {
		return err
	}
	defer f.Close()
	talk := agent.NewTranscript(log.times, log.kind)
	show := func(turns []work.Turn) error {
		for _, t := range turns {
			if _, err := io.WriteString(out, narrate.Turn(t, log.full)); err != nil {
				return err
			}
		}
		return nil
	}
	part := make([]byte, 256<<10)
	for {
		n, err := f.Read(part)
		if serr := show(talk.Read(part[:n])); serr != nil {
			return serr
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("show %s: %w", log.title, err)
		}
	}
	if err := show(talk.End()); err != nil {
		return err
	}
	_, err = io.WriteString(out, talkEnd(log))
	return err
}

// talkEnd is how an iteration ended, "" when it has not.
func talkEnd(log *log) string {
	if log.ended.Kind != work.IterationFinished {
		return ""
	}
	return "-- " + narrate.Iteration(log.began, log.ended) + "\n"
}
