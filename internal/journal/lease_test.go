package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

func TestOwnerKnownDead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells when a process began")
	}
	self := Self()
	if self.Dead() || self.StartTime == 0 || self.Boot == "" {
		t.Errorf("this process: %+v, dead: %v", self, self.Dead())
	}
	if again := Self(); again.ID == self.ID {
		t.Error("two owners share an id")
	}
	gone := exec.Command("true")
	if err := gone.Start(); err != nil {
		t.Fatal(err)
	}
	zombie := Owner{PID: gone.Process.Pid, Host: self.Host, Boot: self.Boot}
	for deadline := time.Now().Add(10 * time.Second); !zombie.Dead() && time.Now().Before(deadline); {
		// Not waited for yet: it becomes a zombie.
		if start, state := startTime(zombie.PID); state == processRuns {
			zombie.StartTime = start
		}
		time.Sleep(time.Millisecond)
	}
	if !zombie.Dead() {
		t.Error("a process that ended and was not waited for is not dead")
	}
	if err := gone.Wait(); err != nil {
		t.Fatal(err)
	}
	change := func(f func(*Owner)) Owner { o := self; f(&o); return o }
	for name, test := range map[string]struct {
		owner Owner
		dead  bool
	}{
		"gone":                     {change(func(o *Owner) { o.PID = gone.Process.Pid }), true},
		"its number given away":    {change(func(o *Owner) { o.StartTime-- }), true},
		"gone on another host":     {change(func(o *Owner) { o.PID, o.Host = gone.Process.Pid, "elsewhere" }), false},
		"gone in another boot":     {change(func(o *Owner) { o.PID, o.Boot = gone.Process.Pid, "other" }), false},
		"gone in an unknown place": {change(func(o *Owner) { o.PID, o.Boot = gone.Process.Pid, "" }), false},
	} {
		if test.owner.Dead() != test.dead {
			t.Errorf("%s: dead is %v", name, !test.dead)
		}
	}
	s := openIn(t, t.TempDir())
	dead := self
	dead.PID = gone.Process.Pid
	old, err := s.CreateRun(t.Context(), "run", dead)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AcquireRun(t.Context(), "run", self); err != nil {
		t.Errorf("the run of a dead process: %v", err)
	}
	wantError(t, s.Append(t.Context(), old, Append{}), ErrLease)
}

func TestFences(t *testing.T) {
	now := testTime
	dir := t.TempDir()
	s := openIn(t, dir, WithClock(func() time.Time { return now }))
	old := create(t, s, "run")
	row := AttemptRow{Run: "run", Command: "c", Mark: "m", Started: now}
	now = now.Add(-time.Hour)
	_, err := s.AcquireRun(t.Context(), "run", Self())
	wantError(t, err, ErrLease) // a clock that was set back takes nothing
	now = now.Add(2 * time.Hour)
	l, err := s.AcquireRun(t.Context(), "run", Self())
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, s.PutAttempt(t.Context(), old, row), ErrLease)
	if err := s.PutAttempt(t.Context(), l, row); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.DropAttempt(t.Context(), old, "c"), ErrLease)
	if rows, err := s.Attempts(t.Context(), "run"); err != nil || len(rows) != 1 || rows[0] != row {
		t.Errorf("attempts %+v, %v", rows, err)
	}
	if err := openIn(t, t.TempDir()).Append(t.Context(), l, Append{}); err == nil {
		t.Error("a lease was good in another journal")
	}
	for _, err := range []error{
		func() error { _, err := s.CreateRun(t.Context(), "", Self()); return err }(),
		func() error { _, err := s.CreateRun(t.Context(), "x", Owner{}); return err }(),
		func() error { _, err := s.AcquireRun(t.Context(), "run", Owner{}); return err }(),
	} {
		if err == nil {
			t.Error("an empty name was accepted")
		}
	}
}

