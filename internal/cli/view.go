package cli

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"forge/internal/refusal"
	"forge/internal/text"
)

// isTerminal says that what is written to w is seen on a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// coloured says that what is written to w may be coloured.
func (a *App) coloured(w io.Writer) bool {
	return isTerminal(w) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// colour says that stdout may be coloured.
func (a *App) colour() bool { return a.coloured(a.Stdout) }

// viewer is stdout for text that agents wrote: as it is into a file or pipe,
// harmless on a terminal. done writes what is held back.
func (a *App) viewer() (w io.Writer, done func() error) {
	if !isTerminal(a.Stdout) {
		return a.Stdout, func() error { return nil }
	}
	h := &text.HarmlessWriter{To: a.Stdout}
	return h, h.Flush
}

// oneArg is the only argument of a command, "" when there is none.
func oneArg(args []string, what string) (string, error) {
	if len(args) > 1 {
		return "", refusal.New("", "one %s at most, got %q as well", what, args[1])
	}
	if len(args) == 0 {
		return "", nil
	}
	return args[0], nil
}
