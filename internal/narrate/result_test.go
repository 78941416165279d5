package narrate

import (
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

func TestWorkThatIsKeptIsSaid(t *testing.T) {
	failed := func(last string) *orchestrator.View {
		return &orchestrator.View{Number: "01", Ending: orchestrator.Ending{Outcome: work.PhaseFailed}, Workspace: orchestrator.Workspace{Base: "aaa", Last: last}}
	}
	for name, in := range map[string]struct {
		phase *orchestrator.View
		want  bool
	}{
		"with work":         {failed("bbb"), true},
		"without a change":  {failed("aaa"), false},
		"without a commit":  {failed(""), false},
		"done, with work":   {&orchestrator.View{Number: "01", Ending: orchestrator.Ending{Outcome: work.PhaseDone}, Workspace: orchestrator.Workspace{Base: "aaa", Last: "bbb"}}, false},
		"going on, as well": {&orchestrator.View{Number: "01", Workspace: orchestrator.Workspace{Base: "aaa", Last: "bbb"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &orchestrator.State{Run: "r1", Order: []string{"01"}, Phases: map[string]*orchestrator.Phase{"01": {View: *in.phase}}}
			if got := strings.Contains(KeptText(s, ""), "forge take r1 01"); got != in.want {
				t.Errorf("KeptText names the command: %v, want %v", got, in.want)
			}
			if got := KeptText(s, "02"); got != "" {
				t.Errorf("KeptText of another phase = %q", got)
			}
		})
	}
}

func TestMoneyThatNobodyKnowsIsNotNothing(t *testing.T) {
	for name, in := range map[string]struct {
		spent orchestrator.Ledger
		want  string
	}{
		"nothing":       {orchestrator.Ledger{}, "$0.00, 0 tokens"},
		"all known":     {orchestrator.Ledger{USD: 0.06, Tokens: 30}, "$0.06, 30 tokens"},
		"nothing known": {orchestrator.Ledger{UnknownUSD: 2, UnknownTokens: 2}, "unknown (2 calls named no price), tokens unknown"},
		"tokens alone":  {orchestrator.Ledger{UnknownUSD: 1, Tokens: 30}, "unknown (1 call named no price), 30 tokens"},
		"a part":        {orchestrator.Ledger{USD: 0.06, UnknownUSD: 1, Tokens: 30, UnknownTokens: 1}, "at least $0.06 (1 call named no price), at least 30 tokens"},
		"a small part":  {orchestrator.Ledger{USD: 0.001, UnknownUSD: 1}, "unknown (1 call named no price), 0 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := MoneyText(in.spent); got != in.want {
				t.Errorf("MoneyText = %q, want %q", got, in.want)
			}
		})
	}
}

func TestWithKeptFitsACard(t *testing.T) {
	s := &orchestrator.State{Run: "r1"}
	p := &orchestrator.View{Number: "01", Workspace: orchestrator.Workspace{Base: "aaa", Last: "bbb"}}
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

// What people who approved left for later is said with who said it, in whose
// words soever.
func TestWhatIsLeftForLaterIsSaid(t *testing.T) {
	s := &orchestrator.State{}
	if got := FollowUpsText(s); got != "" {
		t.Errorf("nothing is left, and it says %q", got)
	}
	s.FollowUps = []orchestrator.FollowUp{{Phase: "01", By: "ann", Text: "a.go:7: shorter\x1b[2J"}, {By: "bea", Text: "b.go:1: why?"}}
	if got, want := FollowUpsText(s), "Left for later by who approved it:\n  phase 01, a.go:7: shorter (ann)\n  b.go:1: why? (bea)\n"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
