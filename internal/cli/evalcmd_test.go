package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/eval"
	"forge/internal/fakemodel"
)

// evalBed is a project with three cases of its own and a model.
type evalBed struct {
	*world
	server *fakemodel.Server
}

const (
	evalBug    = `{"verdict":"fail","confidence":0.9,"findings":[{"file":"src/run.py","line":5,"end_line":null,"severity":"major","issue":"the name reaches a shell","failure":"f","suggestion":"s","repro":null}],"need":[]}`
	evalPass   = `{"verdict":"pass","confidence":0.9,"findings":[],"need":[]}`
	evalRuling = `{"verdict":"Proceed","confidence":0.9,"fix_path":true,"reason":"r","instructions":""}`
	evalPrices = "usd_per_mtok_in = 1000.0\nusd_per_mtok_out = 1000.0\n" // 100 and 10 tokens cost 0.11
)

func newEvalBed(t *testing.T, more string, turns ...fakemodel.Turn) *evalBed {
	t.Helper()
	s, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	b := &evalBed{newWorld(t, ""), s}
	b.turns(turns...)
	b.configure("[llm]\nbase_url = \"" + s.URL("svc") + "/v1\"\nmodel = \"m\"\n" + more)
	b.write("cases/a-bug/context.md", "Archive the folder that is named.\n")
	b.write("cases/a-bug/code.py", "import os\n\n\ndef archive(name):\n    os.system(\"tar cf out.tar \" + name)\n")
	b.write("cases/a-bug/expected.json", `{"specialist": "security", "path": "src/run.py", "must_not_flag": [],
"must_find": [{"id": "shell", "severity": "critical", "description": "The name is part of a shell command.", "location": {"file": "src/run.py", "line": 5}}]}`)
	b.write("cases/b-clean/context.md", "Add two numbers up.\n")
	b.write("cases/b-clean/code.py", "def add(a, b):\n    return a + b\n")
	b.write("cases/b-clean/expected.json", `{"specialist": "security", "must_find": [], "must_not_flag": []}`)
	b.write("cases/c-rule/context.md", "Divide two numbers.\n")
	b.write("cases/c-rule/code.py", "def divide(a, b):\n    return a / b\n")
	b.write("cases/c-rule/expected.json", `{"specialist": "arbiter", "right": "Fix",
"findings": [{"specialist": "security", "severity": "minor", "file": "code.py", "line": 2, "issue": "zero is not looked at"}]}`)
	return b
}

// turns are the model's answers from now on.
func (b *evalBed) turns(turns ...fakemodel.Turn) {
	turns = append(turns,
		fakemodel.Turn{When: "Archive the folder", Text: evalBug, Repeat: -1}, fakemodel.Turn{When: "Add two numbers", Text: evalPass, Repeat: -1},
		fakemodel.Turn{When: "Divide two numbers", Text: evalRuling, Repeat: -1}, fakemodel.Turn{Text: "well", Repeat: -1})
	b.server.Service("svc", fakemodel.Service{Models: []string{"m", "wise"}, Turns: turns})
}

func (b *evalBed) eval(more ...string) ended {
	b.t.Helper()
	return b.forge(append([]string{"eval", "--builtin=false", "--cases", "cases"}, more...)...)
}

// asked is how many questions hold a text.
func (b *evalBed) asked(text string) int {
	n := 0
	for _, r := range b.server.Requests("svc") {
		if strings.Contains(string(r.Body), text) {
			n++
		}
	}
	return n
}

// evalJSON is the answer of --output json.
type evalJSON struct {
	Trial   eval.Trial       `json:"trial"`
	Summary []eval.Summary   `json:"summary"`
	Arbiter []eval.Confusion `json:"arbiter"`
}

func (e ended) trial() evalJSON {
	e.t.Helper()
	var out evalJSON
	e.json(&out)
	return out
}

