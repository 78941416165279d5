package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// needFixed skips the test where single files cannot be mounted.
func needFixed(t *testing.T) {
	t.Helper()
	need(t, LevelBubblewrap)
	if err := TryFixed(t.Context(), t.TempDir()); err != nil {
		if os.Getenv("FORGE_TEST_REQUIRE_SANDBOX") == "1" {
			t.Fatalf("%v, but files cannot be kept from being written: %v", errNeeded, err)
		}
		t.Skipf("files cannot be kept from being written here: %v", err)
	}
}

// A child changes none of the files that it may only read, by no way that would
// bring other content to their places, and works beside them as before.
func TestSandboxFixedFilesCannotBeChanged(t *testing.T) {
	t.Parallel()
	needFixed(t)
	d := files(t, "p/tests/deep/a.txt", "p/tests/b.txt", "p/top.txt", "p/free.txt", "p/tests/free.txt", "p/src/c.txt")
	p := filepath.Join(d, "p")
	if err := os.Symlink("free.txt", filepath.Join(p, "link.txt")); err != nil {
		t.Fatal(err)
	}
	s := child(t, "")
	s.Dir = p
	s.Env = append(s.Env, "PATH="+os.Getenv("PATH"))
	s.Sandbox = &Sandbox{
		Level: LevelBubblewrap, Places: map[string]string{"/build/src": p},
		Fixed: []Fixed{{Dir: p, Files: []string{"tests/deep/a.txt", "tests/b.txt", "top.txt", "not/there.txt", "link.txt", "src"}}},
	}
	expect(t, s,
		"read:/build/src/tests/deep/a.txt", "ok content of a.txt",
		"write:/build/src/tests/deep/a.txt", "refused",
		"truncate:/build/src/tests/b.txt", "refused",
		"remove:/build/src/top.txt", "refused",
		"rename:/build/src/free.txt:/build/src/top.txt", "refused",
		"rename:/build/src/tests/b.txt:/build/src/tests/c.txt", "refused",
		"rename:/build/src/tests:/build/src/other", "refused",
		"rename:/build/src/tests/deep:/build/src/tests/other", "refused",
		"run:chmod 777 /build/src/top.txt", "refused",
		"run:unshare -Urm umount /build/src/top.txt", "refused",
		"run:unshare -Urm mount -o remount,rw,bind /build/src/top.txt", "refused",
		"write:/build/src/tests/deep/new.txt", "ok",
		"write:/build/src/tests/free.txt", "ok",
		"rename:/build/src/tests/free.txt:/build/src/tests/moved.txt", "ok",
		"rename:/build/src/src:/build/src/elsewhere", "ok",
		"write:/build/src/link.txt", "ok",
		"env:"+mountOrders+"0", "ok ",
		"run:grep -qE '^Cap(Eff|Amb):\\s*0+$' /proc/self/status && echo none", "ok none",
	)
	for _, name := range []string{"tests/deep/a.txt", "tests/b.txt", "top.txt"} {
		wantContent(t, filepath.Join(p, name), "content of "+filepath.Base(name))
	}
	// Outside nothing is mounted.
	if err := os.WriteFile(filepath.Join(p, "top.txt"), []byte("new"), 0o600); err != nil {
		t.Error(err)
	}
}

// A file below an overlay is the one that is seen there, and there may be more
// than fit into one variable.
func TestSandboxFixedFilesBelowAnOverlay(t *testing.T) {
	t.Parallel()
	needOverlay(t)
	needFixed(t)
	d := files(t, "low/tests/below.txt", "up/tests/own.txt", "work/")
	at := func(name string) string { return filepath.Join(d, name) }
	t.Cleanup(func() { removeAll(at("work")) })
	kept := []string{"tests/own.txt", "tests/below.txt"}
	for n := range 300 {
		name := fmt.Sprintf("tests/%s-%d.txt", strings.Repeat("x", 200), n)
		if err := os.WriteFile(at("up/"+name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, name)
	}
	s := child(t, "")
	s.Dir = at("up")
	s.Sandbox = &Sandbox{
		Level: LevelBubblewrap, Places: map[string]string{"/build/src": at("up")},
		Overlays: []Overlay{{Dir: at("up"), Lower: []string{at("low")}, Work: at("work")}},
		Fixed:    []Fixed{{Dir: at("up"), Files: kept}},
	}
	expect(t, s,
		"read:/build/src/tests/below.txt", "ok content of below.txt",
		"write:/build/src/tests/below.txt", "refused",
		"write:/build/src/tests/own.txt", "refused",
		"write:/build/src/"+kept[len(kept)-1], "refused",
		"write:/build/src/tests/new.txt", "ok",
	)
}

func TestSandboxFixedFilesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	need(t, LevelBubblewrap)
	d := files(t, "p/")
	for want, change := range map[string]func(*Sandbox){
		"cannot keep single files": func(b *Sandbox) { b.Level = LevelLandlock },
		"paths inside":             func(b *Sandbox) { b.Fixed[0].Files = []string{"../p"} },
		"mount for the sandbox":    func(b *Sandbox) { b.Fixed[0].Dir = filepath.Join(d, "none") },
	} {
		s := child(t, "exit", "0")
		s.Dir = filepath.Join(d, "p")
		s.Sandbox = &Sandbox{Level: LevelBubblewrap, Write: []string{s.Dir}, Fixed: []Fixed{{Dir: s.Dir, Files: []string{"a"}}}}
		change(s.Sandbox)
		if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
