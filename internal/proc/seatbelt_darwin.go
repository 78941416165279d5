package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// seatbeltProgram puts a child under a profile, and becomes it.
const seatbeltProgram = "/usr/bin/sandbox-exec"

// detectLimit bounds one try of the sandbox.
const detectLimit = 10 * time.Second

// Detect runs a command in macOS's sandbox and reports whether that works here.
func Detect(ctx context.Context) Capabilities {
	out := NewTail(1000, 1000)
	r, err := Run(ctx, Spec{
		Path: "/usr/bin/true", Dir: "/usr", Env: BaseEnv(os.Environ(), nil), Stdout: out, Stderr: out,
		Sandbox: &Sandbox{Level: LevelSeatbelt}, Limits: Limits{Total: detectLimit},
	})
	said := strings.Join(strings.Fields(out.String()), " ")
	switch {
	case err != nil:
		return Capabilities{Why: fmt.Sprintf("sandbox-exec does not work: %v %s", err, said)}
	case r.ExitCode == nil || *r.ExitCode != 0:
		return Capabilities{Why: "sandbox-exec does not work: a command in it ended with " + r.how() + " " + said}
	}
	return Capabilities{Seatbelt: true, Why: "macOS's own sandbox was never tried with Forge; of a child's processes only its group is ended"}
}

func prepareSeatbelt(s Spec, exe string) (_ launching, err error) {
	v, err := newView(s, exe)
	if err != nil {
		return launching{}, err
	}
	for in, out := range v.files {
		if filepath.Clean(in) != filepath.Clean(out) && !v.inHome(in) {
			return launching{}, fmt.Errorf("macOS's sandbox cannot show %s as %s", out, in)
		}
	}
	scratch, err := os.MkdirTemp("", scratchName(s.Mark))
	if err != nil {
		return launching{}, fmt.Errorf("make sandbox folder: %w", err)
	}
	defer func() {
		if err != nil {
			removeAll(scratch)
		}
	}()
	home, temp := filepath.Join(scratch, "home"), filepath.Join(scratch, "tmp")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(temp, 0o700)); err != nil {
		return launching{}, err
	}
	env := setenv(s.Env, "TMPDIR", temp)
	if len(v.homes) > 0 && v.kind(v.homes[0]) != write {
		if err := v.linkHome(home); err != nil {
			return launching{}, err
		}
		env = setenv(env, "HOME", home)
	}
	profile, err := v.seatbelt(s.Sandbox, spelledAndReal(scratch))
	if err != nil {
		return launching{}, err
	}
	return launching{
		path: seatbeltProgram, argv: append([]string{"sandbox-exec", "-p", profile, exe}, s.Args...), env: env,
		level: LevelSeatbelt, cleanup: func() { removeAll(scratch) },
	}, nil
}