func TestRuns(t *testing.T) {
	now := testTime
	s := openIn(t, t.TempDir(), WithClock(func() time.Time { return now }))
	names := func(rows []RunRow, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, r := range rows {
			list = append(list, fmt.Sprintf("%s %s %d %v", r.ID, r.Outcome, r.Events, r.Alive))
		}
		return strings.Join(list, ", ")
	}
	outcomes := []work.RunOutcome{"", work.RunCompleted, work.RunFailed, work.RunFrozen, work.RunLimit, work.RunCancelled, work.RunInterrupted}
	cost := 1.5
	for i, outcome := range outcomes {
		run := fmt.Sprint("r", i)
		l := create(t, s, run)
		appendTo(t, s, l, Append{Events: eventsOf(run, 1, int64(i+1)), Status: &Status{Outcome: outcome, Branch: "forge/" + run, CostUSD: &cost}})
		if outcome != "" {
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	create(t, s, "begins") // its process has not said yet what it is
	if got, want := names(s.Unfinished(t.Context())), "begins  0 true, r6 interrupted 7 false, r4 limit 5 false, r3 frozen 4 false, r0  1 true"; got != want {
		t.Errorf("unfinished: %s\nwant        %s", got, want)
	}
	now = now.Add(time.Hour)
	if got, want := names(s.Runs(t.Context())),
		"r6 interrupted 7 false, r5 cancelled 6 false, r4 limit 5 false, r3 frozen 4 false, r2 failed 3 false, r1 completed 2 false, r0  1 false"; got != want {
		t.Errorf("runs: %s\nwant  %s", got, want)
	}
	rows, err := s.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := rows[len(rows)-1]
	if r.Owner == nil || r.Owner.PID != os.Getpid() || rows[0].Owner != nil {
		t.Errorf("owners %+v, %+v", r.Owner, rows[0].Owner)
	}
	if r.Branch != "forge/r0" || r.CostUSD == nil || *r.CostUSD != 1.5 || r.Created != testTime || r.Updated != testTime.Add(1) {
		t.Errorf("row %+v", r)
	}

	_, err = s.CreateSoleRun(t.Context(), "new", Self())
	wantError(t, err, ErrUnfinished)
	var unfinished *UnfinishedError
	if !errors.As(err, &unfinished) || unfinished.Runs[0].ID != "r6" || !strings.Contains(err.Error(), "run r6") {
		t.Errorf("unhelpful: %v", err)
	}
	if _, err := s.CreateRun(t.Context(), "new", Self()); err != nil {
		t.Errorf("another run on purpose: %v", err)
	}
}

// Real processes that race: exactly one wins.
func TestRaceOfProcesses(t *testing.T) {
	for _, verb := range []string{"acquire", "create"} {
		t.Run(verb, func(t *testing.T) {
			dir := t.TempDir()
			s := openIn(t, dir)
			if verb == "acquire" {
				l := create(t, s, "run")
				appendTo(t, s, l, Append{Events: eventsOf("run", 1, 1)})
				if err := l.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			type racer struct {
				cmd *exec.Cmd
				in  io.WriteCloser
				out *bufio.Reader
			}
			var racers []racer
			for range 4 {
				cmd := child(t, verb, dir, "")
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				racers = append(racers, racer{cmd, in, bufio.NewReader(out)})
			}
			line := func(r racer) string {
				t.Helper()
				text, err := r.out.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSpace(text)
			}
			for _, r := range racers {
				if got := line(r); got != "ready" {
					t.Fatalf("a racer said %q", got)
				}
			}
			tell := func() {
				for _, r := range racers {
					if _, err := io.WriteString(r.in, "go\n"); err != nil {
						t.Fatal(err)
					}
				}
			}
			tell()
			won := 0
			for _, r := range racers {
				if line(r) == "won" {
					won++
				}
			}
			if won != 1 {
				t.Errorf("%d of %d processes won", won, len(racers))
			}
			unfinished, err := s.Unfinished(t.Context())
			if err != nil || len(unfinished) != 1 || !unfinished[0].Alive {
				t.Errorf("unfinished: %+v, %v", unfinished, err)
			}
			tell()
			for _, r := range racers {
				if err := r.cmd.Wait(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
