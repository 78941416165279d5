package narrate

import (
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

func TestWorkThatIsKeptIsSaid(t *testing.T) {
	failed := func(last string) *orchestrator.Phase {
		return &orchestrator.Phase{Number: "01", Outcome: work.PhaseFailed, Base: "aaa", Last: last}
	}
	for name, in := range map[string]struct {
		phase *orchestrator.Phase
		want  bool
	}{
		"with work":         {failed("bbb"), true},
		"without a change":  {failed("aaa"), false},
		"without a commit":  {failed(""), false},
		"done, with work":   {&orchestrator.Phase{Number: "01", Outcome: work.PhaseDone, Base: "aaa", Last: "bbb"}, false},
		"going on, as well": {&orchestrator.Phase{Number: "01", Base: "aaa", Last: "bbb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &orchestrator.State{Run: "r1", Order: []string{"01"}, Phases: map[string]*orchestrator.Phase{"01": in.phase}}
			if got := strings.Contains(KeptText(s, ""), "forge take r1 01"); got != in.want {
				t.Errorf("KeptText names the command: %v, want %v", got, in.want)
			}
			if got := KeptText(s, "02"); got != "" {
				t.Errorf("KeptText of another phase = %q", got)
			}
		})
	}
}

func TestWithKeptFitsACard(t *testing.T) {
	s := &orchestrator.State{Run: "r1"}
	p := &orchestrator.Phase{Number: "01", Base: "aaa", Last: "bbb"}
	if got, want := WithKept("red", s, p), "red; its work is kept: forge take r1 01"; got != want {
		t.Errorf("WithKept = %q, want %q", got, want)
	}
	got := WithKept(strings.Repeat("ä", work.MaxIssueReason), s, p)
	if len(got) > work.MaxIssueReason || !strings.HasSuffix(got, "forge take r1 01") {
		t.Errorf("WithKept of a long reason has %d bytes and ends %q", len(got), got[len(got)-20:])
	}
	p.Last = ""
	if got := WithKept("red", s, p); got != "red" {
		t.Errorf("WithKept of a phase that made nothing = %q", got)
	}
}
