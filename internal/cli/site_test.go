package cli

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/factory"
	pages "forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/site"
	"forge/internal/work"
	"forge/internal/worker"
)

// siteWorld is a project with its pages.
type siteWorld struct {
	*world
	*webtest.World
	worker *worker.Worker
	jobs   *site.Jobs
	// stopTending ends the looking after jobs, as the end of a server does.
	stopTending func()
}

// withPages serves the pages of a project over its real journal and repository.
func withPages(t *testing.T, w *world) *siteWorld {
	t.Helper()
	app := &App{Stdin: strings.NewReader(""), Stdout: &safeBuffer{}, Stderr: &safeBuffer{}, Environ: w.env, Dir: w.root, Now: time.Now}
	app.logTo(log.WarnLevel)
	sh, err := worker.Open(context.Background(), app.env(), w.root, factory.NewConcurrency(2))
	if err != nil {
		t.Fatal(err)
	}
	made := site.Open(context.Background(), []*worker.Worker{sh})
	list, err := made.Projects(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		made.Jobs[0].Tend(ctx)
	}()
	stopTending := func() {
		stop()
		<-over
	}
	t.Cleanup(func() {
		stopTending()
		sh.Close()
	})
	out := &siteWorld{world: w, World: webtest.New(t), worker: sh, jobs: made.Jobs[0], stopTending: stopTending}
	out.Site.Change("demo", func(p *pages.Project) {
		id := p.ID
		*p = list[0]
		p.ID = id
	})
	return out
}

// has fails unless a page answers with all of the texts.
func (w *siteWorld) has(who *webtest.Person, path string, want ...string) string {
	w.TB.Helper()
	a := who.Get(path)
	if a.Status != 200 {
		w.TB.Fatalf("%s answers %d: %s\nserver: %s", path, a.Status, a.Body, w.Log)
	}
	for _, text := range want {
		if !strings.Contains(a.Body, text) {
			w.TB.Errorf("%s is without %q:\n%s", path, text, a.Body)
		}
	}
	return a.Body
}

// writesMain is a step in which phase 01 writes text, and keeps its promise.
func writesMain(iteration int, text string) string {
	return fmt.Sprintf("[[step]]\nphase = \"01\"\niteration = %d\ndo = [{write = \"main.go\", content = %q}, {write = \"notes.md\", content = \"# Notes\\n\\nsecond\\n\"}, {print = \"I wrote **main**. <promise>PHASE 01 DONE</promise>\"}]\n", iteration, text)
}

