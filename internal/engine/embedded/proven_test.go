package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// remembered is what a project remembers of its proofs, and its machine.
type remembered struct {
	*repository
	records map[string]work.ProvenBefore
	red     map[string]bool
	machine string // "" = it cannot be told
	forged  func(b work.ProvenBefore) work.ProvenBefore
}

func (m *remembered) Key(_ context.Context, q work.ProofQuestion) (work.ProofKey, error) {
	if m.machine == "" {
		return work.ProofKey{}, errors.New("a folder of PATH cannot be read")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	tree := m.commits[q.Verify.Commit]
	return work.ProofKey{Key: fmt.Sprint(tree, m.machine, q.Verify.Commands, q.Protected, q.Proof), Tree: tree}, nil
}

func (m *remembered) Find(_ context.Context, key string) (work.ProvenBefore, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.records[key]
	if m.forged != nil {
		b = m.forged(b)
	}
	return b, ok && !m.red[key]
}

func (m *remembered) Keep(_ context.Context, b work.ProvenBefore) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[b.Key] = b
	return nil
}

func (m *remembered) Refute(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.red[key] = true
	return nil
}

// again is one run after another on the same base, by an agent that changes
// nothing: the same tree is asked about twice in each.
type again struct {
	*rig
	memory *remembered
}

func newAgain(t *testing.T, change ...func(*orchestrator.Spec)) again {
	change = append(change, func(s *orchestrator.Spec) {
		s.Plan.Phases = s.Plan.Phases[:1]
		s.Settings.Verify.ReuseSecs = 7 * 24 * 3600
	})
	r := newRig(t, func(context.Context, work.IterationRequest) (work.IterationReport, error) {
		return ok("P01")
	}, change...)
	r.proofs = &remembered{repository: r.repo, records: map[string]work.ProvenBefore{}, red: map[string]bool{}, machine: "m1"}
	return again{rig: r, memory: r.proofs.(*remembered)}
}

// next opens a run, and returns how often verify was run and how often what was
// proven before stood for it.
func (a again) next(want work.RunOutcome) (ran, spared int) {
	a.t.Helper()
	a.journal.Events, a.checks.verified = nil, 0
	a.ends(want)
	for _, e := range a.journal.Events {
		var d work.VerifyFinishedData
		if e.Kind == work.VerifyFinished && work.Decode(e, &d) == nil && d.Before != nil {
			spared++
		}
	}
	return a.checks.verified, spared
}

func (a again) wants(ran, spared int) {
	a.t.Helper()
	if r, s := a.next(work.RunCompleted); r != ran || s != spared {
		a.t.Fatalf("verify was run %d times and spared %d times, want %d and %d", r, s, ran, spared)
	}
}

func TestTheSameTreeIsProvenOnce(t *testing.T) {
	a := newAgain(t)
	a.wants(1, 1) // the base; the claim is on its tree
	a.wants(0, 2)

	a.spec.Fresh = true
	a.wants(2, 0)
	a.spec.Fresh = false

	a.memory.machine = "m2"
	a.wants(1, 1)
	a.memory.machine = ""
	a.wants(2, 0) // what cannot be told is run, and not remembered
	if len(a.memory.records) != 2 {
		t.Fatalf("records of %d machines, want 2", len(a.memory.records))
	}
	a.memory.machine = "m1"
	a.spec.Settings.Proof.Evidence = []string{"schemas/**"}
	a.wants(1, 1)
	a.spec.Settings.Verify.ReuseSecs = 0
	a.wants(2, 0)
}

// TestWhatIsNotBelieved: whatever a record says, a run of the commands decides
// where it is not of the very same, or of nobody knows when.
func TestWhatIsNotBelieved(t *testing.T) {
	for name, forge := range map[string]func(b work.ProvenBefore) work.ProvenBefore{
		"another key":     func(b work.ProvenBefore) work.ProvenBefore { b.Key += "x"; return b },
		"another tree":    func(b work.ProvenBefore) work.ProvenBefore { b.Tree += "x"; return b },
		"of no run":       func(b work.ProvenBefore) work.ProvenBefore { b.Run = ""; return b },
		"of no command":   func(b work.ProvenBefore) work.ProvenBefore { b.Command = ""; return b },
		"too old":         func(b work.ProvenBefore) work.ProvenBefore { b.At = b.At.AddDate(0, 0, -8); return b },
		"from the future": func(b work.ProvenBefore) work.ProvenBefore { b.At = b.At.AddDate(1, 0, 0); return b },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgain(t)
			a.wants(1, 1)
			a.memory.forged = forge
			a.wants(2, 0)
		})
	}
}

// TestRedStandsForNothing: neither a red verify nor a green one of the same, before
// or after it.
func TestRedStandsForNothing(t *testing.T) {
	a := newAgain(t)
	a.wants(1, 1)
	a.checks.moody = true
	a.spec.Fresh = true
	if ran, spared := a.next(work.RunCancelled); ran != 1 || spared != 0 {
		t.Fatalf("ran %d, spared %d", ran, spared)
	}
	a.checks.moody, a.spec.Fresh = false, false
	a.wants(2, 0)
	a.wants(2, 0)
}

// TestRecordsOfEvents: a record is written once the event is in the journal, and
// taken back before that.
func TestRecordsOfEvents(t *testing.T) {
	a := newAgain(t)
	a.wants(1, 1)
	for key, b := range a.memory.records {
		i := slices.IndexFunc(a.journal.Events, func(e work.Event) bool {
			var d work.VerifyFinishedData
			return e.Kind == work.VerifyFinished && work.Decode(e, &d) == nil && d.Key == key && d.ID == b.Command && e.Time.Equal(b.At)
		})
		if i < 0 || b.Run != "sim" {
			t.Errorf("%+v is of no event", b)
		}
	}
	// The journal cannot be written: nothing is remembered of what is not in it.
	a.memory.machine = "m2"
	a.journal.Events, a.journal.FailAt, a.journal.Appends = nil, 3, 0
	if _, err := a.run(context.Background()); err == nil {
		t.Fatal("the journal was full, and nobody said so")
	}
	for key := range a.memory.records {
		if strings.Contains(key, "m2") {
			t.Error("a proof is remembered that is not in the journal")
		}
	}
}
