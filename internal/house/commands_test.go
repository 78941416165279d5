package house

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostCommandLines is how many lines internal/cli may have without its tests:
// what touches no flag, no stdout and no terminal belongs in a room below.
const mostCommandLines = 10_000

func TestCommandsStaySmall(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "cli", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	lines := 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		body, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(body, []byte("\n"))
	}
	if lines > mostCommandLines {
		t.Errorf("internal/cli has %d lines, more than %d: move what is no command into its room", lines, mostCommandLines)
	}
}