func TestEvalAsksTheModel(t *testing.T) {
	b := newEvalBed(t, evalPrices)
	e := b.eval("--output", "json").want(exitDone).warns("questions=3", "model=m", "usd=\"about ", "a-bug: fail, 1 of 1 found", "case=3/3")
	out := e.trial()
	s := out.Summary[0]
	if s.Recall.Hits != 1 || s.Recall.Of != 1 || s.Clean.Hits != 0 || s.Clean.Of != 1 || s.Unknown != 0 || s.Model != "m" || *s.Usage.CostUSD != 0.22 {
		t.Errorf("%+v", s)
	}
	if len(out.Arbiter) != 3 || out.Arbiter[2].FalseProceed.Hits != 1 || out.Arbiter[2].FalseProceed.Of != 1 {
		t.Errorf("%+v", out.Arbiter)
	}
	tr := out.Trial
	if tr.Asked != eval.AskedLLM || tr.Model != "m" || tr.Ended == nil || len(tr.Prompts["security"]) != 16 || len(tr.Prompts["arbiter"]) != 16 || tr.Judge != eval.JudgePlace {
		t.Errorf("%+v", tr)
	}
	if b.asked("a-bug") > 0 || b.asked("must_find") > 0 || b.asked("part of a shell command") > 0 {
		t.Error("the model is told what is expected")
	}
	if !b.exists(filepath.Join(b.state, "eval", tr.ID+".json")) {
		t.Error("the trial is not stored")
	}
	b.forge("eval", "list").want(exitDone).says(tr.ID, "whole", "1/1 100%", "0.3300")
	b.forge("eval", "show", tr.ID[:8]).want(exitDone).says("a-bug", "shell found", "model Proceed, run Proceed", "False proceeds: 1 of 1", "place and severity alone")
	if n := len(b.server.Requests("svc")); n != 4 {
		t.Errorf("%d requests, want a probe and three questions", n)
	}
}

// An answer that cannot be used is unknown, and when all are nothing was
// judged.
func TestEvalNothingJudged(t *testing.T) {
	b := newEvalBed(t, "", fakemodel.Turn{Text: "I cannot say.", Repeat: -1})
	e := b.eval("--output", "json").want(exitUnjudged).warns("nothing could be judged", "no usable answer")
	s := e.trial().Summary[0]
	if s.Unknown != 2 || s.Recall.Rate != nil || s.Clean.Rate != nil || s.Usage.CostUSD != nil {
		t.Errorf("%+v", s)
	}
	// Nor does it look like a good one beside others.
	b.forge("eval", "list").want(exitDone).says("UNKNOWN", "AT WORST", "0/1 0%")
	b.eval("--min-recall", "0").want(exitUnjudged)
}

func TestEvalStopsAtTheLimit(t *testing.T) {
	b := newEvalBed(t, evalPrices+"[cost]\nrun_usd = 0.15\n")
	e := b.eval("--output", "json").want(exitLimit).warns("the limit of [cost] is reached", "forge eval --resume", "the estimate is above cost.run_usd")
	tr := e.trial().Trial
	if len(tr.Outcomes) != 2 || tr.Ended != nil {
		t.Fatalf("%+v", tr)
	}
	b.forge("eval", "--resume", tr.ID, "--min-recall", "1", "--max-false-proceeds", "0").want(exitLimit)
	b.env = append(b.env, "FORGE_RUN_USD=1")
	out := b.forge("eval", "--resume", tr.ID, "--output", "json").want(exitDone).trial()
	b.forge("eval", "--resume", tr.ID, "--max-false-proceeds", "0").want(exitFailed).warns("1 of 1 are false proceeds at worst, above 0")
	if len(out.Trial.Outcomes) != 3 || out.Trial.Ended == nil || *out.Trial.Usage.CostUSD < 0.32 {
		t.Errorf("%+v", out.Trial)
	}
	if n := b.asked("Archive the folder"); n != 1 {
		t.Errorf("the first case was asked %d times", n)
	}
}

// What does not say what it cost counts as iteration_usd; without it nobody
// knows whether the limit holds.
func TestEvalUnknownCostUnderALimit(t *testing.T) {
	silent := []fakemodel.Turn{{Text: "well"}, {When: "Archive the folder", Text: evalBug, NoUsage: true}}
	b := newEvalBed(t, evalPrices+"[cost]\nrun_usd = 5.0\n", silent...)
	e := b.eval("--output", "json").want(exitLimit).warns("set cost.iteration_usd")
	id := e.trial().Trial.ID
	b.configure("[llm]\nbase_url = \"" + b.server.URL("svc") + "/v1\"\nmodel = \"m\"\n" + evalPrices + "[cost]\nrun_usd = 5.0\niteration_usd = 1.0\n")
	out := b.forge("eval", "--resume", id, "--output", "json").want(exitDone).trial()
	if out.Trial.Usage.CostUSD != nil || out.Trial.Ledger.UnknownUSD != 1 {
		t.Errorf("%+v", out.Trial.Ledger)
	}
}

