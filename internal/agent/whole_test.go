package agent

import (
	"os"
	"strings"
	"testing"

	"forge/internal/redact"
	"forge/internal/work"
)

// TestWholeMessage: who asks an agent a question gets all of its answer, up to
// a limit and without secrets; what is recorded stays its end.
func TestWholeMessage(t *testing.T) {
	const secret = "s3cret-of-the-test"
	a := New(Config{Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, Redact: redact.New([]string{secret})})
	r := iterate(t, a, shell(t, "echo begin "+secret+"; head -c 100000 /dev/zero | tr '\\0' x; echo; echo end"))
	if r.Outcome != work.OutcomeOK || len(r.Whole) < 100_000 || !strings.HasPrefix(r.Whole, "begin ") || strings.Contains(r.Whole, secret) {
		t.Errorf("%s, %d bytes: %.60q", r.Outcome, len(r.Whole), r.Whole)
	}
	if len(r.Message) > messageBytes || !strings.HasSuffix(r.Whole, r.Message) || !strings.HasSuffix(r.Message, "end") {
		t.Errorf("the end has %d bytes", len(r.Message))
	}
	r = iterate(t, a, shell(t, "echo begin; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end"))
	if len(r.Whole) > wholeBytes || len(r.Whole) < wholeBytes/2 || !strings.HasSuffix(r.Whole, "end") {
		t.Errorf("%d bytes of a long message", len(r.Whole))
	}
}
