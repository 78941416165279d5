//go:build real

package temporal

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"forge/internal/engine"
	"forge/internal/engine/enginetest"
)

var update = flag.Bool("update", false, "keep the histories that are recorded")

// recorded are the laws whose histories are kept: one of each kind of thing that a
// workflow does.
func recorded() map[string]string {
	return map[string]string{
		"order": "follows its start", "answers": "heard by the next process", "message": "an urgent message",
		"set-back": "set back", "train": "wait for their turn",
	}
}

// names gathers the ids of workflows as engines are made.
type names struct {
	mu  sync.Mutex
	all []string
}

func (n *names) note(e *Engine) {
	of := e.Name
	e.Name = func(run string) string {
		name := of(run)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.all = append(n.all, name)
		return name
	}
}

func law(t *testing.T, words string) enginetest.Law {
	t.Helper()
	for _, l := range enginetest.Laws() {
		if strings.Contains(l.Name, words) {
			return l
		}
	}
	t.Fatalf("there is no law with %q", words)
	return enginetest.Law{}
}

// Histories as a real server keeps them are what TestReplay replays; and a history
// that goes on in another one is one run.
func TestRealTemporalRecord(t *testing.T) {
	c := dial(t, server(t))
	for kind, words := range recorded() {
		for _, long := range []int{2000, 40} {
			if kind == "train" && long < 100 {
				continue // who boards depends on what begins while a history is left
			}
			t.Run(fmt.Sprintf("%s, at most %d events", kind, long), func(t *testing.T) {
				t.Parallel()
				n := &names{}
				cand := candidates(t, c, func(e *Engine) { e.Times.MaxEvents = long }, n.note)
				if err := law(t, words).Holds(cand); err != nil {
					t.Fatal(err)
				}
				parts := histories(t, c, n.all[0])
				if long < 100 && kind != "answers" && len(parts) < 2 {
					t.Errorf("%s: the run stayed in one history", kind)
				}
				for i, part := range parts {
					if long < 100 && len(part.Events) > 3*long {
						t.Errorf("part %d of %s has %d events", i, kind, len(part.Events))
					}
					file := filepath.Join(t.TempDir(), "history.json.gz")
					if *update && (long > 100 || kind == "order") && i < 2 {
						file = fmt.Sprintf("testdata/core-%s/%s-%d-%d.json.gz", CoreVersion, kind, long, i)
					}
					keep(t, file, part)
					if err := replay(t, file); err != nil {
						t.Errorf("part %d of %s: %v", i, kind, err)
					}
				}
			})
		}
	}
}

// histories are those of all parts of a workflow's first execution chain, oldest first.
func histories(t *testing.T, c client.Client, name string) []*history.History {
	t.Helper()
	ctx := context.Background()
	about, err := c.DescribeWorkflowExecution(ctx, name, "")
	if err != nil {
		t.Fatal(err)
	}
	run := about.GetWorkflowExecutionInfo().GetFirstRunId()
	var all []*history.History
	for run != "" {
		h := &history.History{}
		next := ""
		for it := c.GetWorkflowHistory(ctx, name, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			e, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			h.Events = append(h.Events, e)
			next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
		all, run = append(all, h), next
	}
	return all
}

func keep(t *testing.T, file string, h *history.History) {
	t.Helper()
	text, err := protojson.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

var _ engine.Engine = (*Engine)(nil)
