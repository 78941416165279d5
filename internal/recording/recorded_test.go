package main

import (
	"encoding/xml"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The recording shows what a reader is to see, and the answers that a terminal
// offers now. Its log and its report are held against what the program prints by
// TestRecordingIsWhatIsPrinted of internal/cli. make recording makes it anew.
func TestRecordingIsNotOld(t *testing.T) {
	all := strings.Join(linesOf(t, "../../docs/pictures/terminal.svg"), "\n")
	for _, want := range []string{"forge do ", "verify failed on the work", "verify passed on the work", "yes, land it", "was moved to it", "ok      wc"} {
		if !strings.Contains(all, want) {
			t.Errorf("the recording never shows %q", want)
		}
	}
	source := sourceOf(t, "../tui") + sourceOf(t, "../approval") + sourceOf(t, "../../orchestrator")
	answers := regexp.MustCompile(`(?m)^(?:>|  )  ?[a-z]  (.*?)(?: \(.*\))?$`).FindAllStringSubmatch(all, -1)
	if len(answers) < 4 {
		t.Fatalf("only %d answers are shown: %q", len(answers), answers)
	}
	for _, m := range answers {
		if !strings.Contains(source, m[1]) {
			t.Errorf("the recording offers %q, which no terminal does any more: make recording", m[1])
		}
	}
}

// linesOf are the lines of text that a picture draws.
func linesOf(t *testing.T, path string) []string {
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
	var lines []string
	for _, l := range svg.Defs.Lines {
		lines = append(lines, strings.Join(l.Texts, ""))
	}
	return lines
}

// sourceOf is the program text below a folder, without tests.
func sourceOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		b.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
