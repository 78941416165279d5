package work

import (
	"slices"
	"testing"
)

func TestProofRecordInOneLine(t *testing.T) {
	own := VerifyFinishedData{On: OnSnapshot, OK: true, Touched: []string{"b_test.go", "a_test.go"}, Differs: []string{"b_test.go"}}
	r := own.Of([]string{"go test ./..."})
	if got, want := r.Line(), "verified"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"a_test.go", "b_test.go"}; !slices.Equal(r.PutBack, want) {
		t.Errorf("put back %q, want %q", r.PutBack, want)
	}
	r = r.With(VerifyFinishedData{On: OnTrusted, OK: true})
	r.Control = &ControlReport{
		Runners:  []RunnerReport{{Name: "go test", Accounted: true, Passed: 12, Planted: 1, Wrong: 2}, {Dir: "web", Why: "nothing says how"}},
		Unproven: []Place{{Path: "a.go", Line: 3, Name: "Half"}}, Ablation: &Ablation{Tried: 2, Hunks: 3, Lines: 10, LinesOn: 8, Share: 0.8},
	}
	r.Doubts = []Doubt{{Kind: DoubtUnproven, Path: "a.go", Line: 3, What: "no test notices"}}
	want := "verified; 12 tests passed by name in go test; which tests ran is unknown: no known test runner in web; 3 of 3 tests made wrong noticed; 1 function unproven; 80 % of 10 changed lines needed; 1 doubt"
	if got := r.Line(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Control.Deaf = []string{"TestA"}
	if red, of := r.Control.Reds(); red != 3 || of != 4 {
		t.Errorf("%d of %d red", red, of)
	}
	if got := (ProofRecord{}).Line(); got != "" {
		t.Errorf("of no proof %q is said", got)
	}
}

// Why a runner is not accounted for is said once.
func TestRunnerThatIsNotAccounted(t *testing.T) {
	for _, tt := range []struct {
		one  RunnerReport
		want string
	}{
		{RunnerReport{}, "which tests ran is unknown: no known test runner"},
		{RunnerReport{Why: "not accounted: no test runner was recognised; no red control"}, "which tests ran is unknown: no test runner was recognised; none was seen to fail"},
		{RunnerReport{Name: "bats", Dir: "t", Why: "it is not installed"}, "which tests ran is unknown: bats in t, it is not installed"},
	} {
		if got := tt.one.tell(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// What was red or disturbed is never said to be verified.
func TestProofRecordOfWhatIsNotProven(t *testing.T) {
	own := VerifyFinishedData{On: OnSnapshot, OK: true}
	red := own.Of(nil).With(VerifyFinishedData{On: OnProtected})
	if got, want := red.Line(), "not verified; red: its product with the evidence that the phase began with"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (VerifyFinishedData{On: OnMerged, Disturbed: "calc.go was changed"}).Of(nil).Line(); got != "disturbed; red: the merged tree" {
		t.Errorf("%q", got)
	}
}

func TestProofRecordPartByPart(t *testing.T) {
	own := VerifyFinishedData{On: OnSnapshot, OK: true, Millis: 1500, Touched: []string{"a_test.go"}, Allowed: []string{"Makefile"}, Notes: []string{"new evidence b_test.go"}}
	r := own.Of([]string{"make test"}).With(VerifyFinishedData{On: OnTrusted, OK: true})
	r.Control = &ControlReport{
		Runners: []RunnerReport{{Name: "pytest", Dir: "py", Accounted: true, Passed: 1, Skipped: 2, Wrong: 1}}, Red: Sampled{1, 4}, Green: Sampled{1, 1},
		Unproven: []Place{{Path: "a.py", Line: 7, Name: "half"}}, Unread: []string{"b.py"}, Skipped: []string{"the time was over"},
	}
	want := []ProofLine{
		{"commands", "make test"},
		{"verify", "green after 1.5s on the work as it is"},
		{"verify", "green on its product with the evidence that a person last accepted"},
		{"put back", "a_test.go"},
		{"allowed", "Makefile"},
		{"note", "new evidence b_test.go"},
		{"tests", "1 test passed by name in pytest in py, 2 skipped, 1 made wrong, failed as it must"},
		{"made wrong", "1 of 4 expectations"},
		{"taken out", "1 of 1 changed function"},
		{"unproven", "a.py:7 half"},
		{"unread", "b.py"},
		{"left out", "the time was over"},
	}
	if got := r.Tell(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// Each kind of doubt and each reason about a proof has a way out.
func TestProofWordsHaveAWayOut(t *testing.T) {
	for _, word := range []string{
		string(ReasonEvidenceChanged), string(ReasonProofDisturbed),
		string(DoubtWeakened), string(DoubtUnproven), string(DoubtTestAware), string(DoubtFlaky),
	} {
		if e, ok := ExplainProof(word); !ok || e.What == "" || e.Way == "" {
			t.Errorf("%s: %+v %v", word, e, ok)
		}
	}
	if _, ok := ExplainProof(string(ReasonStale)); ok {
		t.Error("a phase that is stale is no matter of its proof")
	}
	got := WaysOut([]Doubt{{Kind: DoubtFlaky}, {Kind: DoubtUnproven}, {Kind: DoubtFlaky}})
	if len(got) != 2 || got[0].Name != "flaky" || got[1].Name != "unproven" {
		t.Errorf("%q", got)
	}
}
