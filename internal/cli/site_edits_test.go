package cli

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	pages "forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/pace"
	"forge/internal/work"
)

// editable is a checkpoint at which files are edited: the agent wrote main.go
// and notes.md, and the project has the rest.
func editable(t *testing.T) (s *siteWorld, at string) {
	t.Helper()
	w := newWorld(t, writesMain(1, "package main\n\nvar a = 1\n")+"[[step]]\nphase = \"01\"\niteration = 2\ndo = [{print = \"It is well. <promise>PHASE 01 DONE</promise>\"}]\n", "true")
	w.write("Makefile", "all:\n\ttrue\n")
	w.write("old/gone.go", "package old\n")
	w.git("add", "Makefile", "old")
	w.git("commit", "--quiet", "-m", "more files")
	w.plan(phase("01", "first", 3))
	w.forge("run", "--level", "guided").want(exitFrozen)
	s = withPages(t, w)
	return s, "/p/demo/checkpoints/" + s.runID() + ".1"
}

func wish(who *webtest.Person, at, what, path, text string, more ...string) webtest.Answer {
	form := url.Values{"what": {what}, "path": {path}, "revision": {"1"}, "text": {text}}
	for n := 0; n+1 < len(more); n += 2 {
		form.Set(more[n], more[n+1])
	}
	return who.Send(at+"/edit", form)
}

// seen is what the pages say that stands of a file.
func seen(s *siteWorld, who *webtest.Person, at, path string) string {
	s.t.Helper()
	a := who.Get(at + "/edit?path=" + url.QueryEscape(path))
	m := regexp.MustCompile(`name="seen" value="([^"]*)"`).FindStringSubmatch(a.Body)
	if a.Status != 200 || m == nil {
		s.t.Fatalf("the form of %s: %d %s", path, a.Status, a.Body)
	}
	return m[1]
}

