package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/work"
)

// scripted is a request that plays the actions, written one per line.
func scripted(t *testing.T, actions ...string) work.IterationRequest {
	t.Helper()
	req := shell(t, "")
	file := filepath.Join(t.TempDir(), "script.toml")
	write(t, file, "[[step]]\ndo = [\n{"+strings.Join(actions, "},\n{")+"},\n]\n", 0o644)
	req.Agent = work.AgentSettings{Name: "dry", Kind: "script", File: file}
	return req
}

func TestScriptActions(t *testing.T) {
	a := newAgents(t)
	req := scripted(t,
		`write = "a/b.txt", content = "1"`, `write = "a/b.txt", content = "2", append = true`, `write = "run.sh", content = "#!/bin/sh\n", mode = "0755"`,
		`mkdir = "empty/deep"`, `write = "gone", content = ""`, `delete = "gone"`, `delete = "never there"`,
		`record = "record.txt"`, `stderr = "to stderr"`, `run = "echo from a tool; exit 9"`,
		`subphase = {name = "s", promise = "P", budget = 2}`, `deny = "Write: /x"`,
		`usage = {input_tokens = 5, cost_usd = 0.5}`, `usage = {input_tokens = 6, output_tokens = 1, cost_usd = 1}`,
		`print = "<promise>DONE</promise> <promise>DONE</promise>"`)
	r := iterate(t, a, req)
	if r.Outcome != work.OutcomeOK || len(r.Claims) != 2 || len(r.Signals.SubPhases) != 1 || !slices.Equal(r.Denied, []string{"Write: /x"}) {
		t.Errorf("%+v", r)
	}
	if n, ok := r.Usage.Tokens(); !ok || n != 12 || *r.Usage.CostUSD != 1.5 {
		t.Errorf("usage %+v", r.Usage)
	}
	files := map[string]string{"a/b.txt": "12", "record.txt": "phase 03 iteration 2 attempt 1 session new " + r.Session + "\n"}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(req.Dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(req.Dir, "run.sh")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("run.sh: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(req.Dir, "gone")); err == nil {
		t.Error("a deleted file is still there")
	}
	log, err := os.ReadFile(req.LogPath)
	if err != nil || !strings.Contains(string(log), "to stderr") || !strings.Contains(string(log), "from a tool") {
		t.Errorf("log %q, %v", log, err)
	}
}

// A promise may hold what no file can know.
func TestScriptFillsInForgesVariables(t *testing.T) {
	req := scripted(t, `print = "<promise>phase ${FORGE_PHASE} of job ${FORGE_RUN} is done, ${HOME} ${FORGE_NONE}</promise>"`)
	want := "phase " + req.Phase + " of job " + req.Run + " is done, ${HOME} ${FORGE_NONE}"
	if r := iterate(t, newAgents(t), req); !slices.Equal(r.Claims, []string{want}) {
		t.Errorf("claims %q, want %q", r.Claims, want)
	}
}

func TestScriptSession(t *testing.T) {
	req := scripted(t, `record = "record.txt"`)
	req.Session = "S-7"
	r := iterate(t, newAgents(t), req)
	if got, _ := os.ReadFile(filepath.Join(req.Dir, "record.txt")); r.Session != "S-7" || !strings.Contains(string(got), "session continued S-7") {
		t.Errorf("session %q, record %q", r.Session, got)
	}
}

func TestScriptEndings(t *testing.T) {
	pace.Slow(t, "limits have to run out")
	a := newAgents(t)
	usd := 1.0
	tokens := int64(100)
	for name, c := range map[string]struct {
		actions []string
		change  func(*work.IterationRequest)
		want    work.Outcome
		claim   bool
		check   func(*testing.T, work.IterationReport)
	}{
		"nothing": {actions: []string{`sleep = 0`}, want: work.OutcomeOK},
		"exit 0":  {actions: []string{`print = "<promise>P</promise>"`, `exit = 0`, `fail = "never"`}, want: work.OutcomeOK, claim: true},
		"exit 3":  {actions: []string{`print = "<promise>P</promise>"`, `exit = 3`}, want: work.OutcomeAgentFailed},
		"fail":    {actions: []string{`print = "<promise>P</promise>"`, `fail = "no way"`}, want: work.OutcomeAgentFailed},
		"outage":  {actions: []string{`rate_limit = "1h"`}, want: work.OutcomeRateLimited},
		"lost": {actions: []string{`lose_session = true`}, want: work.OutcomeAgentFailed, check: func(t *testing.T, r work.IterationReport) {
			if !r.SessionLost || r.Session != "" {
				t.Errorf("lost %v, session %q", r.SessionLost, r.Session)
			}
		}},
		"outside through a link":        {actions: []string{`run = "ln -s /tmp out"`, `write = "out/forge-test-escape"`}, want: work.OutcomeAgentFailed},
		"outside through a linked file": {actions: []string{`run = "ln -s /tmp/forge-test-escape link"`, `write = "link"`}, want: work.OutcomeAgentFailed},
		"garbage":                       {actions: []string{`garbage = 100000`, `print = "<promise>P</promise>"`}, want: work.OutcomeOK, claim: true},
		"flood":                         {actions: []string{`flood = 3000000`, `flood = 3000000, one_line = true`, `print = "<promise>P</promise>"`}, want: work.OutcomeOK, claim: true},
		"result, then no exit": {actions: []string{`print = "<promise>P</promise>"`, `result = true`, `hang = true`}, want: work.OutcomePostResult, claim: true,
			change: func(r *work.IterationRequest) { r.Limits.PostResultSecs = 1 }},
		"result, then failure": {actions: []string{`print = "<promise>P</promise>"`, `result = true`, `exit = 1`}, want: work.OutcomeAgentFailed},
		"a tool prints a result": {actions: []string{`print = "<promise>P</promise>"`, `run = "echo '{\"type\":\"result\"}'"`, `hang = true`}, want: work.OutcomeIdleTimeout,
			change: func(r *work.IterationRequest) { r.Limits.IdleSecs = 1 }},
		"hangs and will not go": {actions: []string{`print = "<promise>P</promise>"`, `hang = true, ignore_term = true`}, want: work.OutcomeIdleTimeout,
			change: func(r *work.IterationRequest) { r.Limits.IdleSecs = 1 }},
		"a tool is activity": {actions: []string{`run = "sleep 1.5"`, `print = "<promise>P</promise>"`}, want: work.OutcomeOK, claim: true,
			change: func(r *work.IterationRequest) { r.Limits.IdleSecs = 1 }},
		"output held open": {actions: []string{`spawn = "10m", hold_output = true`, `print = "<promise>P</promise>"`}, want: work.OutcomeOK, claim: true,
			change: func(r *work.IterationRequest) { r.Limits.DrainSecs = 1 }, check: func(t *testing.T, r work.IterationReport) {
				if r.LeftBehind == 0 {
					t.Error("nothing was left behind")
				}
			}},
		"too much money": {actions: []string{`usage = {cost_usd = 0.6}`, `usage = {cost_usd = 0.6}`, `hang = true`}, want: work.OutcomeCostLimit,
			change: func(r *work.IterationRequest) { r.CostUSD = &usd }},
		"too many tokens": {actions: []string{`usage = {input_tokens = 60, output_tokens = 60}`, `hang = true`}, want: work.OutcomeCostLimit,
			change: func(r *work.IterationRequest) { r.Tokens = &tokens }, check: func(t *testing.T, r work.IterationReport) {
				if n, ok := r.Usage.Tokens(); !ok || n != 120 {
					t.Errorf("usage %+v", r.Usage)
				}
			}},
		"tokens at a price": {actions: []string{`usage = {input_tokens = 900000, output_tokens = 900000}`, `hang = true`}, want: work.OutcomeCostLimit,
			change: func(r *work.IterationRequest) {
				r.CostUSD, r.Agent.USDPerMTokIn, r.Agent.USDPerMTokOut = &usd, &usd, &usd
			}},
		"nonsense is unknown": {actions: []string{`usage = {input_tokens = 5, cost_usd = 0.5}`, `usage = {input_tokens = -5, cost_usd = -0.5}`}, want: work.OutcomeOK,
			check: func(t *testing.T, r work.IterationReport) {
				if r.Usage.InputTokens != nil || r.Usage.CostUSD != nil {
					t.Errorf("usage %+v", r.Usage)
				}
			}},
		"not done in time": {actions: []string{`run = "sleep 600"`}, want: work.OutcomeIterationTimeout,
			change: func(r *work.IterationRequest) { r.Limits.IterationSecs = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := scripted(t, c.actions...)
			if c.change != nil {
				c.change(&req)
			}
			began := time.Now()
			r := iterate(t, a, req)
			if r.Outcome != c.want || (len(r.Claims) > 0) != c.claim || (r.Outcome != work.OutcomeOK && r.Detail == "") {
				t.Errorf("outcome %q (%s), claims %q; want %q", r.Outcome, r.Detail, r.Claims, c.want)
			}
			if c.want == work.OutcomeRateLimited && (r.ResetAt == nil || r.ResetAt.Before(began.Add(time.Hour))) {
				t.Errorf("reset at %v, begun at %v", r.ResetAt, began)
			}
			if c.check != nil {
				c.check(t, r)
			}
		})
	}
}

func TestScriptStepSelection(t *testing.T) {
	s, err := parseScript("s.toml", `
[[step]]
phase = "03"
iteration = 2
attempt = 1
do = [{print = "a"}]
[[step]]
phase = "third"
session = "continued"
do = [{print = "b"}]
[[step]]
phase = "03"
do = [{print = "c"}]
[[step]]
iteration = 9
do = [{print = "d"}]
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		req  work.IterationRequest
		want string
	}{
		{work.IterationRequest{Phase: "03", PhaseName: "third", Iteration: 2, Attempt: 1, Session: "s"}, "a"},
		{work.IterationRequest{Phase: "03", PhaseName: "third", Iteration: 2, Attempt: 2, Session: "s"}, "b"},
		{work.IterationRequest{Phase: "03", PhaseName: "third", Iteration: 2, Attempt: 2}, "c"},
		{work.IterationRequest{Phase: "04", Iteration: 9}, "d"},
		{work.IterationRequest{Phase: "04", Iteration: 1}, ""},
	} {
		got := ""
		for _, a := range s.step(c.req).Do {
			got += a.Text
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.req, got, c.want)
		}
	}
}

func TestScriptMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"[[step]]\nphase = \"01\n":                           "s.toml:2: ",
		"[[step]]\nphase = 1":                                `s.toml:2: phase is a text in quotes, not 1`,
		"[[step]]\n\n[[step]]\niteration = -1":               `s.toml:4: iteration = -1`,
		"[[step]]\nphas = \"01\"":                            `s.toml:2: unknown key "phas"; did you mean "phase"?`,
		"[[stepp]]\n":                                        `s.toml:1: unknown key "stepp"; did you mean "step"?`,
		"step = 3":                                           `s.toml:1: steps are written as [[step]]`,
		"[[step]]\nsession = \"old\"":                        `s.toml:2: unknown session "old"`,
		"[[step]]\ndo = [{print = \"x\"},\n{wirte = \"a\"}]": `s.toml:3: unknown key "wirte"; did you mean "write"?`,
		"[[step]]\ndo = [{print = \"wirte = {}\"}, # [[step]]\n{\nprint = 7}]": `s.toml:4: print is a text in quotes`,
		"[[step]]\n[[step.do]]\nprint = \"a\"\n[[step.do]]\ncontent = \"x\"":   `s.toml:5: unknown key "content"`,
		"[[step]]\n[[step.do]]\nprint = \"a\"\nstderr = \"b\"":                 `s.toml:4: one action with two verbs, "print" and "stderr"`,
		"[[step]]\ndo = [{write = \"../x\"}]":                                  `s.toml:2: "../x" is not a path inside the folder`,
		"[[step]]\ndo = [{write = \"/x\"}]":                                    `s.toml:2: "/x" is not a path inside the folder`,
		"[[step]]\ndo = [{delete = \"\"}]":                                     `s.toml:2: "" is not a path inside the folder`,
		"[[step]]\ndo = [{print = \"x\", mode = \"0644\"}]":                    `s.toml:2: unknown key "mode"`,
		"[[step]]\ndo = [{write = \"x\", mode = \"rwx\"}]":                     `s.toml:2: mode is written as in "0755"`,
		"[[step]]\ndo = [{sleep = \"soon\"}]":                                  `s.toml:2: sleep = soon: a time of at most 24h`,
		"[[step]]\ndo = [{sleep = -1}]":                                        `s.toml:2: sleep = -1`,
		"[[step]]\ndo = [{sleep = nan}]":                                       `s.toml:2: sleep = NaN`,
		"[[step]]\ndo = [{sleep = 9223372036854775807}]":                       `s.toml:2: sleep = 9223372036854775807`,
		"[[step]]\ndo = [{exit = 256}]":                                        `s.toml:2: exit = 256`,
		"[[step]]\ndo = [{exit = true}]":                                       `s.toml:2: exit = true`,
		"[[step]]\ndo = [{flood = -1}]":                                        `s.toml:2: flood = -1`,
		"[[step]]\ndo = [{hang = false}]":                                      `s.toml:2: hang = false does nothing`,
		"[[step]]\ndo = [{hang = 1}]":                                          `s.toml:2: hang is true or false`,
		"[[step]]\ndo = [{usage = 1}]":                                         `s.toml:2: usage is written as`,
		"[[step]]\ndo = [{usage = {input = 1}}]":                               `s.toml:2: unknown key "input"; did you mean "input_tokens"?`,
		"[[step]]\ndo = [{usage = {cost_usd = inf}}]":                          `s.toml:2: cost_usd is a finite number`,
		"[[step]]\ndo = [{usage = {input_tokens = 1.5}}]":                      `s.toml:2: input_tokens is a whole number`,
		"[[step]]\ndo = [{subphase = {name = 1}}]":                             `s.toml:2: name is a text`,
		"[[step]]\ndo = [{}]":                                                  `s.toml:2: an action without a verb`,
		"[[step]]\ndo = 3":                                                     `s.toml:2: do is a list of actions`,
	} {
		_, err := parseScript("s.toml", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := parseScript("s.toml", "[[step]]\nphas = 1\n[[step]]\ndo = [{exit = 256}, {hang = 1}]\n")
	if n := strings.Count(err.Error(), "s.toml:"); n != 3 {
		t.Errorf("%d of 3 mistakes are reported: %v", n, err)
	}
}

// The documentation's example is a script, and it names every verb.
func TestScriptDocumentation(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "script-agent.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## A full example")
	_, rest, _ = strings.Cut(rest, "```toml\n")
	example, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	s, err := parseScript("example.toml", example)
	if err != nil || len(s.steps) < 5 {
		t.Errorf("%d steps, %v", len(s.steps), err)
	}
	for verb, v := range scriptVerbs() {
		if !strings.Contains(string(page), "| `"+verb+" = ") {
			t.Errorf("the verb %s is not documented", verb)
		}
		for with := range v.with {
			if !strings.Contains(string(page), "`"+with) {
				t.Errorf("%s, which goes with %s, is not documented", with, verb)
			}
		}
	}
}

func TestScriptDetected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.toml")
	write(t, file, "[[step]]\n", 0o644)
	if d := Detect(t.Context(), work.AgentSettings{Kind: "script", File: file}, nil); !d.Usable() {
		t.Errorf("%+v", d)
	}
	write(t, file, "[[stop]]\n", 0o644)
	if d := Detect(t.Context(), work.AgentSettings{Kind: "script", File: file}, nil); d.Usable() || !strings.Contains(d.Why, "stop") {
		t.Errorf("%+v", d)
	}
	write(t, file, strings.Repeat("#", maxScriptBytes+1), 0o644)
	if d := Detect(t.Context(), work.AgentSettings{Kind: "script", File: file}, nil); d.Usable() {
		t.Errorf("%+v", d)
	}
}

func FuzzScript(f *testing.F) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "script-agent.md"))
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(page), "[[step]]") {
		part, _, _ = strings.Cut(part, "```")
		f.Add("[[step]]\n" + part)
	}
	f.Add("[[step]]\ndo = [{sleep = 1e300}, {wirte = ''}, {usage = {}}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseScript("s.toml", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "s.toml:") {
				t.Fatalf("no place in %q", err)
			}
			return
		}
		for _, st := range s.steps {
			for _, a := range st.Do {
				v, ok := scriptVerbs()[a.Verb]
				if !ok || a.Time < 0 || a.Time > maxScriptTime || a.Count < 0 || v.takes == argPath && !filepath.IsLocal(a.Text) {
					t.Fatalf("%+v from %q", a, text)
				}
			}
		}
	})
}

func FuzzScriptStream(f *testing.F) {
	f.Add([]byte("{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"text\",\"text\":\"<promise>P</promise>\"}\n{\"type\":\"usage\",\"cost_usd\":1}\n{\"type\":\"result\"}\n"))
	f.Add([]byte("{\"type\":\"outage\",\"reset_at\":1}\n{\"type\":\"tool\"}{\"type\":\"tool_end\"}\n"))
	f.Add([]byte("{\"type\":\"text\",\"text\":\"<promise>P</promise>\"}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := claudeFor(work.IterationRequest{})
		s := &scriptStream{live: c.live, red: c.red}
		s.lines = newJSONLines(scriptFields(), s)
		_, _ = s.Write(text)
		r := s.finish(exited(0))
		if r.Outcome == work.OutcomeOK && (!s.finished || s.failed != "" || s.limited || s.lost) {
			t.Fatalf("%+v from %q", r, text)
		}
	})
}