func TestEvalGoesOnAfterCtrlC(t *testing.T) {
	b := newEvalBed(t, "", fakemodel.Turn{Text: "well"}, fakemodel.Turn{When: "Add two numbers", Fault: fakemodel.Fault{Hang: true}})
	s := b.begin("eval", "--builtin=false", "--cases", "cases", "--output", "json")
	b.eventually("the second case is asked", func() bool { return b.asked("Add two numbers") > 0 })
	s.stop()
	e := s.wait().want(exitInterrupted).warns("stopped; what was answered is kept", "asked=1/3", "forge eval --resume")
	tr := e.trial().Trial
	if len(tr.Outcomes) != 1 || tr.Outcomes[0].Case != "a-bug" {
		t.Fatalf("%+v", tr.Outcomes)
	}
	out := b.forge("eval", "--resume", tr.ID, "--output", "json").want(exitDone).trial()
	if len(out.Trial.Outcomes) != 3 || out.Summary[0].Unknown != 0 || b.asked("Archive the folder") != 1 {
		t.Errorf("%+v", out.Summary)
	}
}

// A service that answers nobody says nothing about the model.
func TestEvalOutage(t *testing.T) {
	limited := fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": "86400"}}
	b := newEvalBed(t, "", fakemodel.Turn{Text: "well"}, fakemodel.Turn{When: "Add two numbers", Fault: limited})
	out := b.eval("--output", "json").want(exitLimit).warns("the service answers nobody", "asked=1/3", "forge eval --resume").trial()
	if len(out.Trial.Outcomes) != 1 || out.Summary[0].Unknown != 0 {
		t.Errorf("%+v", out.Trial.Outcomes)
	}
	b.forge("eval", "--resume", out.Trial.ID, "--output", "json").want(exitDone)
	b.turns(fakemodel.Turn{Fault: limited, Repeat: -1})
	b.eval().want(exitLimit).warns("limited at the moment")
}

// A model says that the finding means something else; its word is on record
// with the answers, and looked at again without asking anybody.
func TestEvalJudgedByAModel(t *testing.T) {
	b := newEvalBed(t, "", fakemodel.Turn{When: "You compare two descriptions", Text: `{"same":false,"reason":"r"}`, Repeat: -1})
	e := b.eval("--judge", "wise", "--record", "kept").want(exitDone)
	e.says("descriptions compared by wise", "Missed:\n  a-bug: shell (critical)", "0/1 0%")
	before := len(b.server.Requests("svc"))
	b.eval("--answers", "kept").want(exitDone).says("recorded answers", "compared as recorded", "Missed:\n  a-bug: shell (critical)", "1 of 1 = 100%")
	if after := len(b.server.Requests("svc")); after != before {
		t.Errorf("%d requests for recorded answers", after-before)
	}
}

