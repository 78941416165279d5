package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-isatty"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/work"
	"forge/orchestrator"
)

// findProject finds the project around the working directory without its
// configuration, so that its runs can be looked at and answered while
// configuration or checkout are in disorder: p.cfg is nil, and so is all of
// p.base but RepoRoot when the repository is in no state to start a run in.
func (a *App) findProject(ctx context.Context) (*project, error) {
	base, err := git.Inspect(ctx, a.Dir)
	if err != nil {
		root := checkoutAround(a.Dir)
		if root == "" {
			return nil, err
		}
		base = work.Base{RepoRoot: root}
	}
	state, err := config.StateDir(a.Environ, base.RepoRoot)
	if err != nil {
		return nil, err
	}
	return &project{app: a, base: base, state: state}, nil
}

// checkoutAround is the nearest folder around dir that has a .git, "" = none.
func checkoutAround(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// openJournal is findProject with its journal open; a project without one is
// refused. The caller closes it.
func (a *App) openJournal(ctx context.Context) (*project, error) {
	p, err := a.findProject(ctx)
	if err != nil {
		return nil, err
	}
	ok, err := p.openStore(ctx, false)
	if err == nil && !ok {
		err = noRuns()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func noRuns() error { return refuse("forge run starts one", "this project has no runs") }

// look is a run as its row and its events tell it at one moment.
func (p *project) look(ctx context.Context, run string) (journal.RunRow, *orchestrator.State, []work.Event, error) {
	row, err := p.pick(ctx, run)
	if err != nil {
		return row, nil, nil, err
	}
	// The process that drives the run may write between the two reads.
	for tries := 0; ; tries++ {
		if row.Events == 0 {
			return row, nil, nil, justOpened(row.ID)
		}
		s, evs, err := p.load(ctx, row.ID)
		if err != nil {
			return row, nil, nil, err
		}
		if row, err = p.pick(ctx, row.ID); err != nil {
			return row, nil, nil, err
		}
		if row.Events == s.Seq || tries == 5 {
			return row, s, evs, nil
		}
	}
}

func justOpened(run string) error {
	return refuse("try again", "run %s is just being opened", run)
}

// The states of a run that no outcome names.
const (
	stateRunning  = "running"  // a process drives it
	stateFinished = "finished" // nothing is left to do
)

// runState says where a run stands: running, finished, or why it rests (frozen,
// limit, interrupted). One whose process died is interrupted.
func runState(r journal.RunRow) string {
	switch {
	case r.Outcome.Final():
		return stateFinished
	case r.Outcome != "":
		return string(r.Outcome)
	case r.Alive:
		return stateRunning
	}
	return string(work.RunInterrupted)
}

// driven says that a process goes on with the run by itself.
func driven(r journal.RunRow) bool { return runState(r) == stateRunning }

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

// harmless makes text from elsewhere safe to show on a terminal: what would
// move the cursor, change colours or turn the writing direction is shown as
// text. Line ends and tabs stay.
func harmless(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(shown(r, text[i:i+n]))
		i += n
	}
	return b.String()
}

func shown(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1, r < ' ' && r != '\n' && r != '\t', r == 0x7f:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r == '\u200d': // joins emoji
	case unicode.IsControl(r) && r >= 0x80, unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
		if r > 0xffff {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}
	return raw
}

// oneLine is harmless text on one line of at most n runes.
func oneLine(text string, n int) string {
	text = strings.Join(strings.Fields(harmless(text)), " ")
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// harmlessWriter passes on what is written to it as harmless text. Flush
// writes what a split character or line end holds back.
type harmlessWriter struct {
	to   io.Writer
	held []byte
}

func (w *harmlessWriter) Write(p []byte) (int, error) {
	text := append(w.held, p...)
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) || text[at] == '\r' {
				whole = at
			}
			break
		}
	}
	w.held = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.to, harmless(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *harmlessWriter) Flush() error {
	held := w.held
	w.held = nil
	_, err := io.WriteString(w.to, harmless(string(held)))
	return err
}

// viewer is stdout for text that agents wrote: as it is into a file or pipe,
// harmless on a terminal. done writes what is held back.
func (a *App) viewer() (w io.Writer, done func() error) {
	if !isTerminal(a.Stdout) {
		return a.Stdout, func() error { return nil }
	}
	h := &harmlessWriter{to: a.Stdout}
	return h, h.Flush
}

// ago is how long t is back, as a person reads it.
func (a *App) ago(t time.Time) string {
	switch d := a.Now().Sub(t); {
	case d < 0:
		return "now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

func short(id string) string { return id[:min(len(id), 12)] }

// oneArg is the only argument of a command, "" when there is none.
func oneArg(args []string, what string) (string, error) {
	if len(args) > 1 {
		return "", refuse("", "one %s at most, got %q as well", what, args[1])
	}
	if len(args) == 0 {
		return "", nil
	}
	return args[0], nil
}
