package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/pace"
	"forge/internal/tracker/trackertest"
)

// workflowFile is written for Symphony, but for the block forge, which names an agent
// that is there.
const workflowFile = `---
tracker:
  kind: linear
  endpoint: %s
  api_key: $LINEAR_API_KEY
  project_slug: %s
  active_states: [Todo, In Progress]
  terminal_states: [Done]
polling:
  interval_ms: 200
workspace:
  root: %s
hooks:
  timeout_ms: 60000
  after_create: |
    set -eu
    echo "after_create $(basename "$PWD") ${LINEAR_API_KEY:-nothing}" >>"$HALL/hooks"
    git clone -q "$HALL/repo" .
    mkdir -p deps && echo installed >deps/mark
  before_run: |
    echo "before_run $(git rev-parse --abbrev-ref HEAD)" >>"$HALL/hooks"
  after_run: |
    echo "after_run" >>"$HALL/hooks"; exit 3
  before_remove: |
    echo "before_remove $(basename "$PWD")" >>"$HALL/hooks"; false
agent:
  max_concurrent_agents: 2
  max_turns: 3
  max_retry_backoff_ms: 3000
forge:
  agent: {use: mine}
  agents:
    mine: {kind: exec, command: [sh, agent.sh], env: [HALL]}
  factory: {triage: "off", default_policy: end_to_end, max_running: 2}
  verify: {commands: ["test -f start.txt"]}
---
You work on {{ issue.identifier }}: {{ issue.title }}
{%% if attempt %%}This is attempt {{ attempt }}.{%% endif %%}
Labels: {{ issue.labels | join: ", " }}

{%% if issue.description %%}{{ issue.description }}{%% endif %%}
`

// workflowAgent does what its issue's title says. One whose file says so fails.
const workflowAgent = `
cat >>"$HALL/prompts"
echo "$PWD $(git remote) $(cat deps/mark) ${LINEAR_API_KEY:-nothing}" >>"$HALL/places"
if [ -f "$HALL/fail" ]; then exit 1; fi
while [ -f "$HALL/wait" ]; do sleep 0.05; done
echo "$FORGE_PHASE_NAME" >"$FORGE_PHASE_NAME.txt"
id=${FORGE_RUN#i}
echo "<promise>ISSUE ${id%%-*} DONE</promise>"
`

// flow is a repository with a WORKFLOW.md, and the Linear that it names.
type flow struct {
	*checkout
	linear *trackertest.Linear
	log    *watched
	cmd    *exec.Cmd
	over   chan struct{}
	state  string // address of its state
}

func newFlow(t *testing.T) *flow {
	t.Helper()
	l := trackertest.StartLinear(t)
	f := &flow{linear: l}
	f.checkout = newCheckout(t, "off", map[string]string{"start.txt": "here\n", ".gitignore": "deps/\n", "agent.sh": workflowAgent})
	f.workflow("")
	f.write("config/forge/config.toml", "[sandbox]\nmode = \"off\"\n[trackers.workflow]\nsandbox = \"as_configured\"\n")
	f.env = append(f.env, "HALL="+f.root, "LINEAR_API_KEY="+l.Token)
	f.must("git", "add", "-A")
	f.must("git", "commit", "-qm", "the workflow")
	return f
}

// workflow writes the file, with more before its end.
func (f *flow) workflow(more string) {
	f.t.Helper()
	text := fmt.Sprintf(workflowFile, f.linear.URL, trackertest.ProjectSlug, f.at("spaces"))
	f.write("repo/WORKFLOW.md", strings.Replace(text, "forge:\n", more+"forge:\n", 1))
}

func (f *flow) serve() {
	f.t.Helper()
	f.cmd = f.command(os.Args[0], "factory", "--workflow", "WORKFLOW.md", "--port", "0", "--listen", "off")
	f.log = &watched{found: make(chan string, 1)}
	f.cmd.Stderr = f.log
	if err := f.cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	over, cmd := make(chan struct{}), f.cmd
	f.over = over
	go func() {
		defer close(over)
		_ = cmd.Wait()
	}()
	f.t.Cleanup(f.kill)
	select {
	case f.state = <-f.log.found:
	case <-over:
		f.t.Fatalf("it ended:\n%s", f.log.String())
	case <-time.After(patience):
		f.t.Fatalf("its state is not served:\n%s", f.log.String())
	}
}