func TestEvalByHand(t *testing.T) {
	b := newEvalBed(t, "")
	e := b.eval("--by-hand", "pairs.json", "--output", "json").want(exitDone).warns("pairs wait for your word", "open=1")
	out := e.trial()
	if s := out.Summary[0]; s.Undecided != 1 || s.Recall.Rate != nil {
		t.Errorf("%+v", s)
	}
	file := filepath.Join(b.root, "pairs.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"expected": "The name is part of a shell command."`, `"issue": "the name reaches a shell"`, `"same": null`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	b.write("pairs.json", strings.Replace(string(text), `"same": null`, `"same": true`, 1))
	before := len(b.server.Requests("svc"))
	out = b.forge("eval", "--resume", out.Trial.ID, "--output", "json").want(exitDone).trial()
	if s := out.Summary[0]; s.Undecided != 0 || s.Recall.Hits != 1 || len(b.server.Requests("svc")) != before {
		t.Errorf("%+v", s)
	}
	b.write("pairs.json", "{\n \"pairs\": [\n{\"same\": 1}]}")
	b.forge("eval", "--resume", out.Trial.ID).want(exitUsage).warns("pairs.json:3: same is neither true, false nor null", "pairs.json:3: case is missing")
}

func TestEvalRefusals(t *testing.T) {
	b := newEvalBed(t, "[cost]\nrun_usd = 1.0\n")
	b.eval().want(exitUsage).warns("nothing says what the model costs")
	b.eval("--model", "other", "--recorded").want(exitUsage).warns("ask nobody")
	b = newEvalBed(t, "")
	b.eval("--model", "other").want(exitUsage).warns("the model cannot be asked")
	b.eval("--recorded", "--record", "x").want(exitUsage).warns("leave --record out")
	b.eval("--judge", "m", "--by-hand", "x").want(exitUsage).warns("contradict")
	b.eval("--specialists", "securty").want(exitUsage).warns(`did you mean "security"?`)
	if n := b.asked("Archive"); n > 0 {
		t.Errorf("%d questions", n)
	}
	out := b.eval("--specialists", "security", "--output", "json").want(exitDone).trial()
	b.forge("eval", "--resume", out.Trial.ID, "--model", "m").want(exitUsage).warns("leave --model out")
	b.write("cases/a-bug/context.md", "Something else.\n")
	b.forge("eval", "--resume", out.Trial.ID).want(exitUsage).warns("have changed since: a-bug")
	b.forge("eval", "--resume", "nix").want(exitUsage).warns("there is no trial")
	w := newWorld(t, "")
	w.forge("eval", "--model", "m").want(exitUsage).warns("names no service")
	w.forge("eval", "show").want(exitUsage).warns("there are no trials")
}

// Prompts of the project are asked with and have a hash of their own; two are
// compared by what they found.
func TestEvalComparesPrompts(t *testing.T) {
	b := newEvalBed(t, "")
	first := b.eval("--output", "json").want(exitDone).trial().Trial
	b.write(".forge/review-prompts/security.md", "Look at nothing.\n")
	b.turns(fakemodel.Turn{When: "Look at nothing.", Text: evalPass, Repeat: -1})
	second := b.eval("--output", "json").want(exitDone).trial().Trial
	if first.Prompts["security"] == second.Prompts["security"] || first.Prompts["arbiter"] != second.Prompts["arbiter"] {
		t.Errorf("%v, %v", first.Prompts, second.Prompts)
	}
	b.forge("eval", "compare", first.ID, second.ID).want(exitDone).says(
		"prompt of security: A "+first.Prompts["security"], "must_find found: the difference is within noise (p = 1.000)")
	var out struct {
		A, B       string
		Comparison eval.Comparison
	}
	e := b.forge("eval", "compare", first.ID, second.ID, "--output", "json").want(exitDone)
	if err := json.Unmarshal([]byte(e.stdout), &out); err != nil || out.Comparison.Tests[0].OnlyA != 1 {
		t.Errorf("%v: %s", err, e.stdout)
	}
	b.configure("[llm]\nbase_url = \"" + b.server.URL("svc") + "/v1\"\nmodel = \"m\"\n[[reviews.specialists]]\ntype = \"security\"\nfocus_areas = [\"shells above all\"]\n")
	third := b.eval("--output", "json").want(exitDone).trial().Trial
	if third.Prompts["security"] == second.Prompts["security"] || b.asked("shells above all") != 2 {
		t.Errorf("focus areas are not asked with: %v, %d", third.Prompts, b.asked("shells above all"))
	}
	// A prompt that changed cannot be mixed into a trial that goes on.
	b.turns(fakemodel.Turn{Text: "well"}, fakemodel.Turn{When: "Add two numbers", Fault: fakemodel.Fault{Hang: true}})
	s := b.begin("eval", "--builtin=false", "--cases", "cases", "--output", "json")
	asked := b.asked("Add two numbers")
	b.eventually("the second case is asked", func() bool { return b.asked("Add two numbers") > asked })
	s.stop()
	id := s.wait().want(exitInterrupted).trial().Trial.ID
	b.write(".forge/review-prompts/security.md", "Look at all.\n")
	b.forge("eval", "--resume", id).want(exitUsage).warns("the prompt of security has changed")
}

// Repeats are trials of their own, side by side with how far chance moved them, and
// each is held against the bounds; any number of them is compared and drawn.
func TestEvalRepeats(t *testing.T) {
	b := newEvalBed(t, evalPrices, fakemodel.Turn{When: "Archive the folder", Text: evalBug}, fakemodel.Turn{When: "Archive the folder", Text: evalPass}, fakemodel.Turn{When: "Archive the folder", Text: evalBug})
	page := filepath.Join(b.root, "trials.html")
	e := b.eval("--repeat", "3", "--html", "trials.html").want(exitDone)
	e.says("3 times the same: recall 67% ± 57.7 (0 to 100)", "Not alike in all of them: a-bug: shell", "USD PER TRUE", "0.2200")
	if n := b.asked("Archive the folder"); n != 3 {
		t.Errorf("the case was asked %d times", n)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "<svg") {
		t.Errorf("the page: %v", err)
	}
	var list struct{ Trials []struct{ ID string } }
	if err := json.Unmarshal([]byte(b.forge("eval", "list", "--output", "json").want(exitDone).stdout), &list); err != nil || len(list.Trials) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	ids := []string{list.Trials[0].ID, list.Trials[1].ID, list.Trials[2].ID}
	b.forge(append([]string{"eval", "compare"}, ids...)...).want(exitDone).says("A  Trial "+ids[0], "B  Trial "+ids[1], "B  Trial "+ids[2], "3 times the same")
	var beside struct{ Beside eval.Beside }
	said := b.forge(append([]string{"eval", "compare", "--html", "trials.html", "--output", "json"}, ids...)...).want(exitDone).stdout
	if err := json.Unmarshal([]byte(said), &beside); err != nil || len(beside.Beside.Columns) != 3 || len(beside.Beside.Against) != 2 || beside.Beside.Columns[0].Latency == nil {
		t.Errorf("%+v", beside)
	}
	b.turns(fakemodel.Turn{When: "Archive the folder", Text: evalBug}, fakemodel.Turn{When: "Archive the folder", Text: evalPass})
	b.eval("--repeat", "2", "--min-recall", "1").want(exitFailed).warns("recall is 0 of 1 at worst, below 1")
	b.eval("--repeat", "2", "--recorded").want(exitUsage).warns("the same each time")
	b.eval("--repeat", "0").want(exitUsage).warns("no number of trials")
	b.eval("--repeat", "2", "--record", "x").want(exitUsage).warns("leave --record out")
	b.eval("--html", "no/such/folder.html").want(exitUsage).warns("name a file that can be written")
}

// An agent is asked as a reviewer of a run: in a folder of its own with what the case
// has, by the same prompts and read in the same way; the arbiter is the rules.
func TestEvalAsksAnAgent(t *testing.T) {
	t.Parallel()
	b := newEvalBed(t, evalPrices+"[cost]\nrun_usd = 100.0\niteration_usd = 0.1\n[agents.ex]\nkind = \"exec\"\nusd_per_mtok_in = 1.0\nusd_per_mtok_out = 1.0\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; test -e CLAUDE.md && exit 1; test -e forge.log && exit 1; if test -e src/run.py; then cat $BUG; else cat $PASS; fi\"]\nenv = [\"BUG\", \"PASS\"]\n")
	b.write("answers/bug.txt", "I looked.\n\n```json\n"+evalBug+"\n```\n")
	b.write("answers/pass.txt", "```json\n"+evalPass+"\n```\n")
	b.env = append(b.env, "BUG="+filepath.Join(b.root, "answers/bug.txt"), "PASS="+filepath.Join(b.root, "answers/pass.txt"))
	b.write("cases/d-diff/context.md", "Say it louder.\n")
	b.write("cases/d-diff/change.diff", "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n")
	b.write("cases/d-diff/expected.json", `{"specialist": "security", "must_find": [], "must_not_flag": []}`)
	e := b.eval("--reviewer", "agent:ex", "--output", "json").want(exitDone).warns("reviewer=agent:ex", "questions=3", "a-bug: fail, 1 of 1 found", "case=4/4")
	tr := e.trial().Trial
	if tr.Asked != eval.AskedAgent || tr.Model != "agent:ex" || tr.Arbiter != "" || tr.Ended == nil || len(b.server.Requests("svc")) != 0 {
		t.Errorf("the trial is %+v", tr)
	}
	for _, o := range tr.Outcomes {
		if o.Ruling == nil && (o.Model != "ex" || o.Millis == nil) || o.Ruling != nil && (o.Ruling.Asked || o.Ruling.Rules == "") {
			t.Errorf("%s: %+v", o.Case, o)
		}
	}
	b.forge("eval", "show", tr.ID).want(exitDone).says("agent:ex, the arbiter by its rules alone", "a-bug", "shell found")
	b.forge("eval", "list").want(exitDone).says("agent:ex", "1/1 100%")

	// Beside a model, in the same table.
	other := b.eval("--output", "json").want(exitDone).trial().Trial
	b.forge("eval", "compare", tr.ID, other.ID).want(exitDone).says(tr.ID, other.ID)

	b.eval("--reviewer", "claude").want(exitUsage).warns("\"claude\" is no agent", "agent:claude")
	b.eval("--reviewer", "agent:nobody").want(exitUsage).warns("nobody")
	b.eval("--reviewer", "agent:ex", "--recorded").want(exitUsage).warns("--reviewer asks an agent")
}

// An agent that comes to no answer is unknown, and never a pass.
func TestEvalOfAnAgentThatFails(t *testing.T) {
	t.Parallel()
	b := newEvalBed(t, "[agents.ex]\nkind = \"exec\"\ncommand = [\"sh\", \"-c\", \"cat > /dev/null; echo I think it is fine\"]\n")
	e := b.eval("--reviewer", "agent:ex", "--specialists", "security", "--output", "json").want(exitUnjudged)
	for _, o := range e.trial().Trial.Outcomes {
		if o.Verdict != "unknown" || o.Why == "" {
			t.Errorf("%s: %+v", o.Case, o)
		}
	}
}
