package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The script for pull requests is the one that review_cmd_ci.txtar
// runs, every workflow beside it calls it, and fetches what it needs.
func TestReviewExamplesAreTheTestedOnes(t *testing.T) {
	script, err := os.ReadFile(root + "/examples/ci/review/forge-review.sh")
	if err != nil {
		t.Fatal(err)
	}
	tested, err := os.ReadFile(scripts + "review_cmd_ci.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(tested), "-- project/forge-review.sh --\n"+string(script)) {
		t.Error("review_cmd_ci.txtar tests another script than examples/ci/review/forge-review.sh")
	}
	flows, err := filepath.Glob(root + "/examples/ci/review/*.yml")
	if err != nil || len(flows) != 5 {
		t.Fatalf("%d workflows, %v", len(flows), err)
	}
	for _, f := range flows {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "./forge-review.sh ") {
			t.Errorf("%s does not call forge-review.sh", f)
		}
		if !strings.Contains(string(text), "timeout-minutes:") && !strings.Contains(string(text), "timeout:") {
			t.Errorf("%s has no time limit", f)
		}
		if !strings.Contains(string(text), "fetch-depth: 0") && !strings.Contains(string(text), `GIT_DEPTH: "0"`) {
			t.Errorf("%s does not fetch the history that the review needs", f)
		}
		if is := strings.Contains(string(text), "PULL: ${{ github.event.pull_request.number }}"); is != strings.HasSuffix(f, "-pull.yml") {
			t.Errorf("%s names the pull request: %t", f, is)
		}
	}
}

// With a number the review is of the pull request, and said there; what is no number
// never comes to a command.
func TestReviewExampleNamesThePullRequest(t *testing.T) {
	script, err := filepath.Abs(root + "/examples/ci/review/forge-review.sh")
	if err != nil {
		t.Fatal(err)
	}
	for pull, want := range map[string]struct {
		args string
		code int
	}{
		"": {"review --committed --output markdown", 1}, "7": {"review --pull 7 --output markdown", 1},
		"7 --base x": {"", 2}, "--base": {"", 2}, "$(touch evil)": {"", 2},
	} {
		dir := t.TempDir()
		forge := "#!/bin/sh\n[ \"$1\" = version ] || echo \"$*\" >\"$OUT/args\"\n[ \"$1\" = version ] || { echo found; exit 1; }\n"
		if err := os.WriteFile(filepath.Join(dir, "forge"), []byte(forge), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		cmd := exec.Command("sh", script, "markdown", "out.md")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "OUT=" + dir, "PULL=" + pull}
		out, _ := cmd.CombinedOutput()
		got, _ := os.ReadFile(filepath.Join(dir, "args"))
		if code := cmd.ProcessState.ExitCode(); code != want.code || strings.TrimSpace(string(got)) != want.args {
			t.Errorf("%q: exit code %d, forge was asked %q, want %d and %q\n%s", pull, code, got, want.code, want.args, out)
		}
	}
}
