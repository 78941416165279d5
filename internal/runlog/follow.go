package runlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"forge/internal/agent"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/work"
)

// followEvery is how often Follow looks for more.
const followEvery = 200 * time.Millisecond

// follower shows logs as they grow: several at once, in whole lines, with the
// name of each where it changes.
type follower struct {
	list  *list
	out   io.Writer
	shown string // title of the log whose lines came last
	first bool
	at    map[string]int64             // by path: bytes read
	held  map[string][]byte            // by path: the beginning of a line
	gone  map[string]bool              // by path: read to its end
	talks map[string]*agent.Transcript // by path, where conversations are shown
}

// Follow writes to out what running agents print, and what those after them
// print, until the run ends or ctx does, whose error it returns then. It calls
// flush each time it has looked.
func Follow(ctx context.Context, p *project.Checkout, run string, f Filter, out io.Writer, flush func() error) error {
	l, seq, err := listOf(ctx, p, run, f)
	if err != nil {
		return err
	}
	row, err := p.PickRun(ctx, run)
	if err != nil {
		return err
	}
	w := &follower{list: l, out: out, first: true, at: map[string]int64{}, held: map[string][]byte{}, gone: map[string]bool{}, talks: map[string]*agent.Transcript{}}
	w.skipOld(project.Driven(row))
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		// The journal first: what a log holds when its effect has ended is
		// all of it.
		if row, err = p.PickRun(ctx, row.ID); err != nil {
			return err
		}
		evs, err := p.Journal.Events(ctx, row.ID, seq)
		if err != nil {
			return err
		}
		for _, e := range evs {
			l.see(e)
			seq = e.Seq
		}
		if err := w.show(); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
		if !project.Driven(row) && seq >= row.Events {
			sayOver(p, project.RunState(row), row.ID)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// sayOver says why there is nothing more to follow.
func sayOver(p *project.Checkout, state, run string) {
	if state != project.StateFinished {
		p.Log.Info("no process drives the run", "run", run, "state", state, "next", "forge resume "+run)
	}
}

// skipOld leaves out what ended before. Of a run that nobody drives the last
// log is shown.
func (w *follower) skipOld(running bool) {
	for i, log := range w.list.logs {
		w.gone[log.path] = log.over && (running || i < len(w.list.logs)-1)
	}
}

func (w *follower) show() error {
	for _, log := range w.list.logs {
		if w.gone[log.path] && log.over {
			continue
		}
		if err := w.more(log); err != nil {
			return err
		}
		w.gone[log.path] = log.over
	}
	return nil
}

// more shows what was added to a log since the last time.
func (w *follower) more(log *log) error {
	f, err := os.Open(log.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("follow %s: %w", log.title, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("follow %s: %w", log.title, err)
	}
	if info.Size() < w.at[log.path] {
		// The effect is done again and writes the file anew.
		w.at[log.path], w.held[log.path] = 0, nil
		delete(w.talks, log.path)
	}
	if _, err := f.Seek(w.at[log.path], io.SeekStart); err != nil {
		return fmt.Errorf("follow %s: %w", log.title, err)
	}
	part := make([]byte, 256<<10)
	for {
		n, err := f.Read(part)
		w.at[log.path] += int64(n)
		if n > 0 {
			if err := w.take(log, part[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("follow %s: %w", log.title, err)
		}
	}
	if w.list.filter.talks() {
		if !log.over {
			return nil
		}
		return w.endTalk(log)
	}
	if rest := w.held[log.path]; log.over && len(rest) > 0 {
		w.held[log.path] = nil
		return w.print(log, append(rest, '\n'))
	}
	return nil
}

// take shows what was read: as a conversation, or as it is.
func (w *follower) take(log *log, part []byte) error {
	if !w.list.filter.talks() {
		return w.lines(log, part)
	}
	talk := w.talks[log.path]
	if talk == nil {
		talk = agent.NewTranscript(log.times, log.kind)
		w.talks[log.path] = talk
	}
	return w.turns(log, talk.Read(part))
}

func (w *follower) turns(log *log, turns []work.Turn) error {
	for _, t := range turns {
		if err := w.print(log, []byte(narrate.Turn(t, w.list.filter.Full))); err != nil {
			return err
		}
	}
	return nil
}

func (w *follower) endTalk(log *log) error {
	if talk := w.talks[log.path]; talk != nil {
		delete(w.talks, log.path)
		if err := w.turns(log, talk.End()); err != nil {
			return err
		}
	}
	if end := talkEnd(log); end != "" {
		return w.print(log, []byte(end))
	}
	return nil
}

// maxHeld is from where on a line is shown before it has ended, in bytes.
const maxHeld = 64 << 10

// lines shows the whole lines of what was read and keeps the rest.
func (w *follower) lines(log *log, text []byte) error {
	text = append(w.held[log.path], text...)
	end := bytes.LastIndexByte(text, '\n') + 1
	if len(text)-end > maxHeld {
		end = len(text)
	}
	w.held[log.path] = append([]byte(nil), text[end:]...)
	if end == 0 {
		return nil
	}
	return w.print(log, text[:end])
}

func (w *follower) print(log *log, text []byte) error {
	if w.shown != log.title {
		if err := logTitle(w.out, log.title, w.first); err != nil {
			return err
		}
		w.shown, w.first = log.title, false
	}
	_, err := w.out.Write(text)
	return err
}
