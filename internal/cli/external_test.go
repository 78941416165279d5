package cli

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/factory"
	"forge/internal/config"
	"forge/internal/proc"
	"forge/internal/trackers"
	"forge/internal/work"
	"forge/internal/worker"
)

// TestStrangersIssueIsSandboxed: what came from a tracker, and every part of
// it, runs in a sandbox whatever the owner's sandbox.mode is, or not at all,
// unless the owner says otherwise of that very tracker.
func TestStrangersIssueIsSandboxed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.forge("issue", "add", "mine").want(exitDone)
	a := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now}
	a.log = log.New(io.Discard)
	s, err := worker.Open(t.Context(), a.env(), w.root, factory.NewConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := func(i work.Issue) work.Issue {
		t.Helper()
		i.Title, i.Priority, i.Column = "x", work.PriorityNormal, work.ColumnReady
		i, err := s.Add(t.Context(), i, factory.Place{At: factory.Bottom}, factory.By{Name: "tester", Door: "cli"})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	theirs := add(work.Issue{Source: "work#7"})
	part := add(work.Issue{Parent: theirs.ID})
	mode := func(i work.Issue) string {
		t.Helper()
		f, err := s.For(t.Context(), i)
		if err != nil {
			return "refused: " + err.Error()
		}
		p, external := f.Project(), i.Source != "" || i.Parent != 0
		if got := slices.Contains(p.Config.File.Verify.Protected, "CLAUDE.md"); got != external || f.External() != external {
			t.Errorf("issue %d: it is an outsider's: %v; the agents' settings are protected: %v", i.ID, f.External(), got)
		}
		// Nor do flags that come later, as those of a resume, take it back.
		if err := p.Configure(); err != nil {
			t.Fatal(err)
		}
		return config.ValueOf(p.Config.File.Sandbox.Mode)
	}
	_, none := proc.Choose("required", false, s.Machine.Caps)
	for name, i := range map[string]work.Issue{"theirs": theirs, "a part of theirs": part} {
		if got := mode(i); got != "required" && (none == nil || !strings.HasPrefix(got, "refused")) {
			t.Errorf("%s runs with sandbox %q", name, got)
		}
	}
	if got := mode(add(work.Issue{})); got != "off" {
		t.Errorf("an own issue runs with sandbox %q", got)
	}
	s.Machine.Caps = proc.Capabilities{Why: "of the test"}
	if got := mode(theirs); !strings.HasPrefix(got, "refused: ") || !strings.Contains(got, "work#7") {
		t.Errorf("without a sandbox: %q", got)
	}
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n[trackers.work]\nkind = \"github\"\nrepo = \"a/b\"\nsandbox = \"as_configured\"\n")
	if cfg, err := trackers.UserConfig(a.env()); err != nil || len(cfg.TrackerSandboxes()) != 1 {
		t.Errorf("the owner's configuration: %v", err)
	}
	if got := mode(theirs); got != "off" {
		t.Errorf("as the owner says: %q", got)
	}
	if got := mode(add(work.Issue{Source: "work2#7"})); !strings.HasPrefix(got, "refused") {
		t.Errorf("another tracker's: %q", got)
	}
	// A project has no say in it.
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n")
	w.configure("[trackers.work]\nkind = \"github\"\nrepo = \"a/b\"\nsandbox = \"as_configured\"\n")
	w.forge("config", "validate").want(exitUsage).warns("trackers cannot be set by a project")
}
