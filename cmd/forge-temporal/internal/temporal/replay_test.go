package temporal

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Every history that was ever kept is replayed: a core that decides otherwise than
// the one that recorded it, or a workflow that asks for other things or in another
// order, fails here. Then CoreVersion is raised, and histories of it are added by
//
//	go test -tags real ./internal/temporal -run Record -update
//
// Those of earlier versions are replayed for as long as their code is kept.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/core-" + CoreVersion + "/*.json.gz")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d histories are kept: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if err := replay(t, file); err != nil {
				t.Error(err)
			}
		})
	}
}

func replay(t *testing.T, file string) error {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	history, err := client.HistoryFromJSON(bytes.NewReader(text), client.HistoryJSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflowWithOptions(Drive, workflow.RegisterOptions{Name: WorkflowName})
	return r.ReplayWorkflowHistory(nil, history)
}
