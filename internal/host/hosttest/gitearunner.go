package hosttest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// WithActions lets the server have its own CI, for which a GiteaRunner works.
func WithActions(g *Gitea) { g.actions = true }

// GiteaRunner works off jobs of Gitea's Actions, by the protocol that Gitea's own
// runner speaks. Of a workflow it knows steps that are commands, which it carries
// out in a clone of the commit, one after another until one fails.
type GiteaRunner struct {
	g           *GiteaCrowd
	repo        string // of owner
	uuid, token string
	env         []string
}

// RunnerLabel is what a job runs on that a GiteaRunner takes.
const RunnerLabel = "tests"

// Runner registers a runner for a repository, whose commands see env.
func (g *GiteaCrowd) Runner(t testing.TB, repo string, env ...string) *GiteaRunner {
	t.Helper()
	r := &GiteaRunner{g: g, repo: repo, env: append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}, env...)}
	var first struct{ Token string }
	g.Do(t, g.Tokens["owner"], http.MethodPost, "/repos/owner/"+repo+"/actions/runners/registration-token", nil, &first)
	var made struct {
		Runner struct{ UUID, Token string }
	}
	r.ask(t, "Register", map[string]any{"name": "of tests", "token": first.Token, "labels": []string{RunnerLabel}}, &made)
	r.uuid, r.token = made.Runner.UUID, made.Runner.Token
	return r
}

func (r *GiteaRunner) ask(t testing.TB, what string, in, out any) {
	t.Helper()
	status, body := call(t, r.g.URL+"/api/actions/runner.v1.RunnerService/"+what, http.MethodPost, in, func(req *http.Request) {
		req.Header.Set("X-Runner-Uuid", r.uuid)
		req.Header.Set("X-Runner-Token", r.token)
	})
	if status != http.StatusOK {
		t.Fatalf("the runner asks %s: %d %s", what, status, body)
	}
	check(t, json.Unmarshal(body, out))
}

// runnerTask is a job that the server gave to the runner.
type runnerTask struct {
	ID              string
	WorkflowPayload string // YAML, in base64
	Context         struct{ SHA, Ref string }
}

// Until works off what waits, until a job of a commit is over, and says whether it
// went well.
func (r *GiteaRunner) Until(t testing.TB, commit string) bool {
	t.Helper()
	// What a push begins comes a moment later.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		var given struct{ Task *runnerTask }
		r.ask(t, "FetchTask", map[string]any{}, &given)
		if given.Task == nil {
			pause(t)
			continue
		}
		ok := r.do(t, given.Task)
		if given.Task.Context.SHA == commit {
			return ok
		}
	}
	t.Fatalf("no job of %s came within a minute", commit)
	return false
}

// Again has what ran for a commit run again, as a person presses it.
func (r *GiteaRunner) Again(t testing.TB, commit string) {
	t.Helper()
	var all struct {
		Runs []struct {
			ID   int64
			Head string `json:"head_sha"`
		} `json:"workflow_runs"`
	}
	at := "/repos/owner/" + r.repo + "/actions/runs"
	r.g.Do(t, r.g.Tokens["owner"], http.MethodGet, at, nil, &all)
	for _, run := range all.Runs {
		if run.Head == commit {
			r.g.Do(t, r.g.Tokens["owner"], http.MethodPost, fmt.Sprintf("%s/%d/rerun", at, run.ID), nil, nil)
			return
		}
	}
	t.Fatalf("nothing ran for %s: %+v", commit, all)
}

// do carries a job out.
func (r *GiteaRunner) do(t testing.TB, task *runnerTask) bool {
	t.Helper()
	payload, err := base64.StdEncoding.DecodeString(task.WorkflowPayload)
	check(t, err)
	var flow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	check(t, yaml.Unmarshal(payload, &flow))
	dir := filepath.Join(t.TempDir(), "clone")
	address := strings.Replace(r.g.URL, "://", "://owner:"+r.g.Tokens["owner"]+"@", 1) + "/owner/" + r.repo + ".git"
	for _, args := range [][]string{{"init", "--quiet", dir}, {"-C", dir, "fetch", "--quiet", address, task.Context.Ref}, {"-C", dir, "checkout", "--quiet", "--detach", task.Context.SHA}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Env = r.env
		run(t, cmd)
	}

	result, steps, lines := "RESULT_SUCCESS", []map[string]any{}, 0
	for _, job := range flow.Jobs { // one: the server gives each to a runner by itself
		for i, step := range job.Steps {
			if result != "RESULT_SUCCESS" {
				steps = append(steps, map[string]any{"id": fmt.Sprint(i), "result": "RESULT_SKIPPED"})
				continue
			}
			step.Run = strings.TrimSpace(step.Run)
			cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", step.Run)
			cmd.Dir, cmd.Env = dir, r.env
			out, err := cmd.CombinedOutput()
			said := strings.Split(strings.TrimRight("$ "+step.Run+"\n"+string(out), "\n"), "\n")
			r.tell(t, task, lines, said)
			if err != nil {
				result = "RESULT_FAILURE"
			}
			steps = append(steps, map[string]any{"id": fmt.Sprint(i), "result": result, "logIndex": fmt.Sprint(lines), "logLength": fmt.Sprint(len(said))})
			lines += len(said)
		}
	}
	r.ask(t, "UpdateLog", map[string]any{"taskId": task.ID, "index": fmt.Sprint(lines), "rows": logRows([]string{"Job " + result}), "noMore": true}, &struct{}{})
	now := time.Now().UTC().Format(time.RFC3339Nano)
	r.ask(t, "UpdateTask", map[string]any{"state": map[string]any{"id": task.ID, "result": result, "startedAt": now, "stoppedAt": now, "steps": steps}}, &struct{}{})
	return result == "RESULT_SUCCESS"
}

// tell sends lines of a log, of which there are so many already.
func (r *GiteaRunner) tell(t testing.TB, task *runnerTask, before int, said []string) {
	t.Helper()
	r.ask(t, "UpdateLog", map[string]any{"taskId": task.ID, "index": fmt.Sprint(before), "rows": logRows(said)}, &struct{}{})
}

func logRows(said []string) (rows []map[string]string) {
	for _, line := range said {
		rows = append(rows, map[string]string{"time": time.Now().UTC().Format(time.RFC3339Nano), "content": line})
	}
	return rows
}
