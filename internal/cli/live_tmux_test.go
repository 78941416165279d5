package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/tui"
)

// childArgs is the variable that makes this test binary the program itself.
const childArgs = "FORGE_TEST_TERMINAL_ARGS"

// TestTerminalChild is no test: it is the program, run on a terminal by the
// tests below.
func TestTerminalChild(t *testing.T) {
	args := os.Getenv(childArgs)
	if args == "" {
		t.Skip("the tests below start it")
	}
	app, err := New()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(app.Run(ctx, strings.Fields(args)))
}

// terminal is a real one, in which a shell runs the program in w.
type terminal struct {
	w      *world
	socket string
}

func (w *world) terminal(width, height int, args ...string) *terminal {
	w.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		w.t.Skip("there is no tmux")
	}
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	// A socket's path must be short.
	dir, err := os.MkdirTemp("", "tty")
	if err != nil {
		w.t.Fatal(err)
	}
	term := &terminal{w: w, socket: filepath.Join(dir, "s")}
	w.t.Cleanup(func() {
		_ = term.command("kill-server").Run() // it may have ended by itself
		os.RemoveAll(dir)
	})
	script := fmt.Sprintf("'%s' -test.run '^TestTerminalChild$'; echo EXIT=$?; stty -a | grep -Eo -- '-?(icanon|echo|icrnl|isig)\\b'; exec sleep 600", self)
	start := term.command("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), script)
	start.Dir = w.root
	start.Env = append(append([]string{}, w.env...), "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TERM=xterm-256color", childArgs+"="+strings.Join(args, " "))
	if out, err := start.CombinedOutput(); err != nil {
		w.t.Skipf("tmux does not start: %v\n%s", err, out)
	}
	return term
}

func (term *terminal) command(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-S", term.socket}, args...)...)
}

// keys types: names of keys, or text after "-l".
func (term *terminal) keys(args ...string) {
	term.w.t.Helper()
	if out, err := term.command(append([]string{"send-keys"}, args...)...).CombinedOutput(); err != nil {
		term.w.t.Fatalf("type %q: %v\n%s", args, err, out)
	}
}

// screen is what stands on the terminal, and with history what scrolled away.
func (term *terminal) screen(history bool) string {
	args := []string{"capture-pane", "-p", "-J"}
	if history {
		args = append(args, "-S", "-")
	}
	out, err := term.command(args...).CombinedOutput()
	if err != nil {
		term.w.t.Fatalf("look at the terminal: %v\n%s", err, out)
	}
	return string(out)
}

// shows waits until the terminal shows every text.
func (term *terminal) shows(texts ...string) {
	term.w.t.Helper()
	missing := ""
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		screen := term.screen(false)
		missing = ""
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				missing = text
				break
			}
		}
		if missing == "" {
			return
		}
	}
	term.w.t.Fatalf("never shown: %q\n%s", missing, term.screen(true))
}

// restored checks that the terminal is as it was before.
func (term *terminal) restored() {
	term.w.t.Helper()
	term.shows("EXIT=")
	term.w.eventually("the terminal's settings as they were", func() bool {
		screen := term.screen(false)
		return strings.Contains(screen, "\nisig\n") && strings.Contains(screen, "\nicanon\n") && strings.Contains(screen, "\necho\n") && strings.Contains(screen, "\nicrnl\n")
	})
	out, err := term.command("display-message", "-p", "#{cursor_flag} #{alternate_on}").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "1 0" {
		term.w.t.Errorf("cursor shown, other screen: %q %v, want 1 0", out, err)
	}
}

// slow is a step that takes its time once it has said something.
func slow(number, sleep string) string {
	return fmt.Sprintf("[[step]]\nphase = %q\ndo = [{print = \"thinking about %s\"}, {sleep = %q}, {write = \"out-%s.txt\", content = \"made by %s\\n\"}, {print = \"<promise>PHASE %s DONE</promise>\"}]\n",
		number, number, sleep, number, number, number)
}

