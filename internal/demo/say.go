package demo

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/text"
)

// head says what is about to be seen, and what of it is real.
func head(out io.Writer, caps proc.Capabilities, w *world) {
	level, err := proc.Choose("auto", false, caps)
	sandbox := "sandbox (" + string(level) + ")"
	if err != nil || level == proc.LevelNone {
		sandbox = "no sandbox, as none works here"
	}
	after := "removed at the end; --keep DIR keeps it"
	if w.kept {
		after = "kept"
	}
	fmt.Fprintf(out, `Forge drives a plan of nine phases on a small repository made for this.

  simulated   the agent alone: a file says what it writes and claims, no model is asked
  real        forge, git, verify commands, merges, journal, kill -9, %s
  the plan    01 → 02 + 03 → 04, 05, 07, 08 → 09, and 06 needs 05
  where       %s
              (%s)

`, sandbox, w.dir, after)
}

// tail says what to type next.
func tail(out io.Writer, env project.Env, w *world, run string) {
	forge := typed(env, w.program)
	next := [][]string{
		{"  " + forge + ` do "…"`, "one line from an idea to proven work on your branch"},
		{"  " + forge + " init", "finds your agent and your tests, tries them, writes .forge/"},
		{"  " + forge + " run", "asks you before each phase; --autonomous does not"},
	}
	look := [][]string{{"  " + forge + " demo --keep DIR", "the same, kept to look around in"}}
	if w.kept {
		look = [][]string{
			{"  cd " + text.ShellWord(w.repo), ""},
			{"  export FORGE_STATE_DIR=" + text.ShellWord(w.state), ""},
			{"  " + forge + " status", "the run at a glance"},
			{"  " + forge + " why 05", "each decision on the phase that failed, with its facts"},
			{"  " + forge + " diff 07", "what the phase that was caught lying did in the end"},
			{"  " + forge + " logs 07", "what its agent said"},
			{"  git log --stat forge/run-" + run, "the result"},
		}
	}
	fmt.Fprintf(out, "\nNext, in a git repository of yours:\n\n%s\nLook around in what forge did here:\n\n%s", columns(next), columns(look))
}

// columns lays out commands and what they are for; a long command has a line
// of its own.
func columns(rows [][]string) string {
	const wide = 44
	var b strings.Builder
	for _, r := range rows {
		switch {
		case r[1] == "":
			b.WriteString(r[0] + "\n")
		case len(r[0]) > wide:
			fmt.Fprintf(&b, "%s\n%*s  %s\n", r[0], wide, "", r[1])
		default:
			fmt.Fprintf(&b, "%-*s  %s\n", wide, r[0], r[1])
		}
	}
	return b.String()
}

// typed is how this user types program: by its name where PATH has it, else by
// its path.
func typed(env project.Env, program string) string {
	for _, dir := range filepath.SplitList(env.Getenv("PATH")) {
		found := filepath.Join(dir, "forge")
		one, err1 := os.Stat(found)
		two, err2 := os.Stat(program)
		if filepath.IsAbs(dir) && err1 == nil && err2 == nil && os.SameFile(one, two) {
			return "forge"
		}
	}
	return text.ShellWord(program)
}

// The marks before a line.
const (
	markYes = "✓"
	markNo  = "✗"
)

// voice prints the story, one line at a time.
type voice struct {
	out    io.Writer
	colour bool
	quiet  bool
	began  time.Time
	now    func() time.Time
}

func (v *voice) command(text string) {
	if !v.quiet {
		fmt.Fprintf(v.out, "$ %s\n", text)
	}
}

func (v *voice) line(mark, where, text string) {
	if !v.quiet {
		v.always(mark, where, text)
	}
}

func (v *voice) always(mark, where, text string) {
	shown := fmt.Sprintf("%1s", mark)
	if v.colour {
		switch mark {
		case markYes:
			shown = "\x1b[32m" + mark + "\x1b[0m"
		case markNo:
			shown = "\x1b[31m" + mark + "\x1b[0m"
		}
	}
	line := fmt.Sprintf("%5.1fs %s %-13s %s", v.now().Sub(v.began).Seconds(), shown, where, text)
	fmt.Fprintln(v.out, strings.TrimRight(line, " "))
}
