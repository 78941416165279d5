package pullrequest

import (
	"context"
	"slices"
	"testing"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

const patch = `diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -8,7 +8,7 @@ func a() {
 eight
 nine
 ten
-eleven
+11
 twelve
 thirteen
 fourteen
@@ -40,3 +40,4 @@
 forty
+more
 forty-one
 forty-two
`

func TestTouchesLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[int]bool{
		8: false, 9: true, 11: true, 14: true, 15: false, 20: false, 38: false, 39: true, 41: true, 44: false, 0: true,
	} {
		if got := TouchesLine(patch, line); got != want {
			t.Errorf("line %d: %v, want %v", line, got, want)
		}
	}
	if TouchesLine("", 0) || TouchesLine("--- a/a.go\n+++ b/a.go\n", 1) {
		t.Error("no hunk changes a line")
	}
}

// replied keeps what was said where.
type replied struct {
	host.Host
	said []string
}

func (r *replied) Comment(_ context.Context, _ int64, key string, body text.Markdown) error {
	r.said = append(r.said, key+" on the whole: "+body.String())
	return nil
}

func (r *replied) Reply(_ context.Context, _ int64, t work.PullThread, _ string, body text.Markdown) error {
	r.said = append(r.said, t.ID+": "+body.String())
	return nil
}

// A thread gets its own answer, or none; what is for all is said once, on the
// whole.
func TestRepliesByThread(t *testing.T) {
	t.Parallel()
	there := &replied{}
	port := &Port{Host: there}
	look := work.PullLook{Threads: []work.PullThread{{ID: "4"}, {ID: "9"}}}
	err := port.Reply(t.Context(), look, []orchestrator.PullReply{
		{Thread: "4", Key: "k 4", Body: "a copy now"}, {Thread: "9", Key: "k 9"}, {Thread: "12", Key: "k 12", Body: "deleted"}, {Key: "k all", Body: "done"},
	})
	if want := []string{"4: > a copy now", "k all on the whole: > done"}; err != nil || !slices.Equal(there.said, want) {
		t.Errorf("said %q, %v; want %q", there.said, err, want)
	}
}