// What a person adds and deletes at a checkpoint is in the commit in their name
// and in what lands; it goes no further than its path, its size and its rights.
func TestFilesAreAddedAndDeletedInTheCockpit(t *testing.T) {
	pace.Slow(t, "a run that is stopped for each edit")
	t.Parallel()
	s, at := editable(t)
	run := s.runID()
	owner, operator := s.Owner(), s.User("olga", pages.RoleOperator, "demo")
	s.has(operator, at, "Add a file", `href="`+at+`/edit"`)
	s.has(operator, at+"/edit", "New file", `name="path"`, `name="what" value="add"`)
	s.has(operator, at+"/blob?path=old%2fgone.go", at+"/edit?path=old%2fgone.go")
	s.has(operator, at+"/edit?path=old/gone.go", "Delete the file", "package old")

	for _, c := range []struct {
		what, path string
		want       int
	}{
		{"add", "../out.go", 422}, {"add", "/etc/passwd", 422}, {"add", "a/../../b", 422}, {"add", ".git/config", 422}, {"add", "src/.GIT/hooks/post-commit", 422},
		{"add", ".Forge/forge.toml", 422}, {"add", "MAIN.go", 422}, {"add", "main.go/x", 422}, {"add", "old", 422}, {"add", "", 422}, {"add", "main.go", 409},
		{"add", "GNUmakefile", 403}, {"add", ".github/workflows/x.yml", 403}, {"delete", "Makefile", 403},
		{"delete", "none.go", 404}, {"delete", "old", 404}, {"delete", "../x", 404}, {"edit", "new.go", 404}, {"move", "main.go", 400},
	} {
		a := wish(operator, at, c.what, c.path, "a text that is kept\n")
		if a.Status != c.want {
			t.Errorf("an operator wants to %s %q: %d, want %d", c.what, c.path, a.Status, c.want)
		}
		if c.what == "add" && !strings.Contains(a.Body, "a text that is kept") {
			t.Errorf("%q is refused, and what was written is lost:\n%s", c.path, a.Body)
		}
	}
	if a := wish(operator, at, "add", "big.txt", strings.Repeat("x", work.MaxFileEdit+1)); a.Status != 413 {
		t.Errorf("a file that is too large: %d", a.Status)
	}
	for _, c := range [][3]string{{"add", "src/new.go", "package src\r\n"}, {"add", "empty", ""}, {"delete", "old/gone.go", ""}, {"delete", "notes.md", ""}} {
		if a := wish(operator, at, c[0], c[1], c[2]); a.Status != 303 {
			t.Fatalf("%s %s: %d %s\n%s", c[0], c[1], a.Status, a.Body, s.Log)
		}
	}
	// What was added is edited once more, and a word on another file is taken back.
	if a := wish(operator, at, "edit", "src/new.go", "package src // more\n", "seen", seen(s, operator, at, "src/new.go")); a.Status != 303 {
		t.Errorf("edit what was added: %d", a.Status)
	}
	if a := wish(operator, at, "delete", "src/new.go", "", "seen", seen(s, operator, at, "src/new.go")); a.Status != 409 {
		t.Errorf("delete what was added: %d", a.Status)
	}
	if a := wish(operator, at, "add", "src/new.go/x", "x"); a.Status != 422 {
		t.Errorf("add below what was added: %d", a.Status)
	}
	if a := wish(owner, at, "delete", "Makefile", ""); a.Status != 303 {
		t.Errorf("an admin deletes a protected file: %d", a.Status)
	}
	if a := owner.Send(at+"/edit/drop", url.Values{"path": {"Makefile"}, "seen": {"deleted"}}); a.Status != 303 {
		t.Errorf("take it back: %d", a.Status)
	}
	s.has(owner, at, "4 files were changed by hand", "deleted by olga", "added by olga", "src/new.go")

	s.forge("request-changes", run+".1").want(exitDone)
	s.forge("resume").want(exitFrozen)
	prompt, err := os.ReadFile(strings.TrimSuffix(s.worker.Layout().IterationLog(run, "01", 2, 1), ".log") + ".prompt")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"old/gone.go: olga deleted this file", "src/new.go: olga added this file"} {
		if !strings.Contains(string(prompt), want) {
			t.Errorf("the agent was not told %q:\n%s", want, prompt)
		}
	}
	s.forge("approve", run+".2", "--level", "full", "--resume").want(exitDone)
	for path, want := range map[string]string{"src/new.go": "package src // more\n", "empty": "", "Makefile": "all:\n\ttrue\n"} {
		if text, err := os.ReadFile(filepath.Join(s.root, path)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", path, text, err)
		}
	}
	for _, gone := range []string{"old/gone.go", "notes.md"} {
		if s.exists(gone) {
			t.Errorf("%s is there still", gone)
		}
	}
	if out := s.git("--git-dir", filepath.Join(s.state, "repo.git"), "log", "--all", "--format=%an %s"); !strings.Contains(out, "olga Edited at checkpoint "+run+".1") {
		t.Errorf("no commit in the person's name:\n%s", out)
	}
}

// An edit of a file that became another one meanwhile is refused with a way on,
// when it is made and when it is handed in; nothing that was written is lost.
func TestEditsOfAFileThatMovedAreRefused(t *testing.T) {
	t.Parallel()
	s, at := editable(t)
	run := s.runID()
	owner := s.Owner()
	base := strings.TrimSpace(s.git("rev-parse", "HEAD"))
	a := wish(owner, at, "edit", "main.go", "my own text\n", "base", base)
	if a.Status != 409 || !strings.Contains(a.Body, "The branch has moved") || !strings.Contains(a.Body, "my own text") {
		t.Errorf("an edit of the file as it was: %d %s", a.Status, a.Body)
	}
	if a := wish(owner, at, "edit", "main.go", "x\n", "base", "--output=x"); a.Status != 409 {
		t.Errorf("an edit of no commit: %d", a.Status)
	}
	if a := wish(owner, at, "edit", "old/gone.go", "package old // edited\n", "base", base); a.Status != 303 {
		t.Errorf("an edit of a file that did not move: %d %s", a.Status, a.Body)
	}
	blob, err := s.worker.Journal.PutBlob(t.Context(), []byte("x\n"))
	if err != nil {
		t.Fatal(err)
	}
	for n, old := range []string{base, ""} {
		if _, err := s.worker.Journal.EditFile(t.Context(), run+".1", 0, []string{"", blob}[n], work.FileEdit{Path: "main.go", Blob: blob, Base: old, By: "olga"}, s.worker.Now()); err != nil {
			t.Fatal(err)
		}
		if a := owner.Send(at+"/answer", url.Values{"revision": {"1"}, "answer": {"changes_requested"}, "comment": {"x"}}); a.Status != 422 || !strings.Contains(a.Body, "The branch has moved since main.go was edited") {
			t.Errorf("an edit of %q is handed in: %d %s", old, a.Status, a.Body)
		}
		if got := s.forge("request-changes", run+".1", "-m", "x").want(exitUsage); !strings.Contains(got.stderr, "edit it again") {
			t.Errorf("the command line says %s", got.stderr)
		}
	}
	if a := owner.Send(at+"/edit/drop", url.Values{"path": {"main.go"}, "seen": {blob}}); a.Status != 303 {
		t.Errorf("take it back: %d", a.Status)
	}
	if a := owner.Send(at+"/answer", url.Values{"revision": {"1"}, "answer": {"changes_requested"}, "comment": {"x"}}); a.Status != 303 {
		t.Errorf("what is left is handed in: %d %s", a.Status, a.Body)
	}
	if a := wish(owner, at, "edit", "main.go", "x\n"); a.Status != 409 {
		t.Errorf("an edit after the answer: %d", a.Status)
	}
}

