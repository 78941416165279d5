package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/gates"

	"charm.land/log/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/mattn/go-isatty"
	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/proc"
	"forge/internal/refusal"
	"forge/internal/shortage"
)

// Version is the program's version; releases set it when they link.
var Version = "0.1.0-dev"

// App is one call of forge: everything that it may touch of its surroundings.
type App struct {
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Environ []string
	Dir     string // working directory
	Now     func() time.Time
	// Detect says which sandboxes work here; nil = proc.Detect, which tries each.
	Detect func(context.Context) proc.Capabilities
	// Kill is closed when the user wants to leave at once, without waiting
	// for a clean stop. nil = never.
	Kill <-chan struct{}
	// With is what this program has that forge has not.
	With Extras

	quiet, verbose bool
	logJSON        bool // what is said on stderr, errors included
	log            *log.Logger
}

// New is the App of this process.
func New() (*App, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	return &App{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir, Now: time.Now}, nil
}

// Run carries out one command line, without the program's name, and returns
// the exit code. Cancelling ctx is the first Ctrl-C.
func (a *App) Run(ctx context.Context, args []string) int {
	a.logTo(log.InfoLevel)
	err := a.refuseInside(args)
	if err == nil {
		err = a.refuseFormer(args)
	}
	if err == nil {
		app := a.command()
		err = app.RunContext(ctx, append([]string{"forge"}, reorder(app, args)...))
	}
	var code codeError
	var problems *config.Problems
	switch {
	case err == nil, errors.As(err, &code):
	case errors.As(err, &problems):
		for _, p := range problems.List {
			a.sayError(p.String())
		}
	default:
		short := shortage.Of(err)
		if short == "" {
			a.sayError(err.Error())
		} else {
			a.log.Debug("failed", "err", err)
			a.sayError(short + "; nothing is lost: make room, or raise the limit, and try again (forge resume goes on with a run)")
		}
	}
	return exitOf(err)
}

// sayError says why a command ends.
func (a *App) sayError(what string) {
	if a.logJSON {
		a.log.Error(what)
		return
	}
	fmt.Fprintln(a.Stderr, "forge: "+what)
}

func (a *App) logTo(level log.Level) {
	a.log = log.NewWithOptions(io.Discard, log.Options{Level: level, ReportTimestamp: true, TimeFormat: time.TimeOnly})
	a.logInto(a.log, a.Stderr)
	if a.logJSON {
		a.log.SetFormatter(log.JSONFormatter)
		a.log.SetTimeFormat(time.RFC3339Nano)
	}
}

// logInto lets l write to w, in colours where stderr shows them. Of a file
// that is a terminal the library asks its colours, waits for the answer, and
// reads it where a person types; so it does not get to see the file.
func (a *App) logInto(l *log.Logger, w io.Writer) {
	l.SetOutput(&oneAtATime{w: w})
	styles := log.DefaultStyles()
	for level, style := range styles.Levels {
		styles.Levels[level] = style.UnsetWidth().MaxWidth(4) // one blank behind INFO
	}
	l.SetStyles(styles)
	profile := colorprofile.NoTTY
	if a.coloured(a.Stderr) {
		profile = colorprofile.ANSI // which every coloured terminal can show
	}
	l.SetColorProfile(profile)
}

// oneAtATime is w for loggers of several goroutines: what the library derives from
// a logger has its output, and a lock of its own.
type oneAtATime struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *oneAtATime) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}

func (a *App) command() *cli.App {
	groups := a.groups()
	c := &cli.App{
		Name: "forge", Usage: "drive a coding agent through a plan until every phase is proven done",
		Version: Version, HideVersion: true, EnableBashCompletion: true,
		Writer: a.Stdout, ErrWriter: a.Stderr,
		// Exit codes are this package's business alone.
		ExitErrHandler:  func(*cli.Context, error) {},
		CommandNotFound: nil,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return refusal.New("forge help shows what there is", "unknown command %q%s", c.Args().First(), a.suggest(c.Args().First()))
			}
			return cli.ShowAppHelp(c)
		},
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "say only what matters at the end"},
			&cli.BoolFlag{Name: "verbose", Usage: "say everything"},
			&cli.StringFlag{Name: "log-format", Usage: "`FORMAT` of what is said on stderr: text, json", Value: "text"},
			&cli.BoolFlag{Name: "version", Usage: "print the version"},
		},
		Before: func(c *cli.Context) error {
			a.quiet, a.verbose = a.quiet || c.Bool("quiet"), a.verbose || c.Bool("verbose")
			if format := c.String("log-format"); format != "text" && format != "json" {
				return refusal.New("use text or json", "unknown --log-format %q", format)
			} else if format == "json" {
				a.logJSON = true
				a.logTo(log.InfoLevel)
			}
			switch {
			case a.quiet:
				a.logTo(log.WarnLevel)
			case a.verbose:
				a.logTo(log.DebugLevel)
			}
			if c.Bool("version") {
				return errors.Join(a.sayVersion(), codeError(exitDone))
			}
			return nil
		},
		Commands: commandsOf(groups),
	}
	ownHelp(c, groups)
	c.OnUsageError = func(_ *cli.Context, err error, _ bool) error {
		return flagRefusal(err.Error(), flagNames(c.Flags), "forge")
	}
	onUsageErrors(c.Commands, c.Flags, "forge")
	return c
}