// A person answers on the terminal: with a comment, from elsewhere, after a
// look at the change; the result lands and the terminal is as it was.
func TestAnsweringOnATerminal(t *testing.T) {
	pace.Slow(t, "answers are given at a person's pace")
	t.Parallel()
	w := newWorld(t, slow("01", "0.3s")+slow("02", "0.3s"), "test -f README.md")
	w.plan(phase("01", "first", 2), phase("02", "second", 2))
	term := w.terminal(100, 30, "run")
	term.shows(`? Start phase 01 "first"?  (1 of 2)`, "or its letter")
	run := regexp.MustCompile(`run (\S+) started`).FindStringSubmatch(term.screen(true))
	if run == nil {
		t.Fatalf("which run is it?\n%s", term.screen(true))
	}
	term.keys("c")
	term.shows("enter: send")
	term.keys("-l", "mind the gap")
	term.shows("mind the gap")
	term.keys("Enter")
	term.shows(`? Start phase 02 "second"?`, "or its letter")
	w.forge("approve", run[1]+".2").want(exitDone)
	term.shows("tester answered (cli): approved")
	term.shows("? Land the result of run", "or its letter")
	term.keys("Enter")
	term.shows("+made by 01", "q: back to the question")
	term.keys("q")
	term.shows("or its letter")
	term.keys("y")
	term.shows("EXIT=0")
	term.restored()
	if !w.exists("out-01.txt") || !w.exists("out-02.txt") {
		t.Error("the result did not land")
	}
	all := term.screen(true)
	if strings.Contains(all, "or its letter") || strings.Contains(all, "? Start") || !strings.Contains(all, "completed") {
		t.Errorf("what stays on the terminal:\n%s", all)
	}
	w.forge("show", run[1]+".1").want(exitDone).says("mind the gap", tui.DoorTerminal)
	w.forge("show", run[1]+".3").want(exitDone).says(tui.DoorTerminal)
}

// Phases under way are shown while they are; Ctrl-C is a clean stop, and what
// was logged stands above it, each line once.
func TestCtrlCOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01")+slow("02", "10m")+slow("03", "10m"), "test -f README.md")
	w.plan(phase("01", "first", 2), phase("02", "second", 2, "01"), phase("03", "third", 2, "01"))
	term := w.terminal(60, 15, "run", "--autonomous")
	term.shows("02  second", "thinking about 02", "03  third", "thinking about 03", "1/3 done")
	term.keys("-l", "nothing of this is shown")
	term.keys("C-c")
	term.shows("EXIT=130")
	term.restored()
	all := term.screen(true)
	if n := strings.Count(all, "INFO done phase=01"); n != 1 {
		t.Errorf("the first phase's end stands there %d times:\n%s", n, all)
	}
	if strings.Contains(all, "nothing of this") || strings.Contains(all, "thinking about 03") || !strings.Contains(all, "forge resume") {
		t.Errorf("what stays on the terminal:\n%s", all)
	}
}

// Aborting is confirmed, and cancels the run for good.
func TestAbortingOnATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "test -f README.md")
	w.plan(phase("01", "first", 2))
	term := w.terminal(80, 24, "run")
	term.shows("? Start phase 01", "or its letter")
	term.keys("x")
	term.shows("Abort the run?")
	term.keys("Right")
	term.keys("Enter")
	term.shows("EXIT=1", "cancelled (aborted by tester)")
	term.restored()
	w.forge("resume").want(exitUsage)
}

// In CI, though on a terminal, there are plain lines, and the run freezes
// instead of asking.
func TestNoLiveViewInCI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "test -f README.md")
	w.plan(phase("01", "first", 2))
	w.env = append(w.env, "CI=true")
	term := w.terminal(100, 30, "run")
	term.shows("EXIT=3", "waits for you")
	term.restored()
}