// A checkpoint from the first look to the approval, all of it by pages: what
// the agent is told, what it does then, and what everybody sees of it.
func TestCockpitSendsBackAndApproves(t *testing.T) {
	w := newWorld(t, writesMain(1, "package main\n\nvar a = 1\n")+writesMain(2, "package main\n\nvar b = 2\n"), "true")
	w.plan(phase("01", "first", 3))
	w.forge("run", "--level", "guided").want(exitFrozen)
	s := withPages(t, w)
	owner := s.Owner()
	run := s.runID()
	at := "/p/demo/checkpoints/" + run + ".1"

	s.has(owner, "/p/demo/runs", run, "frozen")
	s.has(owner, "/p/demo/runs/"+run, "It waits for you", "waits for you", "01 first", "claim")
	s.has(owner, "/p/demo/runs/"+run+"/output?phase=01&iteration=1&attempt=1", "I wrote <strong>main</strong>")
	s.has(owner, "/p/demo/runs/"+run+"/output?phase=01&iteration=1&attempt=1&raw=1", "I wrote **main**")
	body := s.has(owner, at, "I wrote <strong>main</strong>", "main.go", "notes.md", "read first: ", "If you approve:", `name="answer" value="changes_requested"`, "<code>true</code> passed", "your checks passed on exactly this commit")
	if strings.Index(body, `data-file="main.go"`) > strings.Index(body, `data-file="notes.md"`) {
		t.Error("the source does not stand before the text")
	}
	s.has(owner, at+"/file?path=main.go", `<span class="tk">var</span>`, `data-side="new" data-line="3"`)
	s.has(owner, at+"/file?path=main.go&look=inline", "diff-inline")
	s.has(owner, at+"/file?path=notes.md&look=read", `<ins class="block">`, "<h3>Notes</h3>")
	s.has(owner, at+"/tree", "README.md", "main.go")
	s.has(owner, at+"/tree?find=read", "README.md")
	s.has(owner, at+"/blob?path=README.md", "a project")
	s.has(owner, at+"/comment?path=main.go&side=new&line=3", "Comment on line 3")

	// Comments on lines; one is taken back, and one is about no line.
	say := func(line, body string) webtest.Answer {
		return owner.Send(at+"/comment", url.Values{"path": {"main.go"}, "side": {"new"}, "line": {line}, "revision": {"1"}, "body": {body}})
	}
	if a := say("3", "Call it b, please."); a.Status != 303 {
		t.Fatalf("a comment: %d %s", a.Status, a.Body)
	}
	if a := say("1", "never mind"); a.Status != 303 {
		t.Fatalf("a comment: %d %s", a.Status, a.Body)
	}
	if a := say("99", "nowhere"); a.Status != 422 {
		t.Errorf("a comment on no line: %d %s", a.Status, a.Body)
	}
	if a := say("3", " "); a.Status != 422 {
		t.Errorf("a comment without a word: %d", a.Status)
	}
	if a := owner.Send(at+"/uncomment", url.Values{"path": {"main.go"}, "comment": {"2"}, "revision": {"1"}}); a.Status != 303 {
		t.Fatalf("take back: %d %s", a.Status, a.Body)
	}
	s.has(owner, at+"/file?path=main.go", "Call it b, please.")
	if a := owner.Send(at+"/judge", url.Values{"path": {"notes.md"}, "revision": {"1"}, "verdict": {"approve"}}); a.Status != 303 {
		t.Fatalf("judge: %d %s", a.Status, a.Body)
	}
	if a := owner.Send(at+"/judge", url.Values{"path": {"no.such"}, "revision": {"1"}, "verdict": {"approve"}}); a.Status != 404 {
		t.Errorf("judge no file: %d %s", a.Status, a.Body)
	}
	// Viewers see it all and change nothing; a reviewer does not answer what is
	// an owner's to answer.
	viewer, reviewer := s.User("vera", pages.RoleViewer, "demo"), s.User("rita", pages.RoleReviewer, "demo")
	s.has(viewer, at, "You may look, and not answer")
	answer := url.Values{"revision": {"1"}, "answer": {"approved"}}
	if a := viewer.Send(at+"/answer", answer); a.Status != 403 {
		t.Errorf("a viewer answers: %d", a.Status)
	}
	if a := reviewer.Send(at+"/answer", answer); a.Status != 422 {
		t.Errorf("a reviewer answers: %d %s", a.Status, a.Body)
	}
	if a := owner.Post(at+"/answer", answer); a.Status != 403 {
		t.Errorf("an answer without the form's token: %d", a.Status)
	}
	if a := owner.Send(at+"/answer", url.Values{"revision": {"1"}, "answer": {"approved"}, "level": {"wild"}}); a.Status != 422 {
		t.Errorf("a level that there is not: %d %s", a.Status, a.Body)
	}
	if a := owner.Send(at+"/answer", url.Values{"revision": {"7"}, "answer": {"approved"}}); a.Status != 409 {
		t.Errorf("an answer to another revision: %d", a.Status)
	}
	if a := owner.Send(at+"/answer", url.Values{"revision": {"1"}, "answer": {"maybe"}}); a.Status != 400 {
		t.Errorf("no answer: %d", a.Status)
	}
	if a := owner.Send(at+"/answer", url.Values{"revision": {"1"}, "answer": {"changes_requested"}}); a.Status != 303 {
		t.Fatalf("request changes: %d %s", a.Status, a.Body)
	}
	s.has(owner, at, "changes requested", "(web)", "Call it b, please.")
	if a := owner.Send(at+"/answer", url.Values{"revision": {"1"}, "answer": {"approved"}}); a.Status != 409 {
		t.Errorf("a second answer: %d", a.Status)
	}

	s.until(owner, "/p/demo/checkpoints/"+run+".2", "") // the server goes on with what it was answered
	prompt, err := os.ReadFile(strings.TrimSuffix(s.worker.Layout().IterationLog(run, "01", 2, 1), ".log") + ".prompt")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"main.go:3\n> var a = 1\nCall it b, please.", "Fine as they are: notes.md"} {
		if !strings.Contains(string(prompt), want) {
			t.Errorf("the agent was not told %q:\n%s", want, prompt)
		}
	}
	if strings.Contains(string(prompt), "never mind") {
		t.Error("the agent was told what was taken back")
	}
	at = "/p/demo/checkpoints/" + run + ".2"
	s.has(owner, at+"/file?path=main.go", "b = ")
	if a := owner.Send(at+"/answer", url.Values{"revision": {"2"}, "answer": {"approved"}, "level": {"full"}}); a.Status != 303 {
		t.Fatalf("approve: %d %s", a.Status, a.Body)
	}
	s.until(owner, "/p/demo/runs/"+run, "completed")
	s.has(owner, "/p/demo/runs/"+run, "level full")
	s.has(owner, "/p/demo/metrics", "1 of 1 run that ended completed", "Figures are drawn from 5 runs on")
	if !w.exists("main.go") {
		t.Error("the result was not landed")
	}
}

