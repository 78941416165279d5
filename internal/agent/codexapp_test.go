package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/agent/agenttest"
	"forge/internal/work"
)

// aCodex is a program that is called as codex is. It keeps what it is told in a file
// "told", and does what its parts say.
const aCodex = `#!/bin/sh
note() { echo "$1" >> told; }
next() { read -r line || exit 0; note "$line"; }
answer() { echo '{"id":'$1',"result":'"$2"'}'; }
completed() { echo '{"method":"item/completed","params":{"threadId":"'$1'","turnId":"t1","item":'"$2"'}}'; }
over() { echo '{"method":"turn/completed","params":{"threadId":"T1","turn":{"id":"t1","items":[],"status":"'$1'","error":'"${2:-null}"'}}}'; }
opens() { next; answer 1 '{}'; next; next; answer 2 '{"thread":{"id":"T1"}}'; next; answer 3 '{"turn":{"id":"t1"}}'; }
case " $* " in
*" app-server "*) note served; serve; exit 0;;
esac
note "exec: $(cat)"
echo '{"type":"thread.started","thread_id":"E1"}'
echo '{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"<promise>DONE</promise>"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":1}}'
`

// servedBy is an iteration with a codex whose server does the lines of serve, and
// what it was told. ids are said to it while it works.
func servedBy(t *testing.T, serve string, change func(*work.IterationRequest), ids ...string) (work.IterationReport, []work.TellReport, string) {
	t.Helper()
	checkout := t.TempDir()
	write(t, filepath.Join(checkout, "codex.sh"), strings.Replace(aCodex, "case ", "serve() {\n"+serve+"\n}\ncase ", 1), 0o755)
	a := newAgents(t)
	req := work.IterationRequest{
		Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, Prompt: "Do the work.", Permission: work.PermissionStandard, Dir: t.TempDir(),
		Agent: work.AgentSettings{Name: "c", Kind: "codex", Command: []string{"./codex.sh"}, Checkout: checkout},
		Mark:  "served-" + strings.ReplaceAll(checkout[1:], "/", "-"), Limits: agenttest.Patient(), Sandbox: work.SandboxSettings{Mode: "off"},
	}
	if change != nil {
		change(&req)
	}
	said := make(chan []work.TellReport, 1)
	go func() {
		var reports []work.TellReport
		for _, id := range ids {
			reports = append(reports, a.Tell(t.Context(), work.TellRequest{Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, ID: id, Text: "use tabs"}))
		}
		said <- reports
	}()
	r, err := a.Iterate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	told, _ := os.ReadFile(filepath.Join(req.Dir, "told"))
	return r, <-said, string(told)
}

const codexSaysDone = `completed T1 '{"type":"agentMessage","id":"m","text":"<promise>DONE</promise>"}'
`

func TestCodexServerHearsWhileItWorks(t *testing.T) {
	t.Parallel()
	given := `completed T1 '{"type":"userMessage","id":"u","clientId":"m1","content":[]}'
`
	for name, c := range map[string]struct {
		serve string
		taken bool
		heard []string
	}{
		"taken and given":       {"opens; next; answer 4 '{\"turnId\":\"t1\"}'\n" + given + codexSaysDone + "over completed; next", true, []string{"m1"}},
		"taken and never given": {"opens; next; answer 4 '{\"turnId\":\"t1\"}'\n" + codexSaysDone + "over completed; next", true, nil},
		"refused":               {"opens; next; echo '{\"id\":4,\"error\":{\"code\":-32600,\"message\":\"no active turn to steer\"}}'\n" + codexSaysDone + "over completed; next", false, nil},
		"given to a subagent":   {"opens; next; answer 4 '{}'\n" + strings.Replace(given, "T1", "T2", 1) + codexSaysDone + "over completed; next", true, nil},
	} {
		r, said, told := servedBy(t, c.serve, nil, "m1")
		if r.Outcome != work.OutcomeOK || said[0].Taken != c.taken || !slices.Equal(r.Heard, c.heard) || !slices.Equal(r.Claims, []string{"DONE"}) || r.Session != "T1" {
			t.Errorf("%s: %+v, %+v", name, said, r)
		}
		if strings.Count(told, "use tabs") != 1 || strings.Contains(told, "exec:") {
			t.Errorf("%s: it was told:\n%s", name, told)
		}
	}
}