// Of two people who edit a file at once, the later one is told what the earlier
// one made of it, keeps what was written, and writes over it knowingly only.
func TestTwoPeopleEditOneFile(t *testing.T) {
	t.Parallel()
	s, at := editable(t)
	olga, otto := s.User("olga", pages.RoleOperator, "demo"), s.User("otto", pages.RoleOperator, "demo")
	stands := func(path, by, text string) {
		t.Helper()
		cp, err := s.worker.Journal.Checkpoint(t.Context(), s.runID()+".1")
		e := cp.EditOf(path)
		if err != nil || e == nil || e.By != by {
			t.Fatalf("the edit of %s is %+v, %v", path, e, err)
		}
		if got, err := s.worker.Journal.Blob(t.Context(), e.Blob); !e.Delete && (err != nil || string(got) != text) {
			t.Errorf("%s is %q, %v", path, got, err)
		}
	}
	refused := func(a webtest.Answer, has ...string) {
		t.Helper()
		for _, want := range has {
			if a.Status != 409 || !strings.Contains(a.Body, want) {
				t.Fatalf("%d, without %q:\n%s", a.Status, want, a.Body)
			}
		}
	}
	// Both open the form of the file as it is judged.
	was := seen(s, olga, at, "main.go")
	if a := wish(olga, at, "edit", "main.go", "olga's text\n", "seen", was); a.Status != 303 {
		t.Fatalf("the first one: %d %s", a.Status, a.Body)
	}
	late := wish(otto, at, "edit", "main.go", "otto's text\n", "seen", was)
	refused(late, "olga edited main.go meanwhile.", "olga&#39;s text", "otto&#39;s text")
	stands("main.go", "olga", "olga's text\n")
	refused(wish(otto, at, "delete", "main.go", "", "seen", was), "olga edited main.go meanwhile.", "Nothing was done", "olga&#39;s text")
	// The form that the refusal shows is about what olga made of it.
	m := regexp.MustCompile(`name="seen" value="([^"]+)"`).FindStringSubmatch(late.Body)
	if m == nil || m[1] != seen(s, otto, at, "main.go") {
		t.Fatalf("the form is about %v:\n%s", m, late.Body)
	}
	if a := wish(otto, at, "edit", "main.go", "both texts\n", "seen", m[1]); a.Status != 303 {
		t.Fatalf("knowingly: %d %s", a.Status, a.Body)
	}
	stands("main.go", "otto", "both texts\n")
	refused(olga.Send(at+"/edit/drop", url.Values{"path": {"main.go"}, "seen": {m[1]}}), "otto edited main.go meanwhile.", "both texts")
	stands("main.go", "otto", "both texts\n")

	// Two add a file of one name; then one takes it back that the other edits.
	if a := wish(olga, at, "add", "new.go", "one\n"); a.Status != 303 {
		t.Fatalf("add: %d %s", a.Status, a.Body)
	}
	refused(wish(otto, at, "add", "new.go", "two\n"), "olga added new.go meanwhile.", "one\n", "two\n")
	sum := seen(s, otto, at, "new.go")
	if a := olga.Send(at+"/edit/drop", url.Values{"path": {"new.go"}, "seen": {sum}}); a.Status != 303 {
		t.Fatalf("take it back: %d %s", a.Status, a.Body)
	}
	refused(wish(otto, at, "edit", "new.go", "two\n", "seen", sum), "The edit of new.go was taken back meanwhile.", "two\n", `name="what" value="add"`)
	refused(olga.Send(at+"/edit/drop", url.Values{"path": {"main.go"}}), "otto edited main.go meanwhile.")
}