// runID is the newest run.
func (w *siteWorld) runID() string {
	w.TB.Helper()
	rows, err := w.worker.Journal.Runs(context.Background())
	if err != nil || len(rows) == 0 {
		w.TB.Fatalf("no runs: %v", err)
	}
	return rows[0].ID
}

// until asks for a page until it holds the text.
func (w *siteWorld) until(who *webtest.Person, path, want string) string {
	w.TB.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		a := who.Get(path)
		if a.Status == 200 && strings.Contains(a.Body, want) {
			return a.Body
		}
		if time.Now().After(end) {
			w.TB.Fatalf("%s never holds %q: %d %s\nserver: %s", path, want, a.Status, a.Body, w.Log)
		}
	}
}

// A job that is started on a page is driven by the server, waits for an answer
// about its plan, and goes on by itself once it is there.
func TestAJobIsStartedAndAnsweredByPages(t *testing.T) {
	w := newWorld(t, jobScript, "true")
	s := withPages(t, w)
	owner := s.Owner()
	s.has(owner, "/p/demo/jobs", "No jobs yet")
	s.has(owner, "/p/demo/jobs/new", `name="description"`, "researcher")
	if a := owner.Send("/p/demo/jobs", url.Values{"description": {"x"}, "expert": {"nobody"}}); a.Status != 422 || !strings.Contains(a.Body, "nobody") || !strings.Contains(a.Body, ">x</textarea>") {
		t.Errorf("an expert that there is not: %d %s", a.Status, a.Body)
	}
	if a := s.User("olga", pages.RoleOperator, "demo").Send("/p/demo/jobs", url.Values{"description": {"x"}, "level": {"full"}}); a.Status != 403 {
		t.Errorf("an operator chooses a level: %d", a.Status)
	}
	token := owner.FormToken()
	body := "--b\r\nContent-Disposition: form-data; name=\"forge_token\"\r\n\r\n" + token + "\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"description\"\r\n\r\nWrite the **file**.\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"expert\"\r\n\r\nwriter\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"documents\"; filename=\"../../etc/pass wd.txt\"\r\nContent-Type: text/plain\r\n\r\nread me\r\n--b--\r\n"
	a := owner.Do("POST", "/p/demo/jobs", body, "Content-Type", "multipart/form-data; boundary=b")
	if a.Status != 303 {
		t.Fatalf("start: %d %s\n%s", a.Status, a.Body, s.Log)
	}
	at := a.Header.Get("Location")
	page := s.until(owner, at, "It waits for you")
	for _, want := range []string{"Write the <strong>file</strong>", "pass-wd.txt", "<h3>The plan</h3>", "todo-open"} {
		if !strings.Contains(page, want) {
			t.Errorf("the job's page is without %q:\n%s", want, page)
		}
	}
	cp := regexp.MustCompile(`/p/demo/checkpoints/[^"]+`).FindString(page)
	s.has(owner, cp, "The plan", "todos.yaml")
	if a := owner.Send(cp+"/answer", url.Values{"revision": {"1"}, "answer": {"approved"}, "level": {"full"}}); a.Status != 303 {
		t.Fatalf("approve: %d %s", a.Status, a.Body)
	}
	s.until(owner, at, `state-completed`)
	s.has(owner, "/p/demo/jobs", "completed")
	if strings.Contains(s.has(owner, "/p/demo/runs"), filepath.Base(at)) {
		t.Error("the job is among the runs")
	}
}

