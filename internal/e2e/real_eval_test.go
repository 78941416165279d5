//go:build real

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"forge/internal/eval"
	"forge/internal/fakemodel"
)

// TestRealEvalAsksAgents: real agents are measured as reviewers of a run, each case in
// a folder of its own, where the sandbox leaves them their own service alone.
func TestRealEvalAsksAgents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := the(name)
			c := newWith(t, p, "required", onePhase(1, ""), proveB,
				fakemodel.Turn{Tools: []fakemodel.Tool{p.shell("cat run.py; cat ../../a.txt; echo x > new.txt")}},
				fakemodel.Turn{Text: "I looked.\n\n```json\n" + `{"verdict":"fail","confidence":0.9,"findings":[{"file":"run.py","line":5,"end_line":null,"severity":"critical","issue":"the name reaches a shell","failure":"f","suggestion":"s","repro":null}],"need":[]}` + "\n```", Repeat: -1},
			)
			// What codex is told of its service is in a file of its own.
			const user = "config/forge/config.toml"
			text, err := os.ReadFile(c.at(user))
			if err != nil {
				t.Fatal(err)
			}
			service, _, _ := strings.Cut(strings.TrimPrefix(c.server.URL(name), "http://"), "/")
			c.write(user, strings.Replace(string(text), "[sandbox]\n", fmt.Sprintf("[sandbox]\nnetwork = [%q]\n", service), 1))
			c.write("repo/cases/a-bug/context.md", "Archive the folder that is named.\n")
			c.write("repo/cases/a-bug/code.py", "import os\n\n\ndef archive(name):\n    os.system(\"tar cf out.tar \" + name)\n")
			c.write("repo/cases/a-bug/expected.json", `{"specialist": "security", "path": "run.py", "must_not_flag": [],
"must_find": [{"id": "shell", "severity": "critical", "description": "The name is part of a shell command.", "location": {"file": "run.py", "line": 5}}]}`)
			out, errs, code := c.forge("eval", "--builtin=false", "--cases", "cases", "--reviewer", "agent:"+name, "--output", "json")
			var said struct {
				Trial eval.Trial `json:"trial"`
			}
			if err := json.Unmarshal([]byte(out), &said); err != nil || code != 0 {
				t.Fatalf("exit code %d, %v\n%s\n%s", code, err, out, errs)
			}
			tr := said.Trial
			if tr.Asked != eval.AskedAgent || len(tr.Outcomes) != 1 || tr.Outcomes[0].Verdict != "fail" || len(tr.Outcomes[0].Expected) != 1 || tr.Outcomes[0].Expected[0].Status != eval.Found {
				t.Fatalf("the trial is %+v\n%s", tr, errs)
			}
			if o := tr.Outcomes[0]; o.Millis == nil || !strings.HasPrefix(o.Model, name) || p.cost && o.Usage.CostUSD == nil || p.tokens && o.Usage.InputTokens == nil {
				t.Errorf("of the answer is known %+v", o)
			}
			asked, read := false, false
			for _, r := range c.server.Requests(name) {
				body := string(r.Body)
				asked = asked || strings.Contains(body, "Archive the folder that is named.")
				read = read || strings.Contains(body, "os.system")
			}
			if !asked || !read {
				t.Errorf("the model was asked: %t, and read the case's file: %t", asked, read)
			}
			if _, err := os.Stat(c.at("repo/new.txt")); err == nil {
				t.Error("the agent wrote into the checkout")
			}
		})
	}
}
