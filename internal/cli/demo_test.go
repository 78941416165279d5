package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"
)

// A play that is broken, stopped or refused has an exit code of its own.
func TestDemoExitCodes(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fake")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 0"), 0o755); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		ctx  context.Context
		keep string
		want int
	}{
		"broken":          {t.Context(), filepath.Join(t.TempDir(), "kept"), exitFailed},
		"stopped":         {stopped, filepath.Join(t.TempDir(), "kept"), exitInterrupted},
		"a folder in use": {t.Context(), used, exitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs safeBuffer
			a := &App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Environ: []string{"PATH=" + os.Getenv("PATH")}, Dir: t.TempDir(), Now: time.Now}
			a.logTo(log.InfoLevel)
			if got := exitOf(a.demo(tc.ctx, program, tc.keep)); got != tc.want {
				t.Errorf("exit code %d, want %d\n%s%s", got, tc.want, out.String(), errs.String())
			}
		})
	}
}
