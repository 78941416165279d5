package script

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"forge/internal/pace"
)

// block is a piece of a page between fences.
type block struct {
	kind string // what stands behind the opening fence
	text string
	line int // of the opening fence
}

// blocks are the fenced pieces of a page, in order.
func blocks(page string) []block {
	var out []block
	var at *block
	for i, line := range strings.Split(page, "\n") {
		switch kind, fence := strings.CutPrefix(line, "```"); {
		case fence && at == nil:
			at = &block{kind: kind, line: i + 1}
		case fence:
			out = append(out, *at)
			at = nil
		case at != nil:
			at.text += line + "\n"
		}
	}
	return out
}

// A reader who types what docs/tutorial.md says sees what it says: each sh block
// is run, in one folder after the other and with an empty home, and each line of
// a text block stands in what the block before it printed (… = anything).
func TestTutorial(t *testing.T) {
	pace.Slow(t, "two runs and an init, each as a process")
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}

	there, ran := dir, 0
	var printed string
	for _, b := range blocks(string(page)) {
		if b.kind == "text" {
			for line := range strings.Lines(b.text) {
				pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(line, "\n")), "…", ".*")
				if !regexp.MustCompile(pattern).MatchString(printed) {
					t.Errorf("docs/tutorial.md:%d: %q is not printed, but:\n%s", b.line, line, printed)
				}
			}
			continue
		}
		want, ok := exitOf(b.kind)
		if !ok {
			continue
		}

		ran++
		cmd := exec.Command("sh", "-ec", b.text+"pwd >"+filepath.Join(dir, "there")+"\n")
		cmd.Dir = there
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + dir, "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1",
			"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.invalid", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.invalid",
		}
		var both bytes.Buffer
		cmd.Stdout, cmd.Stderr = &both, &both
		code := 0
		if err := cmd.Run(); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatal(err)
			}
			code = exit.ExitCode()
		}
		if printed = both.String(); code != want {
			t.Fatalf("docs/tutorial.md:%d ends with %d, not %d:\n%s\n%s", b.line, code, want, b.text, printed)
		}
		if now, err := os.ReadFile(filepath.Join(dir, "there")); err == nil && code == 0 {
			there = strings.TrimSpace(string(now))
		}
	}
	if ran < 10 {
		t.Errorf("only %d blocks were run: the page is read wrongly", ran)
	}
}

// exitOf reads what stands behind a fence: "sh", or "sh exits 3". false: it is
// not to be run.
func exitOf(kind string) (code int, run bool) {
	if kind == "sh" {
		return 0, true
	}
	digits, ok := strings.CutPrefix(kind, "sh exits ")
	code, err := strconv.Atoi(digits)
	return code, ok && err == nil
}
