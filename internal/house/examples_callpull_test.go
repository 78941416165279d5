package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A comment in a pull request has it reviewed, or its branch mended, where who wrote
// it may write now; the review stands there once, and nothing of the comment is ever
// part of a command.
func TestCallInAPullRequestExample(t *testing.T) {
	script, err := filepath.Abs(root + "/examples/ci/call/forge-call-pull.sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("there is no jq")
	}
	const reviewed = "review --committed --base origin/main --output markdown"
	for name, c := range map[string]struct {
		who, right, body, old, exits string
		args, task, asked, said      string // parts of what came of it; "" = nothing did
		code                         int
	}{
		"review":               {"ann", "write", "/forge review", "", "0", reviewed, "", "/issues/7/comments", "found nothing", 0},
		"review again":         {"ann", "admin", "/forge review please", "41", "1", reviewed, "", "PATCH --data @- https://host/repos/o/r/issues/comments/41", "found nothing", 1},
		"fix":                  {"ann", "write", "/forge fix\nthe $(touch evil) `touch evil`", "", "0", "do --autonomous", "\n\nthe $(touch evil) `touch evil`\n", "/issues/7/comments", "Done, and pushed", 0},
		"fix, in one line":     {"ann", "owner", "/forge fix the typo", "", "1", "do --autonomous", " the typo\n\n", "/issues/7/comments", "the work failed", 1},
		"fix, that waits":      {"ann", "write", "/forge fix it", "", "3", "do --autonomous", " it\n\n", "/issues/7/comments", "nothing is pushed", 3},
		"fix, and not what":    {"ann", "write", "/forge fix\n\n", "", "0", "", "", "/issues/7/comments", "Not begun", 0},
		"reader":               {"eve", "read", "/forge fix it", "", "0", "", "", "", "", 0},
		"nobody knows":         {"eve", "", "/forge review", "", "0", "", "", "", "", 0},
		"another word":         {"ann", "write", "/forge fixed", "", "0", "", "", "", "", 0},
		"later in the comment": {"ann", "write", "please\n/forge review", "", "0", "", "", "", "", 0},
		"a name that is none":  {"../../x", "write", "/forge review", "", "0", "", "", "", "", 0},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"curl": "#!/bin/sh\ncase \"$*\" in\n*/permission) echo '{\"permission\":\"" + c.right + "\"}' ;;\n*@-*) echo \"$*\" >\"$OUT/asked\"; cat >\"$OUT/said\" ;;\n" +
				"*) echo '[{\"id\":" + orWord(c.old, "40") + ",\"body\":\"" + map[bool]string{true: "<!-- forge-call-review --> old", false: "a word"}[c.old != ""] + "\"}]' ;;\nesac\n",
			"forge": "#!/bin/sh\necho \"$*\" >\"$OUT/args\"\nfor last; do :; done\n[ \"$1\" = review ] && echo 'found nothing' || cat \"$last\" >\"$OUT/task\"\nexit " + c.exits + "\n",
			"git":   "#!/bin/sh\necho \"$*\" >\"$OUT/pushed\"\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil { //nolint:gosec // programs
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", script)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "OUT=" + dir, "TMPDIR=" + dir, "API=https://host/repos/o/r", "TOKEN=t", "PULL=7", "HEAD=topic", "BASE=main", "WHO=" + c.who, "BODY=" + c.body}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%s: exit code %d, want %d\n%s", name, code, c.code, out)
		}
		for file, want := range map[string]string{"args": c.args, "task": c.task, "asked": c.asked, "said": c.said} {
			got, _ := os.ReadFile(filepath.Join(dir, file))
			if !strings.Contains(string(got), want) || want == "" && len(got) > 0 {
				t.Errorf("%s: %s is %q, want %q", name, file, got, want)
			}
		}
		pushed, _ := os.ReadFile(filepath.Join(dir, "pushed"))
		if want := c.task != "" && c.code == 0; (string(pushed) == "push --quiet origin HEAD:refs/heads/topic\n") != want {
			t.Errorf("%s: git was called as %q", name, pushed)
		}
		if left, _ := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(left) > 0 {
			t.Errorf("%s: it left %v", name, left)
		}
	}
	for _, f := range []string{"gitea", "github"} {
		text, err := os.ReadFile(root + "/examples/ci/call/" + f + "-pull.yml")
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"concurrency:", "timeout-minutes:", "issue_comment:", "github.event.issue.pull_request", ".head.repo.full_name", "origin/$DEFAULT:forge-call-pull.sh", "BODY: ${{ github.event.comment.body }}"} {
			if !strings.Contains(string(text), word) {
				t.Errorf("%s-pull.yml lacks %s", f, word)
			}
		}
		if strings.Count(string(text), "comment.body }}") != 1 {
			t.Errorf("%s-pull.yml has the comment elsewhere than in a variable of the script", f)
		}
	}
}

func orWord(word, other string) string {
	if word == "" {
		return other
	}
	return word
}
