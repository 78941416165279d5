package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// needOverlay skips the test where folders cannot be laid over each other.
func needOverlay(t *testing.T) {
	t.Helper()
	need(t, LevelBubblewrap)
	if err := TryOverlay(t.Context(), t.TempDir()); err != nil {
		if os.Getenv("FORGE_TEST_REQUIRE_SANDBOX") == "1" {
			t.Fatalf("%v, but overlays do not work: %v", errNeeded, err)
		}
		t.Skipf("overlays do not work here: %v", err)
	}
}

// A child changes, replaces and removes what lies below its folder, and none of
// it is changed there, nor seen by the next child.
func TestOverlayKeepsWhatLiesBelow(t *testing.T) {
	t.Parallel()
	needOverlay(t)
	d := files(t, "deep/a.txt", "deep/sub/b.txt", "base/a.txt", "base/c, d:e.txt", "base/sub/only.txt", "project/", "up/own.txt", "up2/", "work/", "work2/")
	at := func(name string) string { return filepath.Join(d, name) }
	t.Cleanup(func() { removeAll(at("work")); removeAll(at("work2")) }) // the kernel's own folder has no rights
	s := child(t, "")
	s.Dir = at("project")
	s.Env = append(s.Env, "PATH="+os.Getenv("PATH"))
	box := &Sandbox{
		Level: LevelBubblewrap, Places: map[string]string{"/build/src": at("project"), "/build/home": at("up")}, Hide: []string{at("base"), at("deep")},
		Overlays: []Overlay{{Dir: at("up"), Lower: []string{at("deep"), at("base")}, Work: at("work")}},
	}
	s.Sandbox = box
	expect(t, s,
		"read:/build/home/a.txt", "ok content of a.txt",
		"read:/build/home/own.txt", "ok content of own.txt",
		"read:/build/home/c, d:e.txt", "ok content of c, d:e.txt",
		"read:/build/home/sub/only.txt", "ok content of only.txt",
		"truncate:/build/home/a.txt", "ok",
		"write:/build/home/sub/b.txt", "ok",
		"read:/build/home/sub/b.txt", "ok written by the child",
		"remove:/build/home/sub/only.txt", "ok",
		"read:/build/home/sub/only.txt", "refused",
		"read:"+at("base/a.txt"), "refused",
		"write:"+at("base/a.txt"), "refused",
		"env:"+mountOrders+"0", "ok ",
		"run:grep -qE '^Cap(Eff|Amb):\\s*0+$' /proc/self/status && ! grep -qE '^Cap(Eff|Amb):.*[1-9a-f]' /proc/self/status && echo none", "ok none",
	)
	for _, name := range []string{"deep/a.txt", "deep/sub/b.txt", "base/a.txt", "base/sub/only.txt"} {
		wantContent(t, at(name), "content of "+filepath.Base(name))
	}
	wantContent(t, at("up/sub/b.txt"), "written by the child")
	wantContent(t, at("up/c, d:e.txt"), "") // nothing is mounted outside

	again := *box
	again.Places = map[string]string{"/build/src": at("project"), "/build/home": at("up2")}
	again.Overlays = []Overlay{{Dir: at("up2"), Lower: []string{at("deep"), at("base")}, Work: at("work2")}}
	s.Sandbox = &again
	expect(t, s,
		"read:/build/home/a.txt", "ok content of a.txt",
		"read:/build/home/sub/b.txt", "ok content of b.txt",
		"read:/build/home/sub/only.txt", "ok content of only.txt",
		"read:/build/home/own.txt", "refused",
	)
}

func TestOverlayThatCannotBeHad(t *testing.T) {
	t.Parallel()
	needOverlay(t)
	d := files(t, "up/", "low/", "work/")
	at := func(name string) string { return filepath.Join(d, name) }
	for want, change := range map[string]func(*Sandbox){
		"cannot lay folders":    func(b *Sandbox) { b.Level = LevelLandlock },
		"needs absolute":        func(b *Sandbox) { b.Overlays[0].Lower = nil },
		"mount for the sandbox": func(b *Sandbox) { b.Overlays[0].Lower = []string{at("none")} },
	} {
		s := child(t, "exit", "0")
		s.Dir = at("up")
		s.Sandbox = &Sandbox{Level: LevelBubblewrap, Write: []string{s.Dir}, Overlays: []Overlay{{Dir: s.Dir, Lower: []string{at("low")}, Work: at("work")}}}
		change(s.Sandbox)
		if _, err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
