package orchestrator

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// Journals of released versions, as --output json printed them, must be read
// for ever: they come to the same state, and whoever resumes a run at the end
// of one of its processes has the same to do. They are never recorded anew; a
// version that changes events adds its own.
//
//	v1-alone          no person: a false promise, a sub-phase, protected
//	                  evidence, a conflict, a pivot, a stalled phase with a
//	                  skipped dependent, an outage, a failure, an interruption,
//	                  two resumes
//	v1-reviews        a fail that is fixed, changed evidence, an unknown, a model
//	                  overruled, findings answered three ways, an interruption
//	v1-job            strategic and tactical phases, feedback, a level that is
//	                  changed in the middle, a result
//	v1-expiry         questions at a phase and at the result that nobody answers
//	                  in time, each asked again and then answered
//	v1-issue          the run of an issue: a fix, a criterion that a reviewer
//	                  denies, a result that is sent back, and one that a person
//	                  approves for what nobody proved
//	v1-pulls          a phase that people look at on a code host, which does not
//	                  always do what it is asked
//	v1-pull-left      people push against the agent's work, and the phase goes on
//	                  without its pull request, which is closed at the second try
//	v1-with-a-person  each question asked and answered: a red base, a start, a
//	                  stall, a sub-phase, a rejected phase that is opened again,
//	                  a result that is sent back once and then lands
//	v2-doubts         a phase that changes evidence and is proven with the trusted
//	                  one as well, test runners that are asked, two doubts, and a
//	                  person who lands the result all the same
//	v3-told           a message that ends an iteration, a question of the agent's
//	                  that a person answers, and the result, which lands
//	v4-hooks          hooks that let pass, tell the agent something and hold, a
//	                  question, two resumes and a result, which lands
//	v5-rest           controls that two claims had no time for, tried at the end of
//	                  the run: one finds tests that cannot fail, one could not be
//	                  tried; a person lands the result all the same
//	v6-rewind         a phase that failed is set back to what an iteration left, with
//	                  words for its agent; what was skipped because of it follows,
//	                  and the result lands
//	v7-agents         of three agents each is out in turn, and the first that is free
//	                  goes on; a resume asks the first again, and the result lands
//	v8-midway         a message that an agent takes while it works, and the result, which
//	                  lands
//	v9-train          eight phases side by side: two batches are merged together, one phase
//	                  is named and mends its work, one conflicts and resolves it
//	v10-tries         phases that are tried several times: two tries are stopped, one is
//	                  taken as the smaller, and of one phase no try is proven
//	v11-repositories  two phases in two repositories, which are moved together
//	v11-council       two workers judge each other's tries, one in a way that is no vote,
//	                  and what a chairman makes out of both is taken
//	v12-pages         pages that are shown: one with errors, which are mended, and one that
//	                  cannot be shown once its phase is merged with the other's
func TestGoldenJournals(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "journals", "*.jsonl"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d journals: %v", len(files), err)
	}
	seen := map[work.EventKind]bool{}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			evs := golden(t, file)
			for _, e := range evs {
				seen[e.Kind] = true
			}
			got, stored := goldenSummary(t, evs), strings.TrimSuffix(file, ".jsonl")+".summary"
			if *update {
				if err := os.WriteFile(stored, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(stored)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("this journal of an earlier version now reads\n%s\nwas\n%s", got, want)
			}
		})
	}
	for kind := range appliers {
		if !seen[kind] {
			t.Errorf("no golden journal holds %s", kind)
		}
	}
}

func golden(t *testing.T, file string) []work.Event {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var evs []work.Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4*work.MaxEventBytes)
	for lines.Scan() {
		var e work.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: event %d: %v", file, len(evs)+1, err)
		}
		evs = append(evs, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return evs
}

// goldenSummary replays a journal, and says where it stood whenever a process
// left the run.
func goldenSummary(t *testing.T, evs []work.Event) string {
	t.Helper()
	var b strings.Builder
	s := openGolden(t, evs[0])
	for i, e := range evs {
		if err := Apply(s, e); err != nil {
			t.Fatal(err)
		}
		if e.Kind == work.RunFinished {
			stands(&b, s)
			comesNext(t, &b, evs[:i+1])
		}
	}
	return b.String()
}

// openGolden is a run before its first event.
func openGolden(t *testing.T, first work.Event) *State {
	t.Helper()
	var d RunStartedData
	if err := json.Unmarshal(first.Data, &d); err != nil || d.Spec == nil {
		t.Fatalf("the journal does not begin with what the run was opened with: %v", err)
	}
	s, err := NewState(first.Run, *d.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stands writes down what a person or a program would ask of a run.
func stands(b *strings.Builder, s *State) {
	fmt.Fprintf(b, "event %d: %s %q, head %.12s, baseline %s, unproven %v\n", s.Seq, s.Outcome, s.Reason, s.Head, s.Baseline.Stage, s.Unproven)
	for _, n := range s.Order {
		p := s.Phases[n]
		fmt.Fprintf(b, "  %s %s: %s %s %s %q cause %q proof %q, %d/%d spent, iteration %d, files %d, last %.12s\n",
			n, p.Plan.Name, p.Stage, p.Outcome, p.Reason, p.Detail, p.Cause, p.Proof, p.Spent, p.Budget, p.Iteration, p.Files, p.Last)
		for _, page := range p.Record.Pages {
			fmt.Fprintf(b, "    page %s %q\n", page.Line(), page.Red())
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Open)) {
		cp := s.Open[id]
		fmt.Fprintf(b, "  open %s: %s of phase %q, revision %d: %s\n", id, cp.Kind, cp.Phase, cp.Revision, cp.Question)
	}
	if s.Issue != nil {
		p := s.Promotion()
		fmt.Fprintf(b, "  issue %d: %s, decided %q by %q, held by %q\n", s.Spec.Issue.ID, p.Standing, p.Decision, p.By, p.Hold)
		for _, c := range p.Criteria {
			fmt.Fprintf(b, "    %s met %v:", c.ID, c.Met)
			for _, e := range c.Evidence {
				fmt.Fprintf(b, " %s %s %v of %.12s %q;", e.By, e.Who, e.Met, e.Commit, e.What)
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(b, "  %.4f USD, %d tokens, unknown %d and %d\n", s.Ledger.USD, s.Ledger.Tokens, s.Ledger.UnknownUSD, s.Ledger.UnknownTokens)
	if d := s.Delivery; d != nil {
		fmt.Fprintf(b, "  delivered %.12s, fast-forwarded %v %q\n", d.Commit, d.FastForwarded, d.Reason)
	}
}

// comesNext writes down what a process that resumes the run here does first.
func comesNext(t *testing.T, b *strings.Builder, evs []work.Event) {
	t.Helper()
	s := openGolden(t, evs[0])
	for _, e := range evs {
		if err := Apply(s, e); err != nil {
			t.Fatal(err)
		}
	}
	if !s.Outcome.Final() {
		if _, err := Feed(s, Input{Now: evs[len(evs)-1].Time.Add(time.Minute), Fact: Resumed{}}); err != nil {
			t.Fatalf("resume after event %d: %v", s.Seq, err)
		}
		if !s.Live {
			t.Errorf("the run cannot be resumed after event %d", evs[len(evs)-1].Seq)
		}
	}
	for _, c := range Pending(s) {
		fmt.Fprintf(b, "  next %s\n", c.ID)
	}
}
