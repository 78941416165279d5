package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// detectLimit bounds one try of a sandbox.
const detectLimit = 10 * time.Second

// Detect runs a command in each kind of sandbox and reports which ones work
// here, and why the others do not. It takes some tens of milliseconds; callers
// keep the result. What earlier tries left behind whose Forge is dead is ended.
func Detect(ctx context.Context) Capabilities {
	endDeadProbes()
	var c Capabilities
	var why []string
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }

	if err := try(ctx, Sandbox{Level: LevelBubblewrap, Network: true}); err != nil {
		say("bubblewrap does not work: %v", err)
	} else {
		c.Bubblewrap = true
		if err := try(ctx, Sandbox{Level: LevelBubblewrap}); err != nil {
			say("bubblewrap cannot cut the network: %v", err)
		}
	}
	if err := try(ctx, Sandbox{Level: LevelLandlock, Network: true}); err != nil {
		say("landlock does not work: %v", err)
	} else {
		c.Landlock = true
		if abi, err := landlockABI(); err == nil {
			switch {
			case abi < 3:
				say("landlock ABI %d keeps neither the network nor the truncation of files outside from the agent", abi)
			case abi < 4:
				say("landlock ABI %d cannot cut the network", abi)
			case abi < 10:
				say("landlock ABI %d cuts only TCP", abi)
			}
		}
	}
	c.Why = strings.Join(why, "; ")
	return c
}

// try runs true(1) in the sandbox; in a container, nothing but its first process.
func try(ctx context.Context, sb Sandbox) error {
	out := NewTail(1000, 1000)
	env := BaseEnv(os.Environ(), nil)
	s := Spec{
		Path: "true", Dir: "/usr", Env: setenv(env, "PATH", lookup(env, "PATH")+":/usr/bin:/bin"), Stdout: out, Stderr: out, Mark: probeMark(),
		Sandbox: &sb, Limits: Limits{Total: detectLimit},
	}
	if sb.Level == LevelContainer {
		// Whether the image has any other program is its own affair.
		s.Path, s.Dir, s.Limits.Total = containerIn, "/tmp", containerTryLimit
	}
	r, err := Run(ctx, s)
	said := strings.Join(strings.Fields(out.String()), " ")
	switch {
	case err != nil && said != "":
		return fmt.Errorf("%w: %s", err, said)
	case err != nil:
		return err
	case r.End != EndExited:
		return fmt.Errorf("it did not end by itself (%s)", r.End)
	case r.ExitCode == nil || *r.ExitCode != 0:
		return errors.Join(fmt.Errorf("a command in it ended with %s", r.how()), errors.New(said))
	}
	return nil
}
