package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A comment starts a run where who wrote it may write to the repository now, and
// says so in the first line; nothing else of it is ever part of a command.
func TestCallExample(t *testing.T) {
	script, err := filepath.Abs(root + "/examples/ci/call/forge-call.sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("there is no jq")
	}
	for name, c := range map[string]struct {
		who, right, body string
		ran              bool
	}{
		"writer":               {"ann", "write", "/forge do\nsoon", true},
		"owner":                {"ann", "owner", "/forge do it", true},
		"reader":               {"eve", "read", "/forge do", false},
		"nobody knows":         {"eve", "", "/forge do", false},
		"another word":         {"ann", "write", "/forge dont", false},
		"later in the comment": {"ann", "write", "please\n/forge do", false},
		"a name that is none":  {"../../x", "write", "/forge do", false},
		"a command in it":      {"ann", "write", "/forge do $(touch evil) `touch evil`\n\"; touch evil", true},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"curl":  "#!/bin/sh\ncase \"$*\" in\n*/permission) echo '{\"permission\":\"" + c.right + "\"}' ;;\n*/comments) cat >>\"$OUT/said\" ;;\n*) echo '{\"title\":\"Add it\",\"body\":\"Please $(touch evil)\"}' ;;\nesac\n",
			"forge": "#!/bin/sh\nfor last; do :; done\ncat \"$last\" >\"$OUT/task\"\necho \"$*\" >\"$OUT/args\"\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil { //nolint:gosec // programs
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", script)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "OUT=" + dir, "TMPDIR=" + dir, "API=https://host/repos/o/r", "TOKEN=t", "ISSUE=7", "WHO=" + c.who, "BODY=" + c.body}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		task, _ := os.ReadFile(filepath.Join(dir, "task"))
		said, _ := os.ReadFile(filepath.Join(dir, "said"))
		if ran := string(task) == "Add it\n\nPlease $(touch evil)\n" && strings.Contains(string(said), "Done"); ran != c.ran || !c.ran && len(task)+len(said) > 0 {
			t.Errorf("%s: task %q, said %q", name, task, said)
		}
		if left, _ := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 {
			t.Errorf("%s: it left %v", name, left)
		}
	}
	flows, err := filepath.Glob(root + "/examples/ci/call/git*[ab].yml")
	if err != nil || len(flows) != 2 {
		t.Fatalf("%d workflows, %v", len(flows), err)
	}
	for _, f := range flows {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		_, run, _ := strings.Cut(string(text), "- run: ./forge-call.sh")
		for _, word := range []string{"concurrency:", "timeout-minutes:", "issue_comment:", "BODY: ${{ github.event.comment.body }}"} {
			if !strings.Contains(string(text), word) {
				t.Errorf("%s lacks %s", f, word)
			}
		}
		if !strings.Contains(run, "BODY:") || strings.Count(string(text), "comment.body }}") != 1 {
			t.Errorf("%s has the comment elsewhere than in a variable of the script", f)
		}
	}
}
