package cli

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/work"
)

const startScript = `
[[step]]
phase = "say-hello"
do = [{write = "hello.txt", content = "hello\n"}, {print = "<promise>SAY HELLO DONE</promise>"}]
[[step]]
phase = "say-nothing"
do = [{print = "I do not know how."}]
` + "\n"

// A run of a text, and one of the plan, begun by the API of a running server: what
// they will do is said, and what they made is on the branch.
func TestTheAPIBeginsARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startScript+done("01"), "test -f README.md")
	w.plan(phase("01", "first", 3))
	s := w.serve("bot")
	var will web.Forecast
	s.ask("POST", s.project+"/runs/forecast", `{"text":"Say hello","run_usd":2}`, 200, &will)
	if len(will.Stops) != 7 || len(will.Phases) != 1 || will.Phases[0].Name != "say-hello" || will.Branch != "main" || will.USD == nil || *will.USD != 2 || len(will.Phases[0].Verify) != 1 || will.Sum == "" {
		t.Fatalf("it will do %+v", will)
	}
	var st api.Status
	s.ask("POST", s.project+"/runs", `{"text":"Say hello","run_usd":1,"seen":"`+will.Sum+`"}`, 409, nil)
	s.ask("POST", s.project+"/runs", `{"text":"Say hello","run_usd":2,"level":"partial","seen":"`+will.Sum+`"}`, 409, nil)
	s.ask("POST", s.project+"/runs", `{"text":"Say hello","run_usd":2,"seen":"`+will.Sum+`"}`, 200, &st)
	over := func(id string) func() bool {
		return func() bool {
			s.ask("GET", s.project+"/runs/"+id, "", 200, &st)
			return st.State == "finished"
		}
	}
	id := st.Run
	s.eventually("the run of the text is over", func() bool {
		s.approve() // before it is merged
		return over(id)()
	})
	if st.Outcome != work.RunCompleted || w.git("show", "main:hello.txt") != "hello" {
		t.Errorf("its run: %+v", st)
	}

	// The plan's own run asks before it begins, too, and goes on with the answer.
	s.ask("POST", s.project+"/runs", `{"level":"interactive"}`, 200, &st)
	id = st.Run
	if code, body := s.send("POST", s.project+"/runs", `{"level":"full"}`); code != 422 || !strings.Contains(body, "unfinished") && !strings.Contains(body, "driven") {
		t.Errorf("a second one beside it: %d %s", code, body)
	}
	s.eventually("the run of the plan is over", func() bool {
		s.approve()
		return over(id)()
	})
	if st.Outcome != work.RunCompleted || w.git("show", "main:out-01.txt") != "made by 01" {
		t.Errorf("its run: %+v", st)
	}
}

// The work of a phase that is left undone can be had by what its page says.
func TestTheRunPageSaysHowToTakeWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startScript, "test -f README.md")
	w.forge("do", "--level", "full", "--budget", "1", "--verify", "false", "Say hello").want(exitFailed)
	s := withPages(t, w)
	command := "forge take " + s.runID() + " 1"
	page := s.Owner().Get("/p/demo/runs/" + s.runID()).Body
	for _, want := range []string{"<code>" + command + "</code>", `id="again"`, "data-over"} {
		if !strings.Contains(page, want) {
			t.Fatalf("the page does not say %q:\n%s", want, page)
		}
	}
	if took := regexp.MustCompile(`<td class="took">[0-9.]+ (s|min)`); !took.MatchString(page) {
		t.Error("the page does not say how long the phase took")
	}
	if n := strings.Count(page, "cost unknown"); n != 1 || strings.Contains(page, "Reviews</th>") {
		t.Errorf("the unknown cost is said %d times, or reviews are shown that nobody makes", n)
	}
	w.forge(strings.Fields(command)[1:]...).want(exitDone)
}

// A run that failed is begun again from its page, with what it was begun with.
func TestARunIsBegunAgainFromItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startScript, "test -f README.md")
	w.forge("do", "--level", "full", "--budget", "1", "Say nothing").want(exitFailed)
	s := withPages(t, w)
	owner := s.Owner()
	page := owner.Get("/p/demo/runs/" + s.runID()).Body
	link := regexp.MustCompile(`href="(/p/demo/runs/new\?like=[^"]+)"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("no way to begin it again:\n%s", page)
	}
	form := owner.Get(link[1]).Body
	for _, want := range []string{">Say nothing</textarea>", `name="tries" inputmode="numeric" size="6" value="1"`, ` selected>full</option>`} {
		if !strings.Contains(form, want) {
			t.Errorf("the form lacks %q:\n%s", want, form)
		}
	}
	order := url.Values{"from": {"text"}, "text": {"Say hello"}, "level": {"full"}}
	seen := regexp.MustCompile(`name="seen" value="([^"]+)"`).FindStringSubmatch(owner.Send("/p/demo/runs/forecast", order).Body)
	if seen == nil {
		t.Fatal("it is not said what it will do")
	}
	order.Set("seen", seen[1])
	if a := owner.Send("/p/demo/runs", order); a.Status != 303 {
		t.Fatalf("begun again: %d\n%s", a.Status, a.Body)
	}
	w.eventually("the new run landed", func() bool { return strings.Contains(w.git("ls-tree", "--name-only", "main"), "hello.txt") })
}

// An operator may not spend more than the project lets a run spend.
func TestARunThatSpendsMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, startScript, "true")
	w.configure("[cost]\nrun_usd = 1.5\n", "true")
	s := withPages(t, w)
	otto := s.User("otto", web.RoleOperator, "demo")
	ask := func(p string) int {
		return otto.Send("/p/demo/runs/forecast", url.Values{"from": {"text"}, "text": {"Say hello"}, "usd": {p}}).Status
	}
	if got := ask("1.6"); got != 422 {
		t.Errorf("more than the project says: %d", got)
	}
	if got := ask("1.4"); got != 200 {
		t.Errorf("less than the project says: %d", got)
	}
}
