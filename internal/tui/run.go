package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"forge/internal/work"
)

const (
	drawEvery = 100 * time.Millisecond // at most
	tickEvery = time.Second            // at least, for the clocks
)

// begin takes the terminal and starts the view's goroutines. They end with ctx.
func (v *View) begin(ctx context.Context) error {
	if err := v.tty.take(); err != nil {
		return err
	}
	if err := v.screen.open(); err != nil {
		return errors.Join(err, v.tty.giveBack())
	}
	v.on.LogInto(v.screen)
	interrupted := ctx
	ctx, v.stop = context.WithCancel(ctx)
	width, height := v.tty.Size()
	m := newLiveModel(v.p.User(), v.p.Now)
	m.width, m.height = width, height
	m.bare = v.on.Quiet
	m.look = v.look
	m.answer = func(a work.Answer) (work.Checkpoint, error) { return v.answer(ctx, a) }
	m.diff = func(q question) (string, error) { return v.diff(ctx, q) }
	m.show = v.show
	// bubbletea reads keys and carries out commands. It does not draw: the view
	// shares its screen with log lines, and asks the terminal nothing, so that
	// no reply of it can end up in the user's shell.
	v.program = tea.NewProgram(m, tea.WithInput(v.tty.in), tea.WithOutput(io.Discard), tea.WithEnvironment(v.p.Environ),
		tea.WithWindowSize(width, height), tea.WithoutRenderer(), tea.WithoutSignalHandler())
	v.work.Go(func() {
		_, err := v.program.Run()
		v.stop()
		v.restore()
		if interrupted.Err() != nil {
			v.plain.Log.Warn("the run is being stopped and can be resumed; a second Ctrl-C does not wait for that")
		}
		if err != nil {
			v.plain.Log.Error("the live view broke off; forge checkpoints shows what waits for you", "err", err)
		}
	})
	v.work.Go(func() { v.pump(ctx) })
	v.work.Go(func() { v.signals(ctx) })
	v.tell()
	return nil
}

// End gives the terminal back and waits for everything that the view began.
func (v *View) End() {
	v.stop()
	v.work.Wait()
	v.errand.Wait()
}

// restore writes what is left to be written and puts the terminal back.
func (v *View) restore() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	width, _ := v.tty.Size()
	err := errors.Join(v.screen.close(width), v.tty.giveBack())
	v.on.LogInto(v.tty.Out)
	if err != nil {
		v.plain.Log.Warn("give the terminal back", "err", err)
	}
}

// pump tells the model of what is new, but not too often, and ends it.
func (v *View) pump(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			v.program.Quit()
			return
		case <-v.news:
		case <-tick.C:
		}
		v.program.Send(lookMsg{})
		select {
		case <-ctx.Done():
		case <-time.After(drawEvery):
		}
	}
}

// signals follows the terminal's size, leaves it while the process is stopped
// by Ctrl-Z, and before Ctrl-\ ends it.
func (v *View) signals(ctx context.Context) {
	got := make(chan os.Signal, 4)
	signal.Notify(got, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGQUIT)
	defer signal.Stop(got)
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-got:
			switch {
			case s == syscall.SIGQUIT:
				v.leave()
				signal.Reset(syscall.SIGQUIT)
				_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT) // itself: always allowed
			case s == syscall.SIGTSTP && !v.suspend():
				v.stop()
				return
			}
		}
		width, height := v.tty.Size()
		v.program.Send(tea.WindowSizeMsg{Width: width, Height: height})
	}
}

// leave gives the terminal back for a while.
func (v *View) leave() {
	width, _ := v.tty.Size()
	if err := errors.Join(v.screen.pause(width), v.tty.giveBack()); err != nil {
		v.plain.Log.Warn("give the terminal back", "err", err)
	}
}

// suspend gives the terminal back, stops the process, and takes the terminal
// again when it goes on. In the background it cannot have it.
func (v *View) suspend() bool {
	v.leave()
	// The call may return before the process stands still.
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return false
	}
	if <-goesOn; !v.tty.foreground() {
		return false
	}
	return v.tty.take() == nil && v.screen.open() == nil
}

// show draws what the model wants to be seen. A terminal that cannot be written
// to is none any more.
func (v *View) show(lines []string, full bool, width int) {
	err := error(nil)
	if full {
		err = v.screen.drawFull(lines)
	} else {
		err = v.screen.draw(lines, width)
	}
	if err != nil {
		v.stop()
	}
}
