//go:build real

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is an action of several steps, as runners of GitHub and Gitea read it.
type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Outputs map[string]struct{ Value string }
	Runs    struct {
		Using string
		Steps []struct {
			ID, Shell, Run string
			Env            map[string]string
		}
	}
}

var expression = regexp.MustCompile(`\$\{\{\s*([a-z_.]+)\s*\}\}`)

// act carries an action out as a runner does: its steps one after the other until
// one fails, each with what the one before left in the job's files.
func act(t *testing.T, name, dir string, env []string, with map[string]string) (outputs map[string]string, code int, said string) {
	t.Helper()
	at, err := filepath.Abs(filepath.Join("actions", name))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(read(t, at, "action.yml"), &a); err != nil || a.Runs.Using != "composite" {
		t.Fatalf("%s: %v, %q", name, err, a.Runs.Using)
	}
	known := map[string]string{"github.action_path": at}
	for input, is := range a.Inputs {
		value, given := with[input]
		if !given && is.Required {
			t.Fatalf("%s wants the input %s", name, input)
		}
		if !given {
			value = is.Default
		}
		known["inputs."+input] = value
	}
	fill := func(words string) string {
		return expression.ReplaceAllStringFunc(words, func(e string) string {
			value, ok := known[expression.FindStringSubmatch(e)[1]]
			if !ok {
				t.Errorf("%s names %s, which there is not", name, e)
			}
			return value
		})
	}
	job := t.TempDir()
	env = append(env, "RUNNER_TEMP="+job, "GITHUB_PATH="+filepath.Join(job, "path"), "GITHUB_OUTPUT="+filepath.Join(job, "output"))
	for _, s := range a.Runs.Steps {
		write(t, filepath.Join(job, "output"), "")
		if added, err := os.ReadFile(filepath.Join(job, "path")); err == nil {
			env = append(env, "PATH="+strings.ReplaceAll(strings.TrimSpace(string(added)), "\n", ":")+":"+os.Getenv("PATH"))
		}
		cmd := exec.CommandContext(t.Context(), s.Shell, "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", fill(s.Run))
		cmd.Dir, cmd.Env = dir, env
		for key, value := range s.Env {
			cmd.Env = append(cmd.Env, key+"="+fill(value))
		}
		out, err := cmd.CombinedOutput()
		said += string(out)
		for line := range strings.Lines(string(read(t, job, "output"))) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			known["steps."+s.ID+".outputs."+key] = value
		}
		if err != nil {
			code = cmd.ProcessState.ExitCode()
			break
		}
	}
	outputs = map[string]string{}
	for key, is := range a.Outputs {
		outputs[key] = expression.ReplaceAllStringFunc(is.Value, func(e string) string { return known[expression.FindStringSubmatch(e)[1]] })
	}
	return outputs, code, said
}

// actsInJobs carries the actions out against a server with the release: forge is
// installed, does its work in a repository, and says how it ended.
func actsInJobs(t *testing.T, dist string) {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	defer server.Close()
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	for name, words := range map[string]string{
		".forge/forge.toml":  "[agent]\nuse = \"dry\"\n[agents.dry]\nkind = \"script\"\nfile = \"dry.toml\"\n[verify]\ncommands = [\"test ! -f broken\"]\n",
		".forge/phases.json": `{"phases": [{"number": "01", "name": "first", "promise": "FIRST"}]}`,
		"dry.toml":           "[[step]]\ndo = [{ write = \"out.txt\", content = \"made\\n\" }, { print = \"<promise>FIRST</promise>\" }]\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), words)
	}
	git("init", "-q", "-b", "main")
	git("config", "user.name", "Test")
	git("config", "user.email", "test@example.invalid")
	git("add", "-A")
	git("commit", "-q", "-m", "a plan")
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "GITHUB_ACTIONS=", "FORGE_STATE_DIR=")

	made, code, said := act(t, "run", dir, env, map[string]string{"url": server.URL, "push": "false", "arguments": "--no-merge --max-parallel 1"})
	if code != 0 || made["code"] != "0" || !strings.Contains(said, "installed forge 9.8.7") {
		t.Errorf("forge run: %d, %v: %s", code, made, said)
	}
	if log, err := os.ReadFile(made["log"]); err != nil || !strings.Contains(string(log), "FIRST") {
		t.Errorf("the log: %v: %s", err, log)
	}
	// Nothing in the arguments is carried out, and what forge refuses ends the job.
	made, code, said = act(t, "run", dir, env, map[string]string{"url": server.URL, "push": "false", "arguments": "--no-such $(touch ran) *"})
	if code != 2 || made["code"] != "2" || !strings.Contains(said, "no-such") {
		t.Errorf("an unknown flag: %d, %v: %s", code, made, said)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a command in the arguments was carried out")
	}
	// Nobody is there to review: that is no pass, and there is no file.
	made, code, said = act(t, "review", dir, env, map[string]string{"url": server.URL, "arguments": "--base HEAD"})
	if code == 0 || made["code"] == "0" || made["code"] == "" {
		t.Errorf("forge review without a reviewer: %d, %v: %s", code, made, said)
	}
	if _, code, said = act(t, "review", dir, env, map[string]string{"url": server.URL + "/none"}); code != 2 || !strings.Contains(said, "there is no install.sh at") {
		t.Errorf("a wrong address: %d: %s", code, said)
	}
}