// jobScript plans five todos, does them, and says that the job is complete.
const jobScript = `
[[step]]
phase = "1"
do = [
  { write = "forge-job/plan.md", content = "# The plan\n" },
  { write = "forge-job/todos.yaml", content = "todos:\n- title: First\n- title: Second\n- title: Third\n- title: Fourth\n- title: Fifth\n" },
  { print = "<promise>phase ${FORGE_PHASE} of job ${FORGE_RUN} is done</promise>" },
]
[[step]]
phase = "2"
do = [
  { write = "file.txt", content = "here\n" },
  { write = "forge-job/todos.yaml", content = "todos:\n- {title: First, done: true}\n- {title: Second, done: true}\n- {title: Third, done: true}\n- {title: Fourth, done: true}\n- {title: Fifth, done: true}\n" },
  { print = "<promise>phase ${FORGE_PHASE} of job ${FORGE_RUN} is done</promise>" },
]
[[step]]
phase = "3"
do = [
  { write = "forge-job/archive/retrospective.md", content = "It went well.\n" },
  { print = '<job-complete>{"summary": "Wrote it", "deliverables": ["file.txt"], "confidence": 0.9, "notes": ""}</job-complete>' },
]
`

// Whatever a project, its agent and its people write, pages show it as text.
func TestPagesShowHostileWordsAsText(t *testing.T) {
	const bad = `<img src=x onerror=alert(1)><script>alert(2)</script>`
	w := newWorld(t, "[[step]]\ndo = [{write = \"<img src=x onerror=alert(3)>.md\", content = \""+`<script>alert(4)</script> [x](javascript:alert(5))`+"\\n\"}, {write = \"a'b\\\".go\", content = \"package a // </td><script>alert(6)</script>\\n\"}, {print = \""+`<script>alert(7)</script> ![x](http://x.invalid/y.png)`+" <blocker>"+`<svg onload=alert(8)>`+"</blocker> <promise>PHASE 01 DONE</promise>\"}]\n", "true")
	w.plan(phase("01", "a <img src=x onerror=alert(1)>", 2))
	w.forge("run", "--level", "guided").want(exitFrozen)
	s := withPages(t, w)
	owner := s.Owner()
	if _, err := s.worker.Board.Add(context.Background(), work.Issue{
		Title: bad, Description: bad + "\n\n[x](javascript:alert(9))", Column: work.ColumnBacklog, Priority: work.PriorityNormal,
		Criteria: []work.Criterion{{ID: "c1", Text: bad}}, Labels: []string{"l" + `"><script>`},
	}, factory.Place{At: factory.Bottom}, factory.By{Name: bad, Door: "cli", Note: bad}); err != nil {
		t.Fatal(err)
	}
	run := s.runID()
	at := "/p/demo/checkpoints/" + run + ".1"
	if a := owner.Send(at+"/comment", url.Values{"path": {"a'b\".go"}, "side": {"new"}, "line": {"1"}, "revision": {"1"}, "body": {bad}}); a.Status != 303 {
		t.Fatalf("comment: %d %s", a.Status, a.Body)
	}
	if a := owner.Send(at+"/judge", url.Values{"path": {"a'b\".go"}, "revision": {"1"}, "verdict": {"send-back"}, "comment": {bad}}); a.Status != 303 {
		t.Fatalf("judge: %d %s", a.Status, a.Body)
	}
	md, code := url.QueryEscape("<img src=x onerror=alert(3)>.md"), url.QueryEscape("a'b\".go")
	for _, path := range []string{
		"/p/demo/issues/1", "/p/demo/runs", "/p/demo/runs/" + run, "/p/demo/runs/" + run + "/events", "/p/demo/runs/" + run + "/now", at, at + "/now", at + "/tree", at + "/tree?find=" + url.QueryEscape(bad),
		at + "/file?path=" + md, at + "/file?path=" + md + "&look=read", at + "/file?path=" + md + "&look=inline", at + "/file?path=" + code, at + "/blob?path=" + md, at + "/blob?look=read&path=" + md, at + "/blob?path=" + code,
		at + "/comment?side=new&line=1&path=" + code, "/p/demo/runs/" + run + "/output?phase=01&iteration=1&attempt=1", "/p/demo/metrics", "/p/demo/jobs/new",
	} {
		body := s.has(owner, path)
		for _, script := range regexp.MustCompile(`(?i)<script[^>]*>`).FindAllString(body, -1) {
			if !strings.Contains(script, ` src="/static/`) {
				t.Errorf("%s holds %s", path, script)
			}
		}
		for _, never := range []string{"<img", "<svg onload", "onerror=alert(1)>", `href="javascript:`, " style=", "http://x.invalid/y.png\">"} {
			if i := strings.Index(body, never); i >= 0 && !(never == "http://x.invalid/y.png\">") {
				t.Errorf("%s holds %q: …%s", path, never, body[max(0, i-100):min(len(body), i+100)])
			}
		}
	}
	// Pages that are not there, and paths out of where they may look.
	for path, want := range map[string]int{
		at + "/blob?path=../../../../etc/passwd": 404, at + "/blob?path=": 404, at + "/file?path=nothing": 404,
		"/p/demo/runs/nobody": 404, "/p/demo/checkpoints/nobody": 404, "/p/demo/issues/99": 404, "/p/demo/runs/" + run[:4]: 404, "/p/demo/checkpoints/" + run: 404,
		"/p/demo/runs/" + run + "/output?phase=../x&iteration=1": 404, "/p/demo/runs/" + run + "/output?phase=01&iteration=-1": 400, "/p/demo/runs/" + run + "/events?after=x": 400,
		"/p/other/runs": 404,
	} {
		if a := owner.Get(path); a.Status != want {
			t.Errorf("%s answers %d, want %d: %.300s", path, a.Status, want, a.Body)
		}
	}
}

