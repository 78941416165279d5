package verify

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"forge/internal/egress"
	"forge/internal/proc"
	"forge/internal/proof"
	"forge/internal/redact"
	"forge/internal/text"
	"forge/internal/work"
)

// Output of one command that a report keeps: the head says how it began, the
// tail what broke.
const (
	headBytes = 16 << 10
	tailBytes = 48 << 10
)

// shell runs commands in one folder.
type shell struct {
	dir     string
	home    string
	lent    *lent // nil = caches of tools begin empty
	laid    *laid // nil = what setup made was made in the folder, or copied into it
	fills   bool  // what is left in them is kept
	env     []string
	box     *proc.Sandbox // nil = none
	hosts   *egress.Proxy // nil = the network is as the box says
	refused []string      // by hosts, so far
	mark    string
	timeout time.Duration // of each command
	phase   string
	kind    string   // of the activity: setup or verify
	listens *listens // nil = nobody asks what passed in the verify commands
	fixed   fixed    // what the commands can only read
	top     string   // the folder that it is in
	out     *transcript
	watch   func(work.Activity)
	red     *redact.Redactor
}

// close gives back what the shell was lent. A nil shell has nothing.
func (s *shell) close() {
	if s != nil {
		s.lent.giveBack()
		s.laid.giveBack()
		s.laid = nil
	}
}

// sayCold says that the commands begin with empty caches, which they fill.
func (s *shell) sayCold() {
	if s.watch != nil && s.fills && s.lent.empty() {
		s.watch(work.Activity{Phase: s.phase, Kind: work.ActivityCold, Text: "with empty caches"})
	}
}

// run runs commands in order and stops at the first that fails.
func (s *shell) run(ctx context.Context, commands []string) (work.CommandsReport, error) {
	rep := work.CommandsReport{Sandbox: string(s.level())}
	for _, c := range commands {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		one, problem, err := s.runOne(ctx, c)
		if err != nil {
			return rep, err
		}
		rep.Ran = append(rep.Ran, one)
		if !one.OK {
			rep.Problem = problem
			return rep, nil
		}
	}
	rep.OK = true
	return rep, nil
}

func (s *shell) runOne(ctx context.Context, command string) (work.CommandReport, string, error) {
	return s.runAs(ctx, command, command, nil)
}

// runAs runs script, which stands for command. What said returns when it is over
// is part of its output; nil = nothing.
func (s *shell) runAs(ctx context.Context, command, script string, said func() (string, error)) (work.CommandReport, string, error) {
	shown := s.red.String(strings.ToValidUTF8(command, "\uFFFD"))
	rep := work.CommandReport{Command: shown}
	if s.watch != nil {
		s.watch(work.Activity{Phase: s.phase, Kind: s.kind, Text: text.ClipLine(shown, mostLine)})
	}
	if err := s.out.note("$ " + shown); err != nil {
		return rep, "", err
	}
	box, err := s.view()
	if err != nil {
		return rep, "", err
	}
	tail := proc.NewTail(headBytes, tailBytes)
	out := s.out.command(tail)
	res, err := proc.Run(ctx, proc.Spec{
		Path: "sh", Args: []string{"-c", script},
		Dir: s.dir, Env: s.env, Mark: s.mark, Quiet: true,
		Stdout: out, Stderr: out,
		Sandbox: box,
		Limits:  proc.Limits{Total: s.timeout},
	})
	if err != nil {
		return rep, "", fmt.Errorf("run %q: %w", text.ClipLine(shown, mostLine), err)
	}
	if said != nil {
		more, err := said()
		if err != nil {
			return rep, "", fmt.Errorf("read what %q said: %w", text.ClipLine(shown, mostLine), err)
		}
		_, _ = io.WriteString(out, more) // Close tells
	}
	// A full disk must not turn red into green or hide why it was red.
	if err := out.Close(); err != nil {
		return rep, "", fmt.Errorf("keep output of %q: %w", text.ClipLine(shown, mostLine), err)
	}
	rep.Output = strings.ToValidUTF8(tail.String(), "\uFFFD")
	problem := s.judge(&rep, res)
	if !rep.OK && s.fixed.couldNotWrite(rep.Output) {
		problem += mayWriteHint
	}
	if !rep.OK && ctx.Err() != nil {
		return rep, "", ctx.Err()
	}
	if more := s.moreRefused(); more != "" {
		if !rep.OK {
			problem += "; sandbox.network refused " + more
		}
		if err := s.out.note("# refused by sandbox.network: " + more); err != nil {
			return rep, "", err
		}
	}
	return rep, problem, s.out.note("# " + ending(rep, problem, res.LeftBehind))
}

// moreRefused are the hosts that were refused since it was last asked, in words.
func (s *shell) moreRefused() string {
	if s.hosts == nil {
		return ""
	}
	now := work.Refusals(s.hosts.Uses())
	more := slices.DeleteFunc(slices.Clone(now), func(one string) bool { return slices.Contains(s.refused, one) })
	s.refused = now
	return text.ClipLine(strings.Join(more, ", "), mostLine)
}

// judge fills rep in and says what is wrong, "" when nothing is. Only an exit
// by itself with code 0 is good.
func (s *shell) judge(rep *work.CommandReport, res proc.Result) string {
	what := s.kind + " command "
	name := ": " + text.ClipLine(rep.Command, mostLine)
	if res.End != proc.EndExited {
		rep.TimedOut = res.End == proc.EndTotal
		if rep.TimedOut {
			return what + "timed out after " + s.timeout.String() + name
		}
		return what + "was ended (" + string(res.End) + ")" + name
	}
	rep.ExitCode = res.ExitCode
	if res.ExitCode == nil {
		return what + "was ended by signal " + res.Signal + name
	}
	switch code := *res.ExitCode; code {
	case 0:
		rep.OK = true
		return ""
	case 126:
		return what + "could not be executed (exit code 126)" + name
	case 127:
		if program := notInstalled(s.env, rep.Command, rep.Output); program != "" {
			rep.Missing = true
			return fmt.Sprintf("%snames the program %s, which is not installed (exit code 127)%s", what, program, name)
		}
		return what + "was not found (exit code 127)" + name
	default:
		return fmt.Sprintf("%sfailed with exit code %d%s", what, code, name)
	}
}

// notInstalled is the program that a command starts itself where no folder of PATH
// holds it and a shell says that it found none, "" = there is one, or who knows:
// what a script of the tree starts, an agent can mend.
func notInstalled(environ []string, command, output string) string {
	for _, program := range proof.Programs(command) {
		if !strings.Contains(output, ": "+program+": not found") && !strings.Contains(output, ": "+program+": command not found") {
			continue
		}
		if !proc.InPath(environ, program) {
			return program
		}
	}
	return ""
}

func (s *shell) level() proc.Level {
	if s.box == nil {
		return proc.LevelNone
	}
	return s.box.Level
}

func ending(rep work.CommandReport, problem string, left int) string {
	text := problem
	if rep.OK {
		text = "exit code 0"
	}
	if left > 0 {
		text += fmt.Sprintf("; %d processes left behind were ended", left)
	}
	return text
}

// mostLine is how many bytes a line of a live view has.
const mostLine = 200
