package cli

import (
	"os"
	"path/filepath"
	"testing"

	"forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/work"
)

// drafter is an agent that plans two phases for a text, once the file "go" is
// beside it, and carries them out.
const drafter = `#!/bin/sh
cat >/dev/null
if [ "$FORGE_PHASE" = 0 ]; then
	while [ ! -e "${0%/*}/go" ]; do sleep 0.05; done
	[ -e "${0%/*}/fail" ] && exit 3
	cat >forge-plan.json <<'PLAN'
{"phases": [{"number": "01", "name": "greeting", "promise": "GREETED", "budget": 5, "reasoning": "Greet first."},
 {"number": "02", "name": "farewell", "promise": "LEFT", "budget": 5, "reasoning": "Then leave.", "depends_on": ["01"]}]}
PLAN
	exit 0
fi
echo "$FORGE_PHASE" >"$FORGE_PHASE.txt"
case $FORGE_PHASE in
01) echo "<promise>GREETED</promise>";;
02) echo "<promise>LEFT</promise>";;
esac
`

// withDrafter is a project whose agent drafts; goOn lets it.
func withDrafter(t *testing.T) (w *world, goOn func(), dir string) {
	t.Helper()
	w = newWorld(t, "", "test -f README.md")
	dir = t.TempDir()
	at := filepath.Join(dir, "drafter.sh")
	w.write(at, drafter)
	if err := os.Chmod(at, 0o755); err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n[agents.drafter]\nkind = \"exec\"\ncommand = [\""+at+"\"]\n")
	w.write(".forge/forge.toml", "[agent]\nuse = \"drafter\"\n[verify]\ncommands = [\"test -f README.md\"]\n")
	w.git("add", "-A")
	w.git("commit", "--quiet", "-m", "drafter")
	return w, func() { w.write(filepath.Join(dir, "go"), "") }, dir
}

// A plan that the agent drafts for a text is looked at before anything of it is
// worked on; its run is begun from the draft, in a browser as in a terminal.
func TestAPlanIsDraftedOnTheServer(t *testing.T) {
	t.Parallel()
	w, goOn, _ := withDrafter(t)
	s := w.serve("bot")
	var d web.Draft
	s.ask("POST", s.project+"/drafts", `{"text":"Greet and leave","tries":3}`, 200, &d)
	if d.State != web.DraftUnderWay || d.By != "bot" {
		t.Fatalf("drafting: %+v", d)
	}
	s.ask("POST", s.project+"/drafts", `{"text":"Another"}`, 422, nil)
	s.ask("POST", s.project+"/runs/forecast", `{"draft":"`+d.ID+`"}`, 422, nil)
	s.ask("POST", s.project+"/runs", `{"draft":"`+d.ID+`"}`, 422, nil)
	for _, none := range []string{"d-none", "..%2F..%2Fx", "d-..%2Fx"} {
		s.ask("GET", s.project+"/drafts/"+none, "", 404, nil)
	}
	goOn()
	s.eventually("the plan is drafted", func() bool {
		s.ask("GET", s.project+"/drafts/"+d.ID, "", 200, &d)
		return d.State != web.DraftUnderWay
	})
	var will web.Forecast
	s.ask("POST", s.project+"/runs/forecast", `{"draft":"`+d.ID+`"}`, 200, &will)
	if len(will.Phases) != 2 || will.Phases[1].What != "Then leave." || will.Phases[1].Tries != 3 || len(will.Phases[1].After) != 1 || len(will.Phases[1].Verify) != 1 {
		t.Fatalf("it will do %+v", will)
	}
	// It waits for a person at every door; at a terminal its run is begun, too.
	w.forge("inbox").want(exitDone).says("Draft "+d.ID+", a plan, is ready", "forge do --draft "+d.ID)
	w.forge("do", "--draft", d.ID, "--dry-run").want(exitDone).says("farewell")
	w.forge("do", "--draft", "d-none").want(exitUsage).warns("forge inbox")
	w.forge("do", "--draft", d.ID, "more words").want(exitUsage).warns("--draft has its text")
	if w.exists("01.txt") {
		t.Fatal("work began before anybody said so")
	}
	var st api.Status
	s.ask("POST", s.project+"/runs", `{"draft":"`+d.ID+`","no_merge":true,"seen":"`+will.Sum+`"}`, 409, nil)
	s.ask("POST", s.project+"/runs", `{"draft":"`+d.ID+`","level":"full","seen":"`+will.Sum+`"}`, 409, nil)
	s.ask("POST", s.project+"/runs/forecast", `{"draft":"`+d.ID+`","level":"full"}`, 200, &will)
	s.ask("POST", s.project+"/runs", `{"draft":"`+d.ID+`","level":"full","seen":"`+will.Sum+`"}`, 200, &st)
	s.ask("GET", s.project+"/drafts/"+d.ID, "", 404, nil)
	s.eventually("the run of the draft is over", func() bool {
		s.ask("GET", s.project+"/runs/"+st.Run, "", 200, &st)
		return st.State == "finished"
	})
	if st.Outcome != work.RunCompleted || w.git("show", "main:02.txt") != "02" {
		t.Errorf("its run: %+v", st)
	}
}

// A server that ends while a plan is drafted says so afterwards; one whose agent
// fails says why; either can be dropped.
func TestDraftsThatCameToNothing(t *testing.T) {
	t.Parallel()
	w, goOn, dir := withDrafter(t)
	s := w.serve("bot")
	var d web.Draft
	s.ask("POST", s.project+"/drafts", `{"text":"Greet and leave"}`, 200, &d)
	s.run.stop()
	s.run.wait().want(exitDone)

	w.forge("factory", "user", "remove", "bot")
	s = w.serve("bob")
	s.ask("GET", s.project+"/drafts/"+d.ID, "", 200, &d)
	if d.State != web.DraftInterrupted || d.Text != "Greet and leave" {
		t.Errorf("after the server ended: %+v", d)
	}
	s.ask("DELETE", s.project+"/drafts/"+d.ID, "", 200, nil)
	s.ask("GET", s.project+"/drafts/"+d.ID, "", 404, nil)

	w.write(filepath.Join(dir, "fail"), "")
	goOn()
	s.ask("POST", s.project+"/drafts", `{"text":"Greet and leave"}`, 200, &d)
	s.eventually("the draft has failed", func() bool {
		s.ask("GET", s.project+"/drafts/"+d.ID, "", 200, &d)
		return d.State == web.DraftFailed
	})
	if d.Problem == "" {
		t.Errorf("nobody says why: %+v", d)
	}
	s.ask("POST", s.project+"/runs", `{"draft":"`+d.ID+`"}`, 422, nil)
	s.run.stop()
	s.run.wait().want(exitDone)
}
