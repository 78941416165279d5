package proc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestKillMarked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mark := filepath.Base(dir) + randomMark()
	lock := func(name string) string { return filepath.Join(dir, name) }
	start := func(mark, name string, args ...string) *exec.Cmd {
		c := exec.Command(self(), append([]string{"child:" + name}, args...)...)
		c.Env = []string{"BEFORE=" + strings.Repeat("x", environChunk), MarkVariable + "=" + mark}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		return c
	}
	start(mark, "keep", "session", lock("a"), "hold")
	start(mark, "hold-deaf", lock("b"))
	start(mark, "hold-stopped", lock("c"))
	start(mark+"-other", "hold", lock("longer"))
	start(mark[:len(mark)-1], "hold", lock("shorter"))
	for _, name := range []string{"a", "b", "c", "longer", "shorter"} {
		waitHeld(lock(name))
	}

	n, err := KillMarked(mark, 200*time.Millisecond)
	if n != 4 || err != nil {
		t.Errorf("KillMarked = %d, %v, want 4 processes", n, err)
	}
	for _, name := range []string{"a", "b", "c"} {
		wantFree(t, lock(name))
	}
	for _, name := range []string{"longer", "shorter"} {
		if free(lock(name)) {
			t.Errorf("the process with the %s mark was ended, too", name)
		}
	}
	if n, err := KillMarked(mark, time.Second); n != 0 || err != nil {
		t.Errorf("again: %d, %v", n, err)
	}
	if _, err := KillMarked("", time.Second); err == nil {
		t.Error("the empty mark was accepted")
	}
}

// After the death of Forge itself its processes are found by their mark, or
// have died with it.
func TestAfterTheDeathOfForge(t *testing.T) {
	t.Parallel()
	for _, level := range append([]Level{LevelNone, LevelLandlock, LevelBubblewrap}, containers()...) {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			need(t, level)
			dir := t.TempDir()
			lock := filepath.Join(dir, "lock")
			mark := randomMark()
			forge := exec.Command(self(), "child:forge", string(level), lock, mark)
			out := untilSays("ready")
			forge.Stdout = out
			if err := forge.Start(); err != nil {
				t.Fatal(err)
			}
			exited := make(chan struct{})
			go func() { defer close(exited); forge.Wait() }()
			select {
			case <-out.seen:
			case <-exited:
				t.Fatalf("it did not start: %s", out.said.String())
			}
			forge.Process.Kill()
			if level == LevelBubblewrap || level == LevelContainer {
				// Also without a search: the kernel does it.
				for range 2000 {
					if free(lock) {
						break
					}
					time.Sleep(5 * time.Millisecond)
				}
				wantFree(t, lock)
			}
			n, err := KillMarked(mark, 100*time.Millisecond)
			if err != nil || level == LevelNone && n != 2 {
				t.Errorf("KillMarked = %d, %v", n, err)
			}
			<-exited
			wantFree(t, lock)
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchName(mark)+"*")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// BenchmarkRun compares a child that does nothing with the same one started by
// os/exec, which is the floor: the difference is the search for what it left.
func BenchmarkRun(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, sb := range []*Sandbox{nil, {Level: LevelLandlock, Network: true}, {Level: LevelBubblewrap, Network: true}} {
		name := "run"
		if sb != nil {
			name = string(sb.Level)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := Spec{Path: "/bin/true", Dir: "/usr", Env: BaseEnv(os.Environ(), nil), Sandbox: sb}
				if _, err := Run(context.Background(), s); err != nil {
					b.Skip(err)
				}
			}
		})
	}
}
