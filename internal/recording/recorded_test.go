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

// What the recording in the repository shows is what the program still says:
// each word of its log's sentences stands in the source of what says them. make
// recording makes it anew.
func TestRecordingIsNotOld(t *testing.T) {
	shown := linesOf(t, "../../docs/pictures/terminal.svg")
	source := sourceOf(t, "../narrate") + sourceOf(t, "../planrun") + sourceOf(t, "../cli")
	variable := regexp.MustCompile(`[0-9]+-[a-z0-9]{4}\b|[^a-z]+`)
	event := regexp.MustCompile(`^\d\d:\d\d:\d\d (?:INFO|WARN) (.*)$`)
	events := map[string]bool{}
	for _, line := range shown {
		m := event.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		said, _, _ := strings.Cut(m[1], ":") // what follows is the project's
		events[regexp.MustCompile(` [a-z]+=.*`).ReplaceAllString(said, "")] = true
	}
	if len(events) < 6 {
		t.Fatalf("only %d sentences of the log are shown: %v", len(events), events)
	}
	for said := range events {
		for _, part := range variable.Split(said, -1) {
			if !strings.Contains(source, part) {
				t.Errorf("the recording shows %q of %q, which the program does not say any more: make recording", part, said)
			}
		}
	}
	all := strings.Join(shown, "\n")
	for _, want := range []string{"forge do ", "verify failed on the work", "verify passed on the work", "yes, land it", "was moved to it", "ok      wc"} {
		if !strings.Contains(all, want) {
			t.Errorf("the recording never shows %q", want)
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
