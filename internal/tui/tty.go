package tui

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TTY is a terminal that a live view has for itself: keys come one by one and
// are not shown. Ctrl-C and Ctrl-Z stay signals, and line ends stay as they
// are, so that even a process that dies here leaves a terminal that can be
// used.
type TTY struct {
	in, Out *os.File
	before  *unix.Termios // nil = the terminal is as it was found
}

// take changes the terminal's settings; a second call does nothing.
func (t *TTY) take() error {
	if t.before != nil {
		return nil
	}
	found, err := unix.IoctlGetTermios(int(t.in.Fd()), getTermios)
	if err != nil {
		return fmt.Errorf("read the terminal's settings: %w", err)
	}
	keys := *found
	keys.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.IEXTEN
	// Enter is a carriage return, which tells it from Ctrl-J.
	keys.Iflag &^= unix.ICRNL | unix.INLCR | unix.IGNCR
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(t.in.Fd()), setTermios, &keys); err != nil {
		return fmt.Errorf("change the terminal's settings: %w", err)
	}
	t.before = found
	return nil
}

// giveBack puts the settings back.
func (t *TTY) giveBack() error {
	if t.before == nil {
		return nil
	}
	if err := unix.IoctlSetTermios(int(t.in.Fd()), setTermios, t.before); err != nil {
		return fmt.Errorf("put the terminal's settings back: %w", err)
	}
	t.before = nil
	return nil
}

// Size is the terminal's width and height, 80 and 24 where it does not know.
func (t *TTY) Size() (width, height int) {
	if ws, err := unix.IoctlGetWinsize(int(t.Out.Fd()), unix.TIOCGWINSZ); err == nil && ws.Col > 0 && ws.Row > 0 {
		return int(ws.Col), int(ws.Row)
	}
	return 80, 24
}

// foreground says that this process may read keys: it does not run in the
// background of a shell.
func (t *TTY) foreground() bool {
	group, err := unix.IoctlGetInt(int(t.in.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