// watched finds the address of the state in a log.
type watched struct {
	mu    sync.Mutex
	all   bytes.Buffer
	found chan string
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

var stateAt = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

func (w *watched) Write(p []byte) (int, error) {
	if at := stateAt.Find(p); at != nil {
		select {
		case w.found <- string(at):
		default:
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(p)
}

func (f *flow) kill() {
	_ = f.cmd.Process.Kill()
	<-f.over
}

// ask asks the state.
func (f *flow) ask(method, path string) (status int, body map[string]any) {
	f.t.Helper()
	req, err := http.NewRequest(method, f.state+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if err := json.Unmarshal(text, &body); err != nil {
		f.t.Fatalf("%s: %s", path, text)
	}
	return resp.StatusCode, body
}

func (f *flow) rows(of string) []any {
	f.t.Helper()
	_, body := f.ask(http.MethodGet, "/api/v1/state")
	rows, ok := body[of].([]any)
	if !ok {
		f.t.Fatalf("%v has no %s", body, of)
	}
	return rows
}

func (f *flow) eventually(what string, so func() bool) {
	f.t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			f.kill()
			f.t.Fatalf("never: %s\nlog:\n%s\nhooks:\n%s", what, f.log.String(), f.read("hooks"))
		}
	}
}

func (f *flow) read(name string) string {
	text, _ := os.ReadFile(f.at(name))
	return string(text)
}

func (f *flow) exists(name string) bool {
	_, err := os.Stat(f.at(name))
	return err == nil
}

// A repository that was written for Symphony is worked on: its issue is done, proven
// and told, in the workspace and with the hooks that the file names.
func TestWorkflowIsDone(t *testing.T) {
	pace.Slow(t, "a factory is started, works and is looked at while it does")
	pace.Sequential(t, processesAlone)
	f := newFlow(t)
	n := f.linear.Open(t, trackertest.Writer, "thing1", "Write **it**.")
	f.write("wait", "")
	f.serve()
	f.eventually("it is worked on", func() bool { return len(f.rows("running")) == 1 && f.exists("places") })
	row := f.rows("running")[0].(map[string]any)
	name := fmt.Sprintf("%s-%d", trackertest.Team, n)
	if row["issue_identifier"] != name || row["state"] != "Todo" || row["issue_id"] == "" {
		t.Errorf("running: %v", row)
	}
	status, one := f.ask(http.MethodGet, "/api/v1/"+name)
	space := filepath.Join(f.at("spaces"), name)
	if at, _ := one["workspace"].(map[string]any); status != http.StatusOK || one["status"] != "running" || at["path"] != space {
		t.Errorf("%d: %v", status, one)
	}
	if status, none := f.ask(http.MethodGet, "/api/v1/WORK-99"); status != http.StatusNotFound || none["error"].(map[string]any)["code"] != "issue_not_found" {
		t.Errorf("%d: %v", status, none)
	}
	if status, said := f.ask(http.MethodPost, "/api/v1/refresh"); status != http.StatusAccepted || said["queued"] != true {
		t.Errorf("%d: %v", status, said)
	}
	if status, _ := f.ask(http.MethodPost, "/api/v1/state"); status != http.StatusMethodNotAllowed {
		t.Errorf("%d", status)
	}
	_ = os.Remove(f.at("wait"))
	f.eventually("it is done on the tracker", func() bool { return f.linear.State(t, n) == "Done" })
	f.eventually("its workspace is removed", func() bool { return !f.exists("spaces/"+name) && strings.Contains(f.read("hooks"), "before_remove") })
	f.kill()
	if got := f.must("git", "show", "forge/landed:thing1.txt"); got != "thing1\n" {
		t.Errorf("what landed is %q", got)
	}
	if got, want := f.read("hooks"), "after_create "+name+" nothing\nbefore_run main\nafter_run\nbefore_remove "+name+"\n"; got != want {
		t.Errorf("the hooks were\n%swant\n%s", got, want)
	}
	// The agent has the workspace, what the hook installed, no remote and no key.
	if got, want := f.read("places"), space+"  installed nothing\n"; got != want {
		t.Errorf("the agent was at %q, want %q", got, want)
	}
	for _, want := range []string{"You work on " + name + ": thing1", "Write **it**."} {
		if !strings.Contains(f.read("prompts"), want) {
			t.Errorf("the prompt lacks %q:\n%s", want, f.read("prompts"))
		}
	}
	for _, want := range []string{"issue_id=", "issue_identifier=" + name, "hook=after_create", "outcome=completed", "hook=after_run outcome=failed"} {
		if !strings.Contains(f.log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, f.log.String())
		}
	}
	if strings.Contains(f.log.String(), f.linear.Token) {
		t.Error("the log has the key")
	}
}

// What one poll brings is worked on as the specification sorts it: the most urgent
// first, of equal ones the oldest, and what has no priority last; of one state never
// more than the file lets be. So it is however the tracker told them.
func TestWorkflowOrderAndLimits(t *testing.T) {
	pace.Slow(t, "a factory works on five issues, one after the other")
	pace.Sequential(t, processesAlone)
	f := newFlow(t)
	f.workflow("  max_concurrent_agents_by_state: {Todo: 1}\n")
	f.must("git", "commit", "-qam", "one at a time")
	var want []string
	for _, of := range []struct{ priority, place int }{{0, 4}, {3, 3}, {1, 0}, {2, 2}, {1, 1}} {
		n := f.linear.Open(t, trackertest.Writer, fmt.Sprintf("thing%d", of.place), "")
		f.linear.SetPriority(t, n, of.priority)
		want = append(want, fmt.Sprintf("%d %s-%d", of.place, trackertest.Team, n))
	}
	slices.Sort(want)
	f.write("repo/agent.sh", "[ -e \"$HALL/busy\" ] && echo two >>\"$HALL/beside\"\ntouch \"$HALL/busy\"\nsleep 0.3\n"+workflowAgent+"rm \"$HALL/busy\"\n")
	f.must("git", "commit", "-qam", "who works beside another says so")
	f.serve()
	f.eventually("all are done on the tracker", func() bool {
		for n := range want {
			if f.linear.State(t, int64(n)+1) != "Done" {
				return false
			}
		}
		return true
	})
	f.kill()
	var got []string
	for n, line := range strings.Split(strings.TrimSpace(f.read("places")), "\n") {
		got = append(got, fmt.Sprintf("%d %s", n, filepath.Base(strings.Fields(line)[0])))
	}
	if !slices.Equal(got, want) {
		t.Errorf("they were worked on as %q, want %q", got, want)
	}
	if f.exists("beside") {
		t.Error("two of one state were worked on at once")
	}
}

// What fails is tried again by itself, also by who was started anew meanwhile.
func TestWorkflowRetrySurvivesARestart(t *testing.T) {
	pace.Slow(t, "a factory is started, works and is looked at while it does")
	pace.Sequential(t, processesAlone)
	f := newFlow(t)
	n := f.linear.Open(t, trackertest.Writer, "thing1", "")
	f.write("fail", "")
	f.serve()
	f.eventually("it is tried again later", func() bool { return len(f.rows("retrying")) == 1 })
	row := f.rows("retrying")[0].(map[string]any)
	due, err := time.Parse(time.RFC3339, fmt.Sprint(row["due_at"]))
	if row["attempt"].(float64) < 1 || row["error"] == "" || err != nil || due.IsZero() {
		t.Errorf("retrying: %v", row)
	}
	f.kill()
	_ = os.Remove(f.at("fail"))
	f.serve()
	f.eventually("it is done", func() bool { return f.linear.State(t, n) == "Done" })
	f.kill()
	if got := f.read("hooks"); strings.Count(got, "after_create") != 1 || strings.Count(got, "before_run") < 2 {
		t.Errorf("the hooks were\n%s", got)
	}
}

// A broken file is said at every door, the last good one holds, and a mended one
// counts without a restart.
func TestWorkflowIsReadAgain(t *testing.T) {
	pace.Slow(t, "a factory is started, works and is looked at while it does")
	pace.Sequential(t, processesAlone)
	f := newFlow(t)
	f.serve()
	f.write("repo/WORKFLOW.md", "---\ntracker: [\n---\n")
	f.eventually("it is said that the file is wrong", func() bool {
		_, body := f.ask(http.MethodGet, "/api/v1/state")
		said, _ := body["workflow"].(map[string]any)
		return strings.Contains(fmt.Sprint(said["error"]), "workflow_parse_error")
	})
	f.eventually("the log says it", func() bool { return strings.Contains(f.log.String(), "workflow_parse_error") })
	n := f.linear.Open(t, trackertest.Writer, "thing1", "")
	f.eventually("what is new is done by the last good file", func() bool { return f.linear.State(t, n) == "Done" })
	f.eventually("forge factory status says it", func() bool {
		return strings.Contains(f.acknowledged("factory", "status"), "The last good workflow holds: WORKFLOW.md:")
	})
	f.workflow("")
	f.eventually("it is read again", func() bool { return strings.Contains(f.log.String(), "the workflow is read again") })
	_, body := f.ask(http.MethodGet, "/api/v1/state")
	if said, _ := body["workflow"].(map[string]any); said["error"] != nil {
		t.Errorf("%v", body)
	}
}

// Whoever takes an issue out of the active states stops its agent, and its workspace
// stays; who ends it has the workspace removed as well.
func TestWorkflowIsReconciled(t *testing.T) {
	pace.Slow(t, "a factory is started, works and is looked at while it does")
	pace.Sequential(t, processesAlone)
	f := newFlow(t)
	n := f.linear.Open(t, trackertest.Writer, "thing1", "")
	name := fmt.Sprintf("%s-%d", trackertest.Team, n)
	f.write("wait", "")
	f.serve()
	f.eventually("it is worked on", func() bool { return len(f.rows("running")) == 1 && f.exists("places") })
	f.linear.SetState(t, trackertest.Writer, n, "In Progress")
	f.eventually("its state is followed", func() bool {
		rows := f.rows("running")
		return len(rows) == 1 && rows[0].(map[string]any)["state"] == "In Progress"
	})
	f.linear.SetState(t, trackertest.Writer, n, "In Review")
	f.eventually("it is stopped", func() bool { return len(f.rows("running")) == 0 && strings.Contains(f.read("hooks"), "after_run") })
	if !f.exists("spaces/" + name + "/start.txt") {
		t.Error("its workspace is gone")
	}
	f.linear.SetState(t, trackertest.Writer, n, "Done")
	f.eventually("its workspace is removed", func() bool { return !f.exists("spaces/" + name) })
	if got := f.read("hooks"); strings.Count(got, "before_remove") != 1 {
		t.Errorf("the hooks were\n%s", got)
	}
}

// aCodexServer answers as codex app-server does, once it is asked to, and does the
// work in the folder in which it is started.
const aCodexServer = `#!/bin/sh
case "$1" in
--version) echo "codex-cli 0.169.0"; exit 0 ;;
login) exit 0 ;;
app-server) ;;
*) echo "$*" >>HALL/asked; exit 9 ;;
esac
next() { read -r line || exit 0; echo "$line" >>HALL/told; }
echo "$PWD ${MARK:-} ${LINEAR_API_KEY:-nothing}" >>HALL/places
next; echo '{"id":1,"result":{}}'
next; next; echo '{"id":2,"result":{"thread":{"id":"T1"}}}'
next; echo '{"id":3,"result":{"turn":{"id":"t1"}}}'
echo '{"id":"a","method":"item/commandExecution/requestApproval","params":{"command":"rm -rf /"}}'; next
echo '{"id":"b","method":"item/tool/call","params":{"tool":"linear_graphql","arguments":{"query":"{viewer{id}}"}}}'; next
echo by codex >thing1.txt
echo '{"method":"thread/tokenUsage/updated","params":{"threadId":"T1","turnId":"t1","tokenUsage":{"total":{"inputTokens":11,"cachedInputTokens":0,"outputTokens":4,"reasoningOutputTokens":0,"totalTokens":15},"last":{"inputTokens":11,"cachedInputTokens":0,"outputTokens":4,"reasoningOutputTokens":0,"totalTokens":15}}}}'
echo '{"method":"item/completed","params":{"threadId":"T1","turnId":"t1","item":{"type":"agentMessage","id":"m","text":"<promise>ISSUE 1 DONE</promise>"}}}'
echo '{"method":"turn/completed","params":{"threadId":"T1","turn":{"id":"t1","items":[],"status":"completed","error":null}}}'
next
`

// The agent that the file means is codex, by its app server, with the command as it
// stands: approvals and tools get an answer, and it is told what the template says. One
// that needs a shell, of which nobody knows what it begins, waits until it is trusted.
func TestWorkflowDrivesCodex(t *testing.T) {
	pace.Slow(t, "a factory is started, once for each command")
	pace.Sequential(t, processesAlone)
	for command, mark := range map[string]string{"codex app-server": "", "MARK=$(printf by-shell) && export MARK && exec codex app-server": "by-shell"} {
		f := newFlow(t)
		f.write("home/.bash_profile", "PATH="+f.at("bin")+":$PATH\n")
		f.write("bin/codex", strings.ReplaceAll(aCodexServer, "HALL", f.root))
		if err := os.Chmod(f.at("bin/codex"), 0o755); err != nil {
			t.Fatal(err)
		}
		f.path = f.at("bin")
		f.write("repo/WORKFLOW.md", fmt.Sprintf("---\ntracker: {kind: linear, endpoint: %q, project_slug: %s, terminal_states: [Done]}\npolling: {interval_ms: 200}\nworkspace: {root: %s}\n"+
			"hooks:\n  after_create: git clone -q %s .\ncodex: {command: %q}\nforge:\n  factory: {triage: \"off\", default_policy: end_to_end}\n  verify: {commands: [\"true\"]}\n---\nWork on {{ issue.identifier }}.\n",
			f.linear.URL, trackertest.ProjectSlug, f.at("spaces"), f.at("repo"), command))
		n := f.linear.Open(t, trackertest.Writer, "thing1", "")
		if mark != "" {
			_, said, code := f.forge("factory", "--workflow", "WORKFLOW.md", "--once", "--listen", "off")
			if code != 2 || !strings.Contains(said, "WORKFLOW.md:8: agents.codex.command gives what codex holds") || f.exists("places") {
				t.Fatalf("who trusts nobody gets %d: %s", code, said)
			}
			way := regexp.MustCompile(`allow it with forge trust '([^']+)',`).FindStringSubmatch(said)
			if way == nil {
				t.Fatalf("it is not said how to trust it: %s", said)
			}
			f.acknowledged("trust", way[1], "--yes")
		}
		f.serve()
		f.eventually("it is done", func() bool { return f.linear.State(t, n) == "Done" })
		_, body := f.ask(http.MethodGet, "/api/v1/state")
		if sum, _ := body["codex_totals"].(map[string]any); sum["total_tokens"] != float64(15) {
			t.Errorf("%s: tokens %v", command, sum)
		}
		f.kill()
		if got := f.must("git", "show", "forge/landed:thing1.txt"); got != "by codex\n" {
			t.Errorf("%s: what landed is %q", command, got)
		}
		space := filepath.Join(f.at("spaces"), fmt.Sprintf("%s-%d", trackertest.Team, n))
		if got, want := f.read("places"), space+" "+mark+" nothing\n"; got != want {
			t.Errorf("%s: codex was at %q, want %q", command, got, want)
		}
		for _, want := range []string{`"method":"initialize"`, `"clientInfo"`, `"method":"initialized"`, `"method":"thread/start"`, `"approvalPolicy":"never"`, `"cwd":"` + space, `"method":"turn/start"`, "Work on WORK-1.", `"decision":"decline"`, `"success":false`} {
			if !strings.Contains(f.read("told"), want) {
				t.Errorf("%s: codex was not told %s:\n%s", command, want, f.read("told"))
			}
		}
		if !strings.Contains(f.log.String(), "session_id=T1-1") {
			t.Errorf("%s: the log names no session:\n%s", command, f.log)
		}
		if f.exists("asked") {
			t.Errorf("%s: codex was asked %s", command, f.read("asked"))
		}
	}
}

// Asked to end, it ends well.
func TestWorkflowEndsWell(t *testing.T) {
	pace.Slow(t, "a factory is started")
	pace.Sequential(t, processesAlone)
	f := newFlow(t)
	f.serve()
	if err := f.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-f.over
	if code := f.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d:\n%s", code, f.log)
	}
}