func (a *App) suggest(word string) string {
	var names []string
	for _, c := range a.commands() {
		names = append(names, c.Name)
	}
	if near := gates.Nearest(word, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// getenv is a variable of the environment that the App was given.
func (a *App) getenv(name string) string { return a.env().Getenv(name) }

// terminal says that a person can read what is written to stderr and answer.
func (a *App) terminal() bool { return a.attended() && a.getenv("TERM") != "dumb" }

// dumb says that a person is there who cannot be asked, since the terminal can
// show no question.
func (a *App) dumb() bool { return a.attended() && a.getenv("TERM") == "dumb" }

// attended says that a terminal is at both ends, and that it is not of a CI.
func (a *App) attended() bool {
	in, ok1 := a.Stdin.(*os.File)
	out, ok2 := a.Stderr.(*os.File)
	return ok1 && ok2 && isatty.IsTerminal(in.Fd()) && isatty.IsTerminal(out.Fd()) && a.getenv("CI") == ""
}

// insideCommands are the only ones that an agent inside a phase may call: none of them answers, changes or starts anything.
var insideCommands = []string{"version", "help", "list", "status", "show", "why", "logs", "diff", "decide"}

func (a *App) refuseInside(args []string) error {
	if a.getenv("FORGE_PHASE") == "" && a.getenv("FORGE_LEASE") == "" {
		return nil
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		if slices.Contains(insideCommands, arg) {
			return nil
		}
		return refusal.New("a person answers from outside", "forge %s is refused inside a phase", arg)
	}
	return nil
}

// reorder puts flags before arguments, as the flag parser wants them, so that
// they may stand anywhere; those of the program go before the command. What
// follows "--" stays as it is.
func reorder(app *cli.App, args []string) []string {
	if n := len(args); n > 0 && args[n-1] == "--generate-bash-completion" {
		return args // a shell asks what may come next; the parser wants the question last
	}
	flags := app.Flags
	var global, path, front, back []string
	commands, help := app.Commands, false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return slices.Concat(global, path, front, back, args[i:])
		case named(app.Flags, arg) && !named(flags, arg):
			global = append(global, arg)
			if i+1 < len(args) && takesValue(app.Flags, arg) {
				i++
				global = append(global, args[i])
			}
		case arg == "--remote" && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")) && named(flags, arg):
			front = append(front, "--remote="+defaultRemote) // the only flag that may go without its value
		case len(arg) > 1 && arg[0] == '-' && !isText(arg):
			front, help = append(front, arg), help || asksForHelp(arg)
			if i+1 < len(args) && takesValue(flags, arg) {
				i++
				front = append(front, args[i])
			}
		default:
			if cmd := find(commands, arg); cmd != nil && len(back) == 0 {
				path = append(path, front...)
				path, front = append(path, arg), nil
				commands, flags = cmd.Subcommands, cmd.Flags
				continue
			}
			back = append(back, arg)
		}
	}
	if slices.ContainsFunc(back, isText) {
		back = append([]string{"--"}, back...)
	}
	if help {
		back = nil // whatever it is about, the answer is how the command is used
	}
	return slices.Concat(global, path, front, back)
}

// isText says that arg begins as a flag does and cannot be one: it holds blanks
// where a flag has its name.
func isText(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return strings.HasPrefix(arg, "-") && strings.ContainsAny(name, " \t\n")
}

// named says that arg is one of flags.
func named(flags []cli.Flag, arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return strings.HasPrefix(arg, "-") && slices.ContainsFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func takesValue(flags []cli.Flag, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}
