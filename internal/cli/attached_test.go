package cli

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	pages "forge/factory/web"
	"forge/gates"
	"forge/internal/journal"
	"forge/internal/work"
	"forge/orchestrator"
)

// withLines is a project with a run that asks before its first phase: what is there is
// the phase's snapshot.
func withLines(t *testing.T) (w *world, run string) {
	t.Helper()
	w = newWorld(t, done("01"), "true")
	w.write("main.go", "package main\n\nfunc main() {\n\tprintln(1)\n}\n")
	w.write("logo.png", "\x89PNG\r\n\x1a\n\x00\x00")
	if err := os.Symlink("/etc/hostname", filepath.Join(w.root, "link")); err != nil {
		t.Fatal(err)
	}
	w.git("add", "main.go", "logo.png", "link")
	w.git("commit", "--quiet", "-m", "second")
	w.plan(phase("01", "first", 3))
	w.forge("run").want(exitFrozen)
	return w, w.runs()[0]
}

// runs are the ids of the runs, the newest first.
func (w *world) runs() (ids []string) {
	w.t.Helper()
	store, err := journal.Open(w.t.Context(), w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	rows, err := store.Runs(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// inbox is what waits for the run's process.
func (w *world) inbox(run string) (all []work.Answer) {
	w.t.Helper()
	store, err := journal.Open(w.t.Context(), w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	rows, err := store.Inbox(w.t.Context(), run)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range rows {
		all = append(all, r.Answer)
	}
	return all
}

// saidTo are the messages to a run, and levelsOf the levels it is to have: those that
// its process took, and those that wait for it.
func (w *world) saidTo(run string) (all []work.Message) {
	all, _ = w.leftFor(run)
	return all
}

func (w *world) levelsOf(run string) (all []string) {
	_, all = w.leftFor(run)
	return all
}

// leftFor reads both again where a process took something between them: it would be
// missing, or there twice.
func (w *world) leftFor(run string) (said []work.Message, levels []string) {
	w.t.Helper()
	store, err := journal.Open(w.t.Context(), w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	events := func() []work.Event {
		all, err := store.Events(w.t.Context(), run, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		return all
	}
	taken := events()
	waits := w.inbox(run)
	for now := events(); len(now) > len(taken); now = events() {
		taken, waits = now, w.inbox(run)
	}
	for _, e := range taken {
		var m orchestrator.ToldData
		var l orchestrator.PolicyChangedData
		switch {
		case e.Kind == work.PhaseTold && work.Decode(e, &m) == nil:
			said = append(said, work.Message{Text: m.Text, Attached: m.Attached})
		case e.Kind == work.PolicyChanged && work.Decode(e, &l) == nil:
			levels = append(levels, l.Level)
		}
	}
	for _, a := range waits {
		switch {
		case a.Message != nil:
			said = append(said, work.Message{Text: a.Message.Text, Attached: a.Message.Attached})
		case a.Policy != nil:
			policy, err := gates.ReadPolicy(a.Policy)
			if err != nil {
				w.t.Fatal(err)
			}
			levels = append(levels, policy.Preset)
		}
	}
	return said, levels
}

// Files and lines go with a message from every door, and are the same whichever it
// was: the lines as the phase's snapshot has them, a file of one's own as it lies here.
func TestFilesAndLinesFromEveryDoor(t *testing.T) {
	t.Parallel()
	w, run := withLines(t)
	base := w.git("rev-parse", "HEAD")
	w.write("main.go", "changed since\n")
	w.write("docs/notes.txt", "the colour is ultramarine\n")
	s := withPages(t, w)
	s.stopTending() // or it goes on with the run before what was said is read here
	rita := s.User("rita", pages.RoleReviewer, "demo")
	c := w.mcp("--tier", "comment", "--name", "editor")

	lines := work.Attached{Path: "main.go", From: 3, To: 4, Text: "func main() {\n\tprintln(1)\n", Commit: base}
	whole := work.Attached{Path: "README.md", Text: "a project\n", Commit: base}
	notes := work.Attached{Path: "docs/notes.txt", Text: "the colour is ultramarine\n"}

	w.forge("tell", run, "01", "mind this", "--at", "main.go:3-4", "--at", "README.md", "--file", "docs/notes.txt", "--file", filepath.Join(w.root, "docs/notes.txt")).want(exitDone)
	if a := rita.Send("/p/demo/runs/"+run+"/tell", url.Values{"phase": {"01"}, "text": {"mind this"}, "with": {"main.go:3-4\r\n\r\nREADME.md\r\n"}}); a.Status != 303 {
		t.Errorf("the page: %d %s", a.Status, a.Body)
	}
	c.ask("tell", map[string]any{"phase": "01", "text": "mind this", "with": []map[string]any{
		{"path": "main.go", "from": 3, "to": 4, "commit": strings.Repeat("0", 40)}, {"path": "README.md"}, {"path": "docs/notes.txt", "text": notes.Text},
	}}, "is queued")
	said := w.saidTo(run)
	if len(said) != 3 {
		t.Fatalf("said is %+v", said)
	}
	for n, want := range [][]work.Attached{{notes, notes, lines, whole}, {lines, whole}, {lines, whole, notes}} {
		if got := said[n]; got.Text != "mind this" || !reflect.DeepEqual(got.Attached, want) {
			t.Errorf("door %d: %#v, want %#v", n, got.Attached, want)
		}
	}

	// They are in the prompt, on record, and shown.
	w.forge("approve", run+".1", "--resume").want(exitFrozen)
	for _, want := range []string{"main.go:3-4\n\nfunc main() {\n\tprintln(1)", "docs/notes.txt\n\nthe colour is ultramarine", "README.md\n\na project"} {
		w.forge("logs", "01", "--prompt").want(exitDone).says(want)
	}
	w.forge("why", "01").want(exitDone).says("main.go:3-4 at "+base[:12], "docs/notes.txt")
	s.has(rita, "/p/demo/runs/"+run, `<span class="mono quiet">main.go:3-4</span>`)
}

// What cannot go with a message is one clear error, and then nothing is said.
func TestWhatCannotGoWithAMessage(t *testing.T) {
	t.Parallel()
	w, run := withLines(t)
	w.write("big.txt", strings.Repeat("a line\n", 2000))
	w.write("half.txt", strings.Repeat("a line\n", 600))
	w.write("empty.txt", " \n")
	w.write("latin.txt", "gr\xfcn\n")
	w.write(filepath.Join(filepath.Dir(w.root), "outside.txt"), "a secret\n")
	if err := os.Symlink("../outside.txt", filepath.Join(w.root, "out")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", filepath.Join(w.root, "pipe")).CombinedOutput(); err != nil {
		t.Fatalf("mkfifo: %v %s", err, out)
	}
	nine := []string{}
	for range 9 {
		nine = append(nine, "--at", "main.go:1")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--file", "../outside.txt"}, "../outside.txt: it is no path of a file below the project's folder"},
		{[]string{"--file", "/etc/passwd"}, "below the project's folder"},
		{[]string{"--file", "out"}, "out: "},
		{[]string{"--file", "link"}, "link: "},
		{[]string{"--file", ".git/config"}, "git's own"},
		{[]string{"--file", "pipe"}, "no ordinary file"},
		{[]string{"--file", ".forge"}, "no ordinary file"},
		{[]string{"--file", "none.txt"}, "there is no such file"},
		{[]string{"--file", "logo.png"}, "logo.png: it is no text"},
		{[]string{"--file", "latin.txt"}, "it is no text"},
		{[]string{"--file", "empty.txt"}, "there is nothing in it"},
		{[]string{"--file", "big.txt"}, "big.txt: it has 14000 bytes, at most about 7000"},
		{[]string{"--file", "half.txt", "--file", "half.txt"}, "together, at most 7000 are taken"},
		{[]string{"--at", "main.go:3-9"}, "main.go:3-9: it has 5 lines"},
		{[]string{"--at", "main.go:2"}, "there is nothing in it"},
		{[]string{"--at", "main.go:0"}, "counted from 1"},
		{[]string{"--at", "main.go:4-3"}, "PATH:FIRST-LAST"},
		{[]string{"--at", "half.txt:1"}, "no such file in the last snapshot of phase 01"},
		{[]string{"--at", "link:1"}, "no such file in the last snapshot"},
		{[]string{"--at", "logo.png"}, "it is no text"},
		{[]string{"--at", "../outside.txt:1"}, "below the project's folder"},
		{nine, "9 files and ranges of lines are named, at most 8"},
	} {
		e := w.forge(append([]string{"tell", run, "01", "mind this"}, c.args...)...).want(exitUsage).warns("nothing was said", c.want)
		if strings.Contains(e.stderr, "a secret") || strings.Count(strings.TrimSpace(e.stderr), "\n") > 2 {
			t.Errorf("%v: it says %s", c.args, e.stderr)
		}
	}
	w.forge("tell", run, "01", "-m", " ", "--at", "main.go:1").want(exitUsage).warns("the message is empty")

	s := withPages(t, w)
	owner := s.Owner()
	for with, want := range map[string]string{"../x:1": "below the project", "main.go:77": "it has 5 lines", "logo.png": "it is no text"} {
		if a := owner.Send("/p/demo/runs/"+run+"/tell", url.Values{"phase": {"01"}, "text": {"mind this"}, "with": {with}}); a.Status != 422 || !strings.Contains(strings.ReplaceAll(a.Body, "&#39;", "'"), want) {
			t.Errorf("the page, with %s: %d %s", with, a.Status, a.Body)
		}
	}
	c := w.mcp("--tier", "comment")
	c.ask("tell", map[string]any{"phase": "01", "text": "mind this", "with": []map[string]any{{"path": "../../etc/passwd"}}}, "below the project's folder")
	c.ask("tell", map[string]any{"phase": "01", "text": "mind this", "with": []map[string]any{{"path": "main.go", "from": 1, "text": "what never stood there"}}}, "from the phase's last snapshot")
	if said := w.saidTo(run); len(said) > 0 {
		t.Errorf("said is %+v", said)
	}
}
