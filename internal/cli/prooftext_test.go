package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/log/v2"

	"forge/internal/approval"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/tui"
	"forge/internal/work"
	"forge/internal/worker"
	"forge/orchestrator"
)

// inDoubt is a recorded run whose proof is in doubt: its events, and where it
// stands after the first n of them; 0 = after all.
func inDoubt(t *testing.T, n int) ([]work.Event, *orchestrator.State) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "orchestrator", "testdata", "journals", "v2-doubts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var evs []work.Event
	for line := range strings.Lines(string(data)) {
		var e work.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		evs = append(evs, e)
	}
	var first orchestrator.RunStartedData
	if err := json.Unmarshal(evs[0].Data, &first); err != nil {
		t.Fatal(err)
	}
	s, err := orchestrator.NewState(evs[0].Run, *first.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range evs {
		if n > 0 && i == n {
			break
		}
		if err := orchestrator.Apply(s, e); err != nil {
			t.Fatal(err)
		}
	}
	return evs, s
}

func holds(t *testing.T, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q:\n%s", what, w, text)
		}
	}
}

// toldAs is an event as forge why tells it.
func toldAs(t *testing.T, e work.Event) string {
	t.Helper()
	head, below, err := narrate.Say(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range below {
		if f[1] != "" {
			head += "\n" + f[0] + " " + f[1]
		}
	}
	return head
}

func TestWhyTellsTheProof(t *testing.T) {
	t.Parallel()
	evs, _ := inDoubt(t, 0)
	text := ""
	for _, e := range evs {
		text += toldAs(t, e) + "\n"
	}
	holds(t, "why", text,
		"differs calc_test.go", "then verify of its product with the evidence that a person last accepted",
		"doubt evidence_weakened calc_test.go:5", "way out evidence_weakened: ", "Request changes to have them back",
		"the test runners were asked what the proof is worth", "tests 2 tests passed by name in go test, 1 planted, failed as it must, 2 made wrong, failed as it must",
		"unproven calc.go:10 Half", "made wrong 2 of 2 expectations", "evidence → go")

	failed := work.Event{Kind: work.PhaseFinished, Data: raw(t, work.PhaseFinishedData{Outcome: work.PhaseFailed, Reason: work.ReasonEvidenceChanged})}
	holds(t, "a phase", toldAs(t, failed), "failed: evidence_changed", "means The work is green only with its own changes", "way out Name in may_change")
	failed.Data = raw(t, work.PhaseFinishedData{Outcome: work.PhaseFailed, Reason: work.ReasonProofDisturbed})
	holds(t, "a phase", toldAs(t, failed), "verify.may_write")
	failed.Data = raw(t, work.PhaseFinishedData{Outcome: work.PhaseFailed, Reason: work.ReasonStale})
	if text := toldAs(t, failed); strings.Contains(text, "way out") {
		t.Errorf("a stale phase has a way out of its proof:\n%s", text)
	}
	disturbed := work.Event{Kind: work.VerifyFinished, Data: raw(t, work.VerifyFinishedData{On: work.OnSnapshot, Disturbed: "calc.go was changed"})}
	holds(t, "verify", toldAs(t, disturbed), "FAILED", "because calc.go was changed")
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestLogTellsTheProof(t *testing.T) {
	t.Parallel()
	_, s := inDoubt(t, 0)
	for _, tt := range []struct {
		kind  work.EventKind
		data  any
		level log.Level
		text  string
		pairs string
	}{
		{work.ControlStarted, work.VerifyStartedData{}, log.InfoLevel, "asking the test runners", ""},
		{work.ControlFinished, work.ControlFinishedData{ControlReport: work.ControlReport{Runners: []work.RunnerReport{{Name: "pytest", Accounted: true, Passed: 3}}}},
			log.InfoLevel, "asked the test runners", "3 tests passed by name in pytest"},
		{work.ControlFinished, work.ControlFinishedData{}, log.InfoLevel, "asked the test runners", "no test runner was recognised"},
		{work.ControlFinished, work.ControlFinishedData{Problem: "they cannot", ControlReport: work.ControlReport{Deaf: []string{"TestA"}}}, log.WarnLevel, "the tests cannot fail any more", "they cannot"},
		{work.ControlFinished, work.ControlFinishedData{Problem: "1 lost", ControlReport: work.ControlReport{Lost: []string{"TestA"}}}, log.WarnLevel, "tests that passed before are lost", "1 lost"},
		{work.ControlFinished, work.ControlFinishedData{ControlReport: work.ControlReport{Unread: []string{"a.go"}}}, log.WarnLevel, "asked the test runners: not everything is proven", "1 file unread"},
		{work.VerifyFinished, work.VerifyFinishedData{OK: true, On: work.OnSnapshot, Doubts: []work.Doubt{{Kind: work.DoubtFlaky, What: "once red"}}}, log.WarnLevel, "verify passed on the work, and its proof is in doubt", "flaky: once red"},
		{work.VerifyFinished, work.VerifyFinishedData{OK: true, On: work.OnTrusted}, log.InfoLevel, "verify passed on the work with the tests last accepted", ""},
		{work.VerifyFinished, work.VerifyFinishedData{On: work.OnMerged, Disturbed: "a.go was changed"}, log.WarnLevel, "a command changed the files that it had to prove, on the merged work", "a.go was changed"},
		{work.PhaseFinished, work.PhaseFinishedData{Outcome: work.PhaseFailed, Reason: work.ReasonEvidenceChanged}, log.WarnLevel, "failed", "may_change"},
	} {
		level, text, pairs := narrate.Describe(work.Event{Kind: tt.kind, Data: raw(t, tt.data)}, s)
		if level != tt.level || text != tt.text {
			t.Errorf("%s: %v %q, want %v %q", tt.kind, level, text, tt.level, tt.text)
		}
		said := ""
		for _, p := range pairs {
			said += " " + strings.TrimSpace(string(raw(t, p)))
		}
		holds(t, string(tt.kind), said, tt.pairs)
	}
}

func TestReportTellsTheProof(t *testing.T) {
	t.Parallel()
	_, s := inDoubt(t, 0)
	const line = "Proof: verified; 2 tests passed by name in go test; 3 of 3 tests made wrong noticed; 1 function unproven; 2 doubts\n"
	holds(t, "the report", report.End(s, work.RunFinishedData{Outcome: work.RunCompleted}, "2 files, +3 -1", time.Time{}), line, "Change: 2 files, +3 -1\n")
	second := *s.Phases["01"]
	s.Phases["02"], s.Order = &second, append(s.Order, "02")
	holds(t, "two phases", narrate.ProofsText(s), "Proof:\n  01  verified; ", "\n  02  verified; ")
	second.Record, s.Phases["01"].Record = work.ProofRecord{}, work.ProofRecord{}
	if text := narrate.ProofsText(s); text != "" {
		t.Errorf("of no proof is said %q", text)
	}
}

func TestShowTellsTheProof(t *testing.T) {
	t.Parallel()
	_, s := inDoubt(t, 26)
	e := approval.Evidence{Doubts: s.Doubts, Proofs: map[string]work.Proof{"01": work.ProofVerified}, Records: map[string]work.ProofRecord{"01": s.Phases["01"].Record}}
	text := report.Checkpoint(&project.Checkout{Env: project.Env{Now: time.Now}}, approval.Record{Evidence: e})
	holds(t, "show", text,
		"The proof is in doubt:", "evidence_weakened calc_test.go:5:", "unproven calc.go:10:", "  unproven: This part of the change can be taken out, and no test notices.",
		"phase 01: verified; 2 tests passed by name", "its product with the evidence that a person last accepted", "put back", "calc_test.go")
	if doubts, evidence := strings.Index(text, "in doubt"), strings.Index(text, "Evidence:"); doubts > evidence {
		t.Errorf("doubts do not come first:\n%s", text)
	}
}

// The text of a pull request: doubts, then what ran on what.
func TestPullTellsTheProof(t *testing.T) {
	t.Parallel()
	_, s := inDoubt(t, 0)
	record := s.Phases["01"].Record
	record.Doubts[0].What = "<img src=x> @someone"
	said := pullrequest.Describe(orchestrator.PullPaper{Phase: "01", Proof: []string{"go test ./..."}, Record: record}, nil, "", text.Markdown{}).String()
	order(t, said, "## Evidence", "The proof is in doubt:", "Forge ran these in a fresh folder", "Verified; 2 tests passed by name in go test", "put back: ", "tests: 2 tests passed by name")
	if strings.Contains(said, "<img") || strings.Contains(said, "@someone") {
		t.Errorf("words of others act:\n%s", said)
	}
	if strings.Contains(pullrequest.Describe(orchestrator.PullPaper{Phase: "01"}, nil, "", text.Markdown{}).String(), "in doubt") {
		t.Error("a pull request without a record tells doubts")
	}
}

// An issue's result has the doubts of all its phases, and each proof.
func TestResultTellsTheProof(t *testing.T) {
	t.Parallel()
	_, s := inDoubt(t, 26)
	holds(t, "the result", narrate.TellDoubted(s.Doubts).String()+worker.TellRecords(s).String(), "The proof is in doubt:", "Phase 01. Verified; 2 tests passed by name in go test")
}

// The terminal says what an answer about evidence means, and that it is about
// the result.
func TestDoorSaysWhatEvidenceMeans(t *testing.T) {
	t.Parallel()
	_, s := inDoubt(t, 26)
	b := tui.BoardOf(s)
	if len(b.Questions) != 1 || b.Questions[0].About != "the result" {
		t.Fatalf("questions %+v", b.Questions)
	}
	labels := ""
	for _, o := range tui.OptionsOf(b.Questions[0]) {
		labels += o.Label + "\n"
	}
	_, asked := inDoubt(t, 26)
	if cp := asked.Open[b.Questions[0].Checkpoint.ID]; cp == nil || cp.Kind != "evidence" {
		t.Errorf("the question is %+v", cp)
	}
	holds(t, "the door", labels, "land it, and trust the evidence as it is now", "one more iteration with a comment", "keep it on its branch; the run fails")
}
