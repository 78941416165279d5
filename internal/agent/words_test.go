package agent

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/redact"
	"forge/internal/work"
)

// What an agent asks, lacks and assumes is shown to people and kept: without
// the secrets in it.
func TestQuestionsHoldNoSecrets(t *testing.T) {
	const secret = "s3cr3t-of-the-tests"
	var w words
	fmt.Fprintf(&w, `<question>{"text":"Is %[1]s right?","choices":["%[1]s","no"],"why":"%[1]s"}</question><assumption>it is %[1]s</assumption><blocker>{"text":"%[1]s is refused","needs":"credential"}</blocker><lesson>{"text":"use %[1]s","file":"%[1]s"}</lesson>`, secret)
	w.keep()
	w.take("1")
	var r work.IterationReport
	w.report(&r, redact.New([]string{secret}))
	s := r.Signals
	if len(s.Questions) != 1 || len(s.Questions[0].Choices) != 2 || len(s.Assumptions) != 1 || len(s.Lacks) != 1 || len(s.Blockers) != 1 || len(s.Lessons) != 1 {
		t.Fatalf("the signals are %+v", s)
	}
	if all := fmt.Sprintf("%+v", s); strings.Contains(all, secret) {
		t.Errorf("the secret stands in %s", all)
	}
}
