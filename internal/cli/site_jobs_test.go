package cli

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	pages "forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/pace"
	"forge/internal/work"
)

// startJob starts a job by its form; it returns its page.
func (w *siteWorld) startJob(who *webtest.Person, description string) string {
	w.TB.Helper()
	a := who.Send("/p/demo/jobs", url.Values{"description": {description}})
	if a.Status != 303 {
		w.TB.Fatalf("start: %d %s\n%s", a.Status, a.Body, w.Log)
	}
	return a.Header.Get("Location")
}

func jobOf(page string) string { return page[strings.LastIndexByte(page, '/')+1:] }

// sleepsIn is an agent that writes its number into a folder, and works for ever.
func sleepsIn(dir string) string {
	return "[[step]]\ndo = [{run = \"echo $$ > " + dir + "/new; mv " + dir + "/new " + dir + "/pid; exec sleep 300\"}]\n"
}

// A job that works is cancelled on its page: its agent is gone when the page
// answers, the end says who did it, and nobody goes on with the job.
func TestAJobThatWorksIsCancelledByThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, sleepsIn(dir), "true")
	s := withPages(t, w)
	owner := s.Owner()
	at := s.startJob(owner, "Work for ever.")
	cancel := strings.Replace(at, "/jobs/", "/runs/", 1) + "/cancel"
	pid := 0
	w.eventually("the agent works", func() bool {
		text, err := os.ReadFile(dir + "/pid")
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0
	})
	s.has(owner, at, "Cancel this job")
	if _, state, err := s.worker.StandOf(t.Context(), jobOf(at)); err != nil || state.Spec.Trusted == "" {
		t.Errorf("the job's proofs are held against nothing that a person accepted: %v", err)
	}
	for name, role := range map[string]pages.Role{"vera": pages.RoleViewer, "rita": pages.RoleReviewer} {
		if a := s.User(name, role, "demo").Send(cancel, nil); a.Status != 403 {
			t.Errorf("%s cancels: %d", role, a.Status)
		}
	}
	if a := owner.Post(cancel, url.Values{}); a.Status != 403 {
		t.Errorf("cancelled without the form's token: %d", a.Status)
	}
	if a := s.User("olga", pages.RoleOperator, "demo").Send(cancel, nil); a.Status != 303 {
		t.Fatalf("cancel: %d %s\n%s", a.Status, a.Body, s.Log)
	}
	// Of what is dead and not waited for yet no command line is left.
	if command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(command), "sleep") {
		t.Errorf("the agent lives on as process %d: %q", pid, command)
	}
	s.has(owner, at, "state-cancelled", "cancelled by olga")
	if body := s.has(owner, at); strings.Contains(body, "Cancel this job") {
		t.Error("what is over can be cancelled")
	}
	if a := owner.Send(cancel, nil); a.Status != 409 || !strings.Contains(a.Body, "over") {
		t.Errorf("cancelled twice: %d %s", a.Status, a.Body)
	}
	if a := owner.Send("/p/demo/runs/j-nobody/cancel", nil); a.Status != 404 {
		t.Errorf("cancel what is not there: %d", a.Status)
	}
	// The jobs are looked after once more, and this one is left alone.
	if err := s.jobs.GoOn(t.Context(), map[string]int64{}); err != nil {
		t.Fatal(err)
	}
	if row, err := s.worker.Journal.RunOf(t.Context(), jobOf(at)); err != nil || row.Outcome != work.RunCancelled || row.Alive {
		t.Errorf("the job is %+v, %v", row, err)
	}
}

