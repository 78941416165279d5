package cli

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"forge/internal/pace"
)

// The recording in docs shows what the program prints now: its commands are run
// here, and each line of the log and of the report is held against the picture, the
// other way round as well. The tests are make's instead of Go's, which would be
// compiled for each proof; what is said of runners is no part of it. make recording
// makes it anew.
func TestRecordingIsWhatIsPrinted(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "a run from the first line to the last")
	w := newWorld(t, "")
	w.write("Makefile", "test:\n\t@! grep -q 'Count(text, \" \")' main.go\n")
	for _, name := range []string{"main.go", "main_test.go"} {
		body, err := os.ReadFile("../recording/project/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		w.write(name, string(body))
	}
	script, err := filepath.Abs("../recording/script.toml")
	if err != nil {
		t.Fatal(err)
	}
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[agents.scripted]\nkind = \"script\"\nfile = \""+script+"\"\n")
	if err := os.RemoveAll(filepath.Join(w.root, ".forge")); err != nil {
		t.Fatal(err)
	}
	w.git("add", "-A")
	w.git("commit", "-qm", "wc counts words")

	began := w.forge("do", "--agent", "scripted", "Count the lines too").want(exitFrozen)
	ended := w.forge("approve", ".1", "--resume").want(exitDone)
	now := printed(began.stderr + ended.stderr + ended.stdout)
	then := printed(strings.Join(shownLines(t, "../../docs/pictures/terminal.svg"), "\n"))
	if len(then) < 18 {
		t.Fatalf("the picture has only %d lines of the log and the report:\n%s", len(then), strings.Join(then, "\n"))
	}
	for _, line := range then {
		if !slices.Contains(now, line) {
			t.Errorf("the recording shows, and nothing prints: %q", line)
		}
	}
	for _, line := range now {
		if !slices.Contains(then, line) {
			t.Errorf("printed, and not in the recording: %q", line)
		}
	}
	if t.Failed() {
		t.Logf("now:\n%s\nthen:\n%s\n(make recording makes it anew)", strings.Join(now, "\n"), strings.Join(then, "\n"))
	}
}

// printed are the lines of the log and of the report, as wide as the picture, with
// a word in the place of what is another each time.
func printed(text string) (lines []string) {
	keep := regexp.MustCompile(`^(\d\d:\d\d:\d\d (INFO|WARN) |Run |PHASE |1 |[A-Z][a-z]+: )`)
	elsewhere := regexp.MustCompile(`answered|INFO iteration \d+ phase=|^1 count|resum|frozen|  0/|^1  .*(tok|s  )|waits`) // a terminal, or who has none
	same := regexp.MustCompile(`\d\d:\d\d:\d\d|\d{6}-[a-z0-9]{4}|\b[0-9a-f]{12}\b|([0-9.]+ (min|s) )+|since=.*|; .*|said=.*|(make|go) *(test.*|$)|exit code .*`)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		if wide := []rune(line); len(wide) > 100 {
			line = string(wide[:100])
		}
		if keep.MatchString(line) && !elsewhere.MatchString(line) {
			lines = append(lines, same.ReplaceAllString(line, "…"))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// shownLines are the lines of text that a picture draws.
func shownLines(t *testing.T, path string) (lines []string) {
	t.Helper()
	var svg struct {
		Defs struct {
			Lines []struct {
				Texts []string `xml:"text"`
			} `xml:"g"`
		} `xml:"defs"`
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(data, &svg); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, l := range svg.Defs.Lines {
		lines = append(lines, strings.Join(l.Texts, ""))
	}
	return lines
}
