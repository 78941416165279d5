package proc

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What escapes without a sandbox dies with its pid namespace.
func TestSandboxHoldsGhosts(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		if level != LevelLandlock {
			testGhosts(t, level)
		}
	})
}

func testGhosts(t *testing.T, level Level) {
	for _, c := range []struct{ name, way string }{{"leave", "ghost"}, {"twice", "ghost"}, {"twice-deaf", "ghost"}, {"leave", "pipe"}, {"leave", "session"}} {
		t.Run(c.name+" "+c.way, func(t *testing.T) {
			t.Parallel()
			s := child(t, "")
			lock := filepath.Join(s.Dir, "lock")
			s.Args = []string{"child:" + c.name, c.way, lock}
			s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}}
			out := untilSays("ready")
			s.Stdout = out
			p, err := Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "twice-deaf" {
				<-out.seen
				p.Stop()
			}
			r := p.Wait()
			if r.Err != nil || r.DrainExpired {
				t.Error(describe(r))
			}
			wantHeld(t, lock)
			wantFree(t, lock)
		})
	}
}

// SIGTERM reaches the command inside, which may tidy up.
func TestSandboxStopIsPolite(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		s := child(t, "polite")
		s.Limits.Grace = time.Minute
		s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}}
		out := untilSays("ready")
		s.Stdout, s.Stderr = out, out
		p, err := Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		<-out.seen
		p.Stop()
		r := p.Wait()
		if r.End != EndStopped || r.ExitCode == nil || *r.ExitCode != 7 || !strings.Contains(out.said.String(), "tidied up") {
			t.Errorf("%s with %s; output %q", describe(r), r.how(), out.said.String())
		}
	})
}

func TestSandboxedTreeEndsOnLimit(t *testing.T) {
	each(t, func(t *testing.T, level Level) {
		for _, holder := range []string{"hold", "hold-deaf", "hold-stopped"} {
			s := child(t, "")
			lock := filepath.Join(s.Dir, "lock")
			s.Args = []string{"child:keep", "session", lock, holder}
			s.Sandbox = &Sandbox{Level: level, Container: tested(), Write: []string{s.Dir}}
			out := untilSays("ready")
			s.Stdout = out
			p, err := Start(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			<-out.seen
			p.Stop()
			if r := p.Wait(); r.Err != nil {
				t.Errorf("%s: %s", holder, describe(r))
			}
			wantFree(t, lock)
		}
	})
}
