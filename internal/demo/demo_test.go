package demo

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"charm.land/log/v2"

	"forge/internal/project"
	"forge/internal/refusal"
)

// fakeDemo plays the demo with a program that is not forge. The real one is
// driven by demo.txtar of internal/e2e/script.
func fakeDemo(t *testing.T, ctx context.Context, program, keep string) (end Outcome, said string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+program), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, logged bytes.Buffer
	env := project.Env{Log: log.New(&logged), Environ: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir(), Now: time.Now}
	end, err = Play(ctx, env, Options{Program: path, Keep: keep, Out: &out})
	return end, out.String() + logged.String(), err
}

// A forge that is not what it says fails the demo, whose folder then stays.
func TestDemoFailsWithABrokenForge(t *testing.T) {
	tests := []struct{ name, program, want string }{
		{"ends at once", "exit 0", "ended by itself with exit code 0"},
		{"dies before the kill", "kill -9 $$", "no iteration was being worked on"},
		{"prints nonsense", "echo hello", `printed "hello", which is no event`},
		{"never gets anywhere", `echo '{"v":1,"seq":1,"run":"r","kind":"run.started","data":{}}'`, "ended by itself"},
		{"cannot be resumed", `[ "$1" = resume ] && exit 5
echo '{"v":1,"seq":1,"run":"r","kind":"iteration.started","phase":"07","iteration":2,"attempt":1,"data":{}}'
mkdir -p $FORGE_STATE_DIR/runs/r/logs && echo '{"text":""}' > $FORGE_STATE_DIR/runs/r/logs/07-2-1.log
exec sleep 60`, "read the demo's journal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "kept")
			end, out, err := fakeDemo(t, t.Context(), tt.program, dir)
			if err != nil || end != Broken || !strings.Contains(out, tt.want) || !strings.Contains(out, "Everything is kept in") {
				t.Errorf("outcome %d, %v, want %d and %q in\n%s", end, err, Broken, tt.want, out)
			}
			if _, err := os.Stat(filepath.Join(dir, "phrases", ".forge", "phases.json")); err != nil {
				t.Error(err)
			}
			for line := range strings.SplitSeq(out, "\n") {
				if utf8.RuneCountInString(line) > 100 && !strings.Contains(line, dir) && !strings.Contains(line, tt.want) {
					t.Errorf("wider than 100 columns: %q", line)
				}
			}
		})
	}
}

func TestDemoRemovesItsFolder(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if end, out, err := fakeDemo(t, ctx, "exit 0", ""); end == Held || end == Broken || !errors.Is(err, context.Canceled) {
		t.Errorf("outcome %d, %v, want the cancelled context\n%s", end, err, out)
	}
	left, err := filepath.Glob(filepath.Join(tmp, "forge-demo-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestDemoRefusesAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var refused *refusal.Error
	if end, out, err := fakeDemo(t, t.Context(), "exit 0", dir); end != None || !errors.As(err, &refused) {
		t.Errorf("outcome %d, %v, want a refusal\n%s", end, err, out)
	}
}

// The plan shows what it is there for, whatever the runner makes of it.
func TestDemoPlanHasEightPhases(t *testing.T) {
	text, err := files.ReadFile("forge/phases.json")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `"number"`); n < 8 {
		t.Errorf("%d phases", n)
	}
}