// A codex whose server is not there, or knows another protocol, has done nothing,
// and works by codex exec.
func TestCodexWithoutItsServer(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]string{
		"none":                    "echo 'error: unrecognized subcommand' >&2; exit 2",
		"the events of exec":      "echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}'",
		"another protocol":        "next; echo '{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}'; next",
		"another form of threads": "next; answer 1 '{}'; next; next; echo '{\"id\":2,\"error\":{\"code\":-32600,\"message\":\"Invalid request: unknown variant `thread/start`\"}}'; next",
	} {
		r, said, told := servedBy(t, serve, nil, "m1")
		if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || r.Session != "E1" || said[0].Taken || said[0].Why == "" || len(r.Heard) > 0 {
			t.Errorf("%s: %+v, %+v", name, said, r)
		}
		if strings.Count(told, "exec: Do the work.") != 1 || strings.Count(told, "served") != 1 {
			t.Errorf("%s: it was told:\n%s", name, told)
		}
	}
	// Arguments that only exec knows.
	_, _, told := servedBy(t, "exit 1", func(r *work.IterationRequest) { r.Agent.Args = []string{"--color", "never"} })
	if strings.Contains(told, "served") {
		t.Errorf("it was told:\n%s", told)
	}
}

// A server that has the prompt is not asked for it a second time.
func TestCodexServerThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		serve string
		want  work.Outcome
		lost  bool
	}{
		"it dies in the turn":    {"opens; exit 3", work.OutcomeAgentFailed, false},
		"the turn fails":         {"opens; over failed '{\"message\":\"no\"}'; next", work.OutcomeAgentFailed, false},
		"the turn is broken off": {"opens\n" + codexSaysDone + "over interrupted; next", work.OutcomeAgentFailed, false},
		"its provider is away":   {"opens; over failed '{\"message\":\"exceeded retry limit, last status: 429 Too Many Requests\"}'; next", work.OutcomeRateLimited, false},
		"the session is gone":    {"next; answer 1 '{}'; next; next; echo '{\"id\":2,\"error\":{\"code\":-32600,\"message\":\"no rollout found for thread\"}}'; next", work.OutcomeAgentFailed, true},
	} {
		r, _, told := servedBy(t, c.serve, func(r *work.IterationRequest) { r.Session = "T1" })
		if r.Outcome != c.want || r.SessionLost != c.lost || len(r.Claims) > 0 || r.Detail == "" {
			t.Errorf("%s: %+v", name, r)
		}
		if strings.Contains(told, "exec:") {
			t.Errorf("%s: it was told:\n%s", name, told)
		}
	}
}

// Nothing that the server asks for is allowed, or left unanswered.
func TestCodexServerAsks(t *testing.T) {
	t.Parallel()
	asks := ""
	for _, method := range []string{"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "execCommandApproval", "mcpServer/elicitation/request", "item/tool/telephone", "item/tool/call"} {
		asks += `echo '{"id":"a","method":"` + method + `","params":{"command":"rm -rf /","reason":"why not"}}'; next` + "\n"
	}
	r, _, told := servedBy(t, "opens\n"+asks+codexSaysDone+"over completed; next", nil)
	if r.Outcome != work.OutcomeOK || len(r.Denied) != 6 || !strings.Contains(r.Denied[0], "rm -rf /") {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{`"decision":"decline"`, `"decision":"denied"`, `"action":"decline"`, "-32601", `"success":false`} {
		if !strings.Contains(told, want) {
			t.Errorf("no answer %s:\n%s", want, told)
		}
	}
	if strings.Contains(told, "accept") || strings.Contains(told, "approved") {
		t.Errorf("it was told:\n%s", told)
	}
}

func TestCodexServes(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"": true, "-c a=1": true, "--config a=1 -c b=2": true, "--config=a=1": true, "--enable x": true,
		"--oss": false, "-c a=1 --profile p": false, "--color never": false, "-i a.png": false,
	} {
		if got := codexServes(strings.Fields(args)); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}
