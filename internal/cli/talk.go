package cli

import (
	"errors"
	"fmt"
	"io"

	"forge/internal/agent"
	"forge/internal/narrate"
	"forge/internal/work"
)

// printTalk shows one log as the conversation that it is.
func (p *checkout) printTalk(out io.Writer, log *runLog) error {
	f, err := p.openLog(log)
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
func talkEnd(log *runLog) string {
	if log.ended.Kind != work.IterationFinished {
		return ""
	}
	return "-- " + narrate.Iteration(log.began, log.ended) + "\n"
}