// A file that a person edits becomes a commit in their name, the agent goes on
// from it, and what lands holds it.
func TestAFileIsEditedInTheCockpit(t *testing.T) {
	w := newWorld(t, writesMain(1, "package main\n\nvar a = 1\n")+"[[step]]\nphase = \"01\"\niteration = 2\ndo = [{run = \"grep -q 'by hand' main.go\"}, {print = \"It is well. <promise>PHASE 01 DONE</promise>\"}]\n", "true")
	w.write("Makefile", "all:\n\ttrue\n")
	w.git("add", "Makefile")
	w.git("commit", "--quiet", "-m", "a Makefile")
	w.plan(phase("01", "first", 3))
	w.forge("run", "--level", "guided").want(exitFrozen)
	s := withPages(t, w)
	owner, operator := s.Owner(), s.User("olga", pages.RoleOperator, "demo")
	run := s.runID()
	at := "/p/demo/checkpoints/" + run + ".1"
	s.has(operator, at, at+"/edit?path=main.go")
	s.has(operator, at+"/edit?path=main.go", "var a = 1")
	edit := func(who *webtest.Person, path, text string) int {
		return who.Send(at+"/edit", url.Values{"path": {path}, "revision": {"1"}, "text": {text}}).Status
	}
	if got := edit(operator, "main.go", "package main\r\n\r\nvar a = 2 // by hand\r\n"); got != 303 {
		t.Fatalf("an edit: %d\n%s", got, s.Log)
	}
	for path, want := range map[string]int{"Makefile": 403, "no/such": 404, "../x": 404, "": 404} {
		if got := edit(operator, path, "x\n"); got != want {
			t.Errorf("an operator edits %q: %d, want %d", path, got, want)
		}
	}
	if got := edit(owner, "Makefile", "all:\n"); got != 303 {
		t.Errorf("an admin edits a protected file: %d", got)
	}
	if a := owner.Send(at+"/edit/drop", url.Values{"path": {"Makefile"}, "seen": {seen(s, owner, at, "Makefile")}}); a.Status != 303 {
		t.Errorf("take an edit back: %d", a.Status)
	}
	if got := edit(s.User("rita", pages.RoleReviewer, "demo"), "main.go", "x\n"); got != 403 {
		t.Errorf("a reviewer edits: %d", got)
	}
	s.has(owner, at, "edited by olga")
	if a := owner.Send(at+"/answer", url.Values{"revision": {"1"}, "answer": {"approved"}}); a.Status != 409 {
		t.Errorf("what nobody has proven is approved: %d", a.Status)
	}
	// The answer comes through another door, and takes the edit along.
	w.forge("request-changes", run+".1").want(exitDone)
	w.forge("resume").want(exitFrozen)
	at = "/p/demo/checkpoints/" + run + ".2"
	s.has(owner, at+"/file?path=main.go", "by hand")
	s.has(owner, "/p/demo/runs/"+run, "edit → go", "tester")
	w.forge("approve", run+".2", "--level", "full", "--resume").want(exitDone)
	if text, err := os.ReadFile(filepath.Join(w.root, "main.go")); err != nil || string(text) != "package main\n\nvar a = 2 // by hand\n" {
		t.Errorf("main.go is %q, %v", text, err)
	}
	out := w.git("--git-dir", filepath.Join(w.state, "repo.git"), "log", "--all", "--format=%an %s")
	if !strings.Contains(out, "olga Edited at checkpoint "+run+".1") {
		t.Errorf("no commit in the person's name:\n%s", out)
	}
}