// Where the run as a whole is judged, what each phase said last is shown.
func TestTheFinalQuestionShowsWhatWasSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, writesMain(1, "package main\n")+"[[step]]\nphase = \"02\"\ndo = [{write = \"b.go\", content = \"package main\\n\"}, {print = \"The second **part**. <promise>PHASE 02 DONE</promise>\"}]\n", "true")
	w.plan(phase("01", "first", 3), phase("02", "second", 3, "01"))
	w.forge("run", "--level", "review").want(exitFrozen)
	s := withPages(t, w)
	body := s.has(s.Owner(), "/p/demo/checkpoints/"+s.runID()+".1", "<strong>Phase 01, first</strong>", "I wrote <strong>main</strong>", "Phase 02, second", "The second <strong>part</strong>")
	if strings.Contains(body, "The agent said nothing") {
		t.Error("the page says that nothing was said")
	}
	if out := w.forge("show", s.runID()+".1").want(exitDone); !strings.Contains(out.stdout, "The second **part**.") {
		t.Errorf("forge show says\n%s", out.stdout)
	}
}

// The plan of a job is edited in the cockpit as a file of any phase is, by who may
// edit work: the same phase goes on from it, with the todos as they were written.
func TestThePlanOfAJobIsEditedInTheCockpit(t *testing.T) {
	t.Parallel()
	again := "[[step]]\nphase = \"1\"\niteration = 2\ndo = [{ print = \"<promise>phase ${FORGE_PHASE} of job ${FORGE_RUN} is done</promise>\" }]\n"
	w := newWorld(t, strings.Replace(jobScript, "phase = \"1\"", "phase = \"1\"\niteration = 1", 1)+again, "true")
	s := withPages(t, w)
	owner, operator := s.Owner(), s.User("olga", pages.RoleOperator, "demo")
	page := s.startJob(owner, "Write the file.")
	s.until(owner, page, "It waits for you")
	at := "/p/demo/checkpoints/" + jobOf(page) + ".1"
	path := work.JobDir + "/plan.md"
	if a := wish(operator, at, "edit", path, "# The plan of a person\n", "seen", seen(s, operator, at, path)); a.Status != 303 {
		t.Fatalf("edit: %d %s", a.Status, a.Body)
	}
	if a := owner.Send(at+"/answer", url.Values{"revision": {"1"}, "answer": {"changes_requested"}, "comment": {"as I wrote it"}}); a.Status != 303 {
		t.Fatalf("answer: %d %s", a.Status, a.Body)
	}
	var prompt []byte
	w.eventually("the phase goes on", func() bool {
		_, st, err := s.worker.StandOf(t.Context(), jobOf(page))
		if err != nil || st.Phases["1"] == nil || len(st.Open) == 0 || st.Phases["1"].Iteration < 2 {
			return false
		}
		prompt, err = os.ReadFile(strings.TrimSuffix(s.worker.Layout().IterationLog(jobOf(page), "1", 2, 1), ".log") + ".prompt")
		return err == nil
	})
	if want := path + ": olga edited this file"; !strings.Contains(string(prompt), want) {
		t.Errorf("the agent was not told %q:\n%s", want, prompt)
	}
	changed := w.forge("diff", "1", "--run", jobOf(page))
	if !strings.Contains(changed.stdout, "+# The plan of a person") {
		t.Errorf("it does not go on from the edit:\n%s", changed.stdout)
	}
}
