package cli

import (
	"encoding/json"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"charm.land/log/v2"
)

// crowded notes that it is written to while it is written to.
type crowded struct {
	writers atomic.Int32
	twice   atomic.Bool
}

func (c *crowded) Write(b []byte) (int, error) {
	if c.writers.Add(1) > 1 {
		c.twice.Store(true)
	}
	for range 100 {
		runtime.Gosched()
	}
	c.writers.Add(-1)
	return len(b), nil
}

// Runs that a factory drives beside each other say what happens in turn.
func TestLogLinesAreWrittenOneAtATime(t *testing.T) {
	t.Parallel()
	var out crowded
	a := App{Stderr: &out}
	a.logTo(log.InfoLevel)
	var all sync.WaitGroup
	for range 8 {
		l := a.log.With("issue", 1)
		all.Go(func() {
			for range 50 {
				l.Info("it works")
			}
		})
	}
	all.Wait()
	if out.twice.Load() {
		t.Error("two loggers wrote at the same time")
	}
}

func TestUnknownWordsExitTwo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.forge("statsu").want(exitUsage).warns(`unknown command "statsu"`, `did you mean "status"`)
	w.forge("--nonsense").want(exitUsage)
	w.forge("status", "--nonsense").want(exitUsage)
	w.forge("status", "--output", "xml").want(exitUsage).warns("xml")
	w.forge("checkpoints", "extra").want(exitUsage)
	w.forge("show").want(exitUsage).warns("forge checkpoints")
	w.forge("approve", "a", "b").want(exitUsage)
	w.forge("approve", "a", "--revision", "0").want(exitUsage)
	w.forge("config", "shwo").want(exitUsage)
	w.forge("config", "show", "extra").want(exitUsage)
	w.forge("logs", "01", "--iteration", "0").want(exitUsage)
	w.forge("diff", "01", "x").want(exitUsage)
	w.forge("diff", "run", "2").want(exitUsage)
}

// A project without runs is told what to do, wherever a run is needed.
func TestWithoutRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, args := range [][]string{{"status"}, {"show", "x"}, {"approve", "x"}, {"why"}, {"logs"}, {"diff"}, {"resume"}, {"logs", "--follow"}} {
		w.forge(args...).want(exitUsage).warns("forge run starts one")
	}
	w.forge("checkpoints").want(exitDone).says("Nothing waits")
	w.forge("status", "--all").want(exitDone).says("no runs")
	w.forge("reset", "--yes").want(exitDone).says("Nothing to reset")
	var none struct{ Checkpoints []any }
	w.forge("checkpoints", "--output", "json").want(exitDone).json(&none)
	if none.Checkpoints == nil {
		t.Error("checkpoints is null, want an empty list")
	}
	if w.exists(w.state) {
		t.Error("looking made the state folder")
	}
}

// Inside a phase an agent may look and ask, and nothing else.
func TestInsideAPhase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.plan(phase("01", "first", 1))
	for _, name := range []string{"FORGE_PHASE=01", "FORGE_LEASE=abc"} {
		inside := *w
		inside.env = append(append([]string{}, w.env...), name)
		for _, args := range [][]string{
			{"run"}, {"resume"}, {"approve", "x"}, {"request-changes", "x", "-m", "y"}, {"reject", "x"}, {"config", "show"}, {"reset", "--yes"},
			{"checkpoints"}, {"phase", "01"}, {"--quiet", "approve", "x"}, {"nonsense"},
		} {
			inside.forge(args...).want(exitUsage).warns("refused inside a phase")
		}
		inside.forge("version").want(exitDone)
		inside.forge("list").want(exitDone)
		inside.forge("help").want(exitDone)
		inside.fed(`{"requested":1,"remaining":2}`, "decide", "subphase").want(exitDone)
		for _, args := range [][]string{{"status"}, {"why"}, {"logs"}, {"diff"}, {"show", "x"}} {
			inside.forge(args...).want(exitUsage).warns("no runs")
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.root = t.TempDir() // no repository is needed
	got := w.fed("{\"requested\":2,\"remaining\":3,\"name\":\"a\"}\n{\"requested\":4,\"remaining\":3}", "decide", "subphase").want(exitDone)
	if want := "{\"decision\":\"approve\"}\n{\"decision\":\"reject\"}\n"; got.stdout != want {
		t.Errorf("decide: %q, want %q", got.stdout, want)
	}
	w.fed("", "decide", "stale").want(exitDone)
	w.fed("{}", "decide", "stael").want(exitUsage).warns(`did you mean "stale"`, "signals, stale, subphase")
	w.fed("{}", "decide").want(exitUsage).warns("signals, stale, subphase")
}

// Every line is answered, also after one that is unusable.
func TestDecideAnswersEveryLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	long := make([]byte, maxDecideLine+1)
	for i := range long {
		long[i] = ' '
	}
	in := "{\"text\":\"<blocker>no disk</blocker>\"}\n\nnonsense\n{\"txet\":\"\"}\n" + string(long) + "\n{\"text\":\"\"}\n"
	got := w.fed(in, "decide", "signals").want(exitUsage)
	var codes []string
	for d := json.NewDecoder(strings.NewReader(got.stdout)); d.More(); {
		var line struct{ Error, Message string }
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if (line.Error == "") != (line.Message == "") {
			t.Errorf("an error without its message: %+v", line)
		}
		codes = append(codes, line.Error)
	}
	want := []string{"", "bad_json", "bad_json", "unknown_field", "bad_value", ""}
	if len(codes) != len(want) {
		t.Fatalf("%d answers, want %d:\n%s", len(codes), len(want), got.stdout)
	}
	for i := range want {
		if codes[i] != want[i] {
			t.Errorf("line %d: error %q, want %q", i+1, codes[i], want[i])
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"-h"}} {
		w.forge(args...).want(exitDone).says("request-changes", "--verbose")
	}
	for _, args := range [][]string{{"help", "approve"}, {"approve", "--help"}, {"approve", "x", "-h"}, {"approve", "x", "-m", "y", "--help"}} {
		w.forge(args...).want(exitDone).says("forge approve", "--revision")
	}
	for _, args := range [][]string{{"help", "config", "show"}, {"config", "show", "--help"}} {
		w.forge(args...).want(exitDone).says("forge config show", "--output")
	}
	w.forge("config").want(exitDone).says("validate")
	w.forge("config", "--help").want(exitDone).says("validate")
	w.forge("help", "nonsense").want(exitUsage).warns("nonsense")
	w.forge("approve", "-m", "-h", "x").want(exitUsage).warns("no runs") // a comment, not a question
}

// Every command has its line in the help, in the same order as the commands.
func TestHelpListsEveryCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	var names []string
	for _, c := range (&App{}).commands() {
		names = append(names, "\n   "+c.Name)
	}
	order(t, w.forge("help").want(exitDone).stdout, names...)
}

// Flags may stand before and after the command and its arguments.
func TestFlagsStandAnywhere(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	for _, args := range [][]string{
		{"show", ".1", "--output", "json", "--stat"}, {"show", "--stat", ".1", "--output=json"}, {"--quiet", "show", "-o", "json", ".1"},
		{"show", ".1", "-o", "json", "--quiet"},
	} {
		got := map[string]any{}
		w.forge(args...).want(exitDone).json(&got)
		if got["status"] != "pending" {
			t.Errorf("forge %v: %v", args, got)
		}
	}
}
