package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"forge/internal/work"
)

// runChild is what the test binary does as another process. mode is a verb,
// the state folder and its arguments, separated by newlines.
func runChild(mode string) error {
	ctx := context.Background()
	verb, rest, _ := strings.Cut(mode, "\n")
	dir, argument, _ := strings.Cut(rest, "\n")
	if verb == "read-only" {
		_, err := Open(ctx, dir)
		if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), dir) {
			return fmt.Errorf("got error %v", err)
		}
		return nil
	}
	s, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	switch verb {
	case "acquire", "create":
		return childRace(ctx, s, verb)
	case "append":
		return childAppends(ctx, s, argument)
	case "wait":
		return errors.Join(childWaits(ctx, s), s.Close())
	case "loop":
		return childLoop(ctx, s)
	default:
		return fmt.Errorf("unknown mode %q", mode)
	}
}

// childRace waits until its standard input ends, tries, says what came of it
// and lives on until it is killed or its parent closes the second pipe.
func childRace(ctx context.Context, s *Store, verb string) error {
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	var err error
	if verb == "acquire" {
		_, err = s.AcquireRun(ctx, "run", Self())
	} else {
		_, err = s.CreateSoleRun(ctx, fmt.Sprint("run of ", os.Getpid()), Self())
	}
	switch {
	case err == nil:
		fmt.Println("won")
	case errors.Is(err, ErrLease), errors.Is(err, ErrUnfinished):
		fmt.Println("lost")
	default:
		return err
	}
	_, err = in.ReadString('\n')
	return err
}

// childAppends makes as many appends as it is told, and beside them what must
// not cost an fsync of its own.
func childAppends(ctx context.Context, s *Store, count string) error {
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return err
	}
	l, err := s.CreateRun(ctx, "run", Self())
	if err != nil {
		return err
	}
	for seq := int64(1); seq <= n; seq++ {
		row := AttemptRow{Run: "run", Command: "c", Mark: "m", Started: testTime}
		if err := s.PutAttempt(ctx, l, row); err != nil {
			return err
		}
		if err := s.Append(ctx, l, Append{Events: eventsOf("run", seq, seq), Status: &Status{Branch: count}}); err != nil {
			return err
		}
		if err := l.Heartbeat(ctx); err != nil {
			return err
		}
		if err := s.SaveState(ctx, "run", seq, []byte("{}")); err != nil {
			return err
		}
		if err := s.DropAttempt(ctx, l, "c"); err != nil {
			return err
		}
	}
	return s.Close()
}

// childLoop appends without end and acknowledges every append.
func childLoop(ctx context.Context, s *Store) error {
	l, err := s.CreateRun(ctx, "run", Self())
	if errors.Is(err, ErrRunExists) {
		l, err = s.AcquireRun(ctx, "run", Self())
	}
	if err != nil {
		return err
	}
	seq, _, err := s.Head(ctx, "run")
	if err != nil {
		return err
	}
	for {
		sha, err := s.PutBlob(ctx, fmt.Append(nil, "blob ", seq+1))
		if err != nil {
			return err
		}
		e := event("run", seq+1)
		e.Data = fmt.Appendf(nil, "%q", sha)
		if err := s.Append(ctx, l, Append{Events: []work.Event{e}}); err != nil {
			return err
		}
		seq++
		fmt.Println(seq)
	}
}

// child starts the test binary as another process in dir.
func child(t *testing.T, verb, dir, argument string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childMode+"="+verb+"\n"+dir+"\n"+argument)
	cmd.Stderr = os.Stderr
	return cmd
}
