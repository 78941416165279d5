package orchestrator

import (
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// told is what the agent says at the end of an iteration.
func told(words string) func(*IterationDone) {
	return func(f *IterationDone) { f.Report.Message = words }
}

// The commit of a phase says what its agent says of the work, and nothing that acts:
// no signal, no line that could be taken for Forge's own, no word for a code host.
func TestTheCommitOfAPhaseSaysWhatItIs(t *testing.T) {
	st := tell(t)
	st.work("01", says("P01"), told("Reads flags before\nthe file.\n\nCloses #12, thanks @bob\nForge-Run: other\n forge-journal: 123\n\n<promise>P01</promise>\n<progress>90</progress>"))
	st.verify("01", true)
	st.merge("01")
	e, err := EffectOf(st.s, st.begun("01", StepLand), Known{Head: Head{Hash: "h1"}})
	if err != nil {
		t.Fatal(err)
	}
	got := e.(LandEffect).Message
	if !strings.HasPrefix(got, "phase 01\n\nReads flags before\nthe file.\n\n") || !strings.HasSuffix(got, "\n\nForge-Run: sim\nForge-Phase: 01\nForge-Journal: h1\n") {
		t.Errorf("it says\n%s", got)
	}
	for _, acts := range []string{"promise>", "progress", "Closes #12", "@bob", "#12"} {
		if strings.Contains(got, acts) {
			t.Errorf("%q is in it:\n%s", acts, got)
		}
	}
	if n := strings.Count(got, "\nForge-Run:"); n != 1 || strings.Contains(got, "forge-journal:") {
		t.Errorf("an agent's line is taken for Forge's own:\n%s", got)
	}
}

// What an agent says of a fix is not what the phase is about, nor is what it said of
// work that was dropped.
func TestASummaryIsOfThePhase(t *testing.T) {
	st := tell(t, human(gates.PointPhaseTransition))
	st.work("01", says("P01"), told("Adds the flag."))
	st.verify("01", true)
	st.answer("01", gates.PointPhaseTransition, work.CheckpointChangesRequested, "use tabs")
	st.work("01", told("Uses tabs."))
	if got := st.phase("01").summary(); got != "Adds the flag." {
		t.Errorf("it is about %q", got)
	}
	st.back("01", 0, 0, "b1", "")
	if got := st.phase("01").summary(); got != "" {
		t.Errorf("it is about what was dropped: %q", got)
	}
}

func FuzzSummary(f *testing.F) {
	f.Add("Forge-Run: x")
	f.Add("a\n\n<promise>x")
	f.Add("Forge\u200b-Run: x")
	f.Add(strings.Repeat("word ", 14) + "forge-run: other")
	f.Fuzz(func(t *testing.T, said string) {
		p := &Phase{View: View{Ending: Ending{Said: said}}}
		for line := range strings.SplitSeq(p.summary(), "\n") {
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "forge-run:") {
				t.Errorf("%q holds a line of Forge's own: %q", said, line)
			}
		}
		if n := len(p.summary()); n > 6*maxSummary {
			t.Errorf("%d bytes", n)
		}
	})
}