// A job that waits is cancelled; what it asked takes no answer any more. A run
// of the terminal that waits is cancelled in the same way.
func TestWhatWaitsIsCancelledByThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jobScript+done("01"), "true")
	s := withPages(t, w)
	owner := s.Owner()
	at := s.startJob(owner, "Write the file.")
	s.until(owner, at, "It waits for you")
	w.plan(phase("01", "first", 1))
	w.forge("run", "--new", "--level", "hands_off").want(exitFrozen)
	for _, run := range []string{jobOf(at), s.runID()} {
		if a := owner.Send("/p/demo/runs/"+run+"/cancel", nil); a.Status != 303 {
			t.Fatalf("cancel %s: %d %s\n%s", run, a.Status, a.Body, s.Log)
		}
		s.has(owner, "/p/demo/runs/"+run, "state-cancelled", "cancelled by owner")
		if a := owner.Send("/p/demo/checkpoints/"+run+".1/answer", url.Values{"revision": {"1"}, "answer": {"approved"}}); a.Status != 409 {
			t.Errorf("what %s asked is answered after its end: %d %s", run, a.Status, a.Body)
		}
	}
	if a := owner.Get("/inbox"); !strings.Contains(a.Body, "Nothing waits for you") {
		t.Error("the inbox holds what is over")
	}
}

// A run of a terminal that is answered in the browser goes on by the server; one
// that is answered in a terminal waits for the one who did.
func TestTerminalRunAnsweredInTheBrowserGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "true")
	s := withPages(t, w)
	owner := s.Owner()
	w.plan(phase("01", "first", 1))
	w.forge("run", "--new", "--level", "hands_off").want(exitFrozen)
	here := s.runID()
	before, err := s.worker.Journal.RunOf(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	if a := owner.Send("/p/demo/checkpoints/"+here+".1/answer", url.Values{"revision": {"1"}, "answer": {"approved"}}); a.Status != 303 {
		t.Fatalf("answer: %d %s", a.Status, a.Body)
	}
	w.eventually("the run went on", func() bool {
		row, err := s.worker.Journal.RunOf(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		return !row.Alive && row.Events > before.Events+2 // more than the answer
	})
	w.forge("run", "--new", "--level", "hands_off").want(exitFrozen)
	there := s.runID()
	if there == here {
		t.Fatal("the first run is still the newest")
	}
	w.forge("approve", there+".1").want(exitDone)
	if err := s.jobs.GoOn(t.Context(), map[string]int64{}); err != nil {
		t.Fatal(err)
	}
	inbox, err := s.worker.Journal.Inbox(t.Context(), there)
	if row, rowErr := s.worker.Journal.RunOf(t.Context(), there); err != nil || rowErr != nil || len(inbox) != 1 || row.Alive {
		t.Errorf("%+v, %+v: %v, %v", row, inbox, err, rowErr)
	}
	w.forge("resume", there)
}

// A server that stops leaves its jobs where they can be gone on with; the next
// one goes on by itself with what was in the middle of a phase, and with an
// answer that came when no server was there.
func TestTheNextServerGoesOnWithJobs(t *testing.T) {
	pace.Slow(t, "servers that follow one another")
	t.Parallel()
	dir := t.TempDir()
	w := newWorld(t, strings.Replace(jobScript, "do = [\n", "do = [\n  { run = \"echo x >> "+dir+"/begun; while [ ! -e "+dir+"/go ]; do sleep 0.05; done\" },\n", 1), "true")
	s := withPages(t, w)
	at := s.startJob(s.Owner(), "Write the file.")
	run := jobOf(at)
	w.eventually("the agent works", func() bool { text, err := os.ReadFile(dir + "/begun"); return err == nil && len(text) > 0 })
	s.stopTending()
	stands := func(want work.RunOutcome) {
		t.Helper()
		if row, err := s.worker.Journal.RunOf(t.Context(), run); err != nil || row.Alive || row.Outcome != want {
			t.Fatalf("the job is %+v, %v, want it %s", row, err, want)
		}
	}
	stands(work.RunInterrupted)
	w.write(dir+"/go", "")
	next := withPages(t, w)
	next.until(next.Owner(), at, "It waits for you")
	next.stopTending()
	w.forge("approve", run+".1", "--level", "full").want(exitDone)
	stands(work.RunFrozen)
	last := withPages(t, w)
	last.until(last.Owner(), at, "state-completed")
	if text, err := os.ReadFile(dir + "/begun"); err != nil || string(text) != "x\nx\n" {
		t.Errorf("the phase was begun %q, %v, want twice", text, err)
	}
}
