package script

import (
	"crypto/sha256"
	database "database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"
)

// scriptState is what the commands of one script remember.
type scriptState struct {
	signalled []*exec.Cmd
	names     []string // of the variables that commands get
	script    string   // its text, once a command ran in this process
}

type scriptStateKey struct{}

func stateOf(ts *testscript.TestScript) *scriptState {
	s, ok := ts.Value(scriptStateKey{}).(*scriptState)
	if !ok {
		ts.Fatalf("the script was not set up")
	}
	return s
}

func scriptCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"exits": exits, "repo": repo, "untouched": untouched, "sql": sql, "hold": hold, "until": until,
		"signal": signalAll, "ended": endedWith, "capture": capture, "stream": stream, "plain": plain, "model": modelService,
	}
}

// scriptCondition knows [mounts]: whether a file system may be mounted in a
// namespace of one's own.
func scriptCondition(cond string) (bool, error) {
	switch cond {
	case "mounts":
		return exec.Command("unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt").Run() == nil, nil
	case "root":
		return os.Getuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// untouched CODE forge …: a command with that exit code that changes nothing
// below $WORK. A refusal (2) says on stderr alone what is wrong, in lines of its own.
func untouched(ts *testscript.TestScript, neg bool, args []string) {
	driven := len(ts.BackgroundCmds()) > 0
	before, err := fingerprint(ts.Getenv("WORK"), driven)
	ts.Check(err)
	stdout, stderr := exitsWith(ts, neg, args)
	after, err := fingerprint(ts.Getenv("WORK"), driven)
	ts.Check(err)
	if before != after {
		ts.Fatalf("%v changed something:\n%s", args[1:], differing(before, after))
	}
	if args[0] != "2" {
		return
	}
	if stdout != "" {
		ts.Fatalf("a refusal printed on stdout:\n%s", stdout)
	}
	for _, line := range strings.Split(strings.TrimSuffix(stderr, "\n"), "\n") {
		if !strings.HasPrefix(line, "forge: ") && !strings.Contains(line, " WARN ") || len(line) > 1000 {
			ts.Fatalf("not an error of one line: %q", line)
		}
	}
}

// fingerprint lists every file below root with its mode and content. Where a run is
// driven, its journal is left out: that it lives is written there.
func fingerprint(root string, driven bool) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if driven && strings.HasPrefix(d.Name(), "journal.db") {
			return nil
		}
		what := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what = fmt.Sprintf(" %x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			if what, err = os.Readlink(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %s%s\n", name, info.Mode(), what)
		return nil
	})
	return b.String(), err
}

// differing are the lines that only one of two texts has.
func differing(was, is string) string {
	var b strings.Builder
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	for _, line := range old {
		if !slices.Contains(now, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	return b.String()
}

// until GLOB…: waits until each of them matches a file.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: until GLOB…")
	}
	patience := time.Now().Add(time.Minute)
	for _, arg := range args {
		for {
			found, err := filepath.Glob(ts.MkAbs(arg))
			ts.Check(err)
			if len(found) > 0 {
				break
			}
			if time.Now().After(patience) {
				ts.Fatalf("%s did not come to be", arg)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// signal INT|TERM: to every program in the background. Wait for it, then ask
// for its exit code with ended.
func signalAll(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	if neg || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal INT|TERM|KILL")
	}
	s := stateOf(ts)
	s.signalled = ts.BackgroundCmds()
	if len(s.signalled) == 0 {
		ts.Fatalf("nothing runs in the background")
	}
	for _, cmd := range s.signalled {
		ts.Check(cmd.Process.Signal(signals[args[0]]))
	}
}

// ended CODE: the signalled programs, waited for since, ended with
// that exit code; -1 = by a signal.
func endedWith(ts *testscript.TestScript, neg bool, args []string) {
	s := stateOf(ts)
	if neg || len(args) != 1 || len(s.signalled) == 0 {
		ts.Fatalf("usage: signal …, wait, ended CODE")
	}
	for _, cmd := range s.signalled {
		if cmd.ProcessState == nil {
			ts.Fatalf("it has not ended; wait for it first")
		}
		if got := strconv.Itoa(cmd.ProcessState.ExitCode()); got != args[0] {
			ts.Fatalf("exit code %s, want %s", got, args[0])
		}
	}
}

// capture NAME FILE REGEXP: sets a variable to what the expression, or its
// first group, matches in a file, stdout or stderr.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: capture NAME FILE REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[2])
	ts.Check(err)
	found := re.FindStringSubmatch(ts.ReadFile(args[1]))
	if found == nil {
		ts.Fatalf("no match for %s in %s", args[2], args[1])
	}
	ts.Setenv(args[0], found[len(found)-1])
}

// stream FILE [resumed]: every line is an event of one run, numbered without
// gaps from 1 (resumed: from a later one), in UTC; when the run is over, what
// began has ended.
func stream(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 || len(args) == 2 && args[1] != "resumed" {
		ts.Fatalf("usage: stream FILE [resumed]")
	}
	next := int64(1)
	text := ts.ReadFile(args[0])
	if text == "" || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("the stream is empty or ends within a line")
	}
	run, last, over := "", "", false
	begun := map[string]int{} // effects without an end
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var e struct {
			V         int
			Seq       int64
			Time      string
			Run       string
			Kind      string
			Phase     string
			Iteration int
			Attempt   int
			Data      map[string]json.RawMessage
		}
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil || dec.More() {
			ts.Fatalf("not an event: %s: %v", line, err)
		}
		if run == "" && len(args) == 2 && e.Seq > 1 {
			next = e.Seq
		}
		at, err := time.Parse(time.RFC3339Nano, e.Time)
		switch {
		case e.V != 1 || e.Seq != next || e.Run == "" || e.Kind == "" || e.Data == nil || run != "" && e.Run != run:
			ts.Fatalf("event %d is wanted: %s", next, line)
		case err != nil || !strings.HasSuffix(e.Time, "Z") || at.IsZero():
			ts.Fatalf("not a time in UTC: %s", line)
		}
		run, last, next = e.Run, e.Kind, next+1
		outcome := strings.Trim(string(e.Data["outcome"]), `"`)
		over = outcome == "completed" || outcome == "failed" || outcome == "cancelled"
		effect := e.Phase + " " + e.Kind[:strings.LastIndexByte(e.Kind, '.')+1]
		if strings.HasSuffix(e.Kind, ".started") {
			begun[effect]++
		} else if strings.HasSuffix(e.Kind, ".finished") {
			delete(begun, effect)
		}
		delete(begun, e.Phase+" land.") // its end is phase.merged
	}
	if over && len(begun) > 0 {
		ts.Fatalf("these began and did not end: %v", begun)
	}
	if last != "run.finished" {
		ts.Fatalf("the stream ends with %s", last)
	}
}

// plain FILE…: no file holds an escape character or another control character
// than a line end or tab.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: plain FILE…")
	}
	for _, arg := range args {
		for i, r := range ts.ReadFile(arg) {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
				ts.Fatalf("%s holds the control character %U at byte %d", arg, r, i)
			}
		}
	}
}

// sql FILE STATEMENT…: changes a database behind Forge's back.
func sql(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: sql FILE STATEMENT…")
	}
	db, err := database.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range args[1:] {
		_, err := db.Exec(statement)
		ts.Check(err)
	}
}

// hold FILE: keeps a database locked until the script ends, as another program
// might.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hold FILE")
	}
	db, err := database.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	_, err = db.Exec("BEGIN EXCLUSIVE")
	ts.Check(err)
}
