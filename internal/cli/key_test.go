package cli

import (
	"os"
	"path/filepath"
	"testing"

	"forge/internal/project"
)

// Without a key that its owner alone can read, nothing is answered, resumed or
// started; looking is free.
func TestKey(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	key := filepath.Join(w.state, "key")
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 2*project.KeyBytes+1 {
		t.Fatalf("key: %v, %v", info, err)
	}
	text, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(why string) {
		t.Helper()
		for _, args := range [][]string{{"approve", ".1"}, {"request-changes", ".1", "-m", "x"}, {"reject", ".1"}, {"resume"}, {"run", "--new"}} {
			w.forge(args...).want(exitUsage).warns(key, why)
		}
		w.forge("status").want(exitDone).says("It waits for you")
		w.forge("show", ".1").want(exitDone).says("pending")
	}
	if err := os.Chmod(key, 0o640); err != nil {
		t.Fatal(err)
	}
	refused("chmod 600")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	refused("is missing")
	w.write(key, "")
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("is not a key")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", key); err != nil {
		t.Fatal(err)
	}
	refused("not a regular file")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, text, 0o600); err != nil {
		t.Fatal(err)
	}
	w.forge("approve", ".1").want(exitDone)
}