// What is wrong with a file keeps the factory from starting, with all of it named.
func TestWorkflowThatIsWrong(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for name, c := range map[string]struct{ text, want string }{
		"a file that is not there": {"", "missing_workflow_file"},
		"one without a key":        {"---\ntracker: {kind: linear, api_key: $NOBODY, project_slug: s}\n---\n", "WORKFLOW.md:2: missing_tracker_api_key"},
		"a wrong block forge":      {"---\ntracker: {kind: linear, project_slug: s}\nforge:\n  verify:\n    comands: [x]\n---\n", "WORKFLOW.md:5: "},
		"proof that is loosened":   {"---\ntracker: {kind: linear, project_slug: s}\nforge:\n  sandbox: {mode: \"off\"}\n---\n", "WORKFLOW.md:4: "},
	} {
		_ = os.Remove(f.at("repo/WORKFLOW.md"))
		if c.text != "" {
			f.write("repo/WORKFLOW.md", c.text)
		}
		for _, args := range [][]string{{"factory", "--workflow", ".", "--once"}, {"factory", "--workflow", "WORKFLOW.md", "--once"}} {
			if _, stderr, code := f.quick(args...); code != 2 || !strings.Contains(stderr, c.want) {
				t.Errorf("%s: %d, %s", name, code, stderr)
			}
		}
	}
}
