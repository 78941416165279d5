package approval

import (
	"slices"

	"forge/internal/work"
	"forge/orchestrator"
)

// Evidence is what is known about the proof of what is judged.
type Evidence struct {
	Verify    *work.VerifyFinishedData `json:"verify"`    // the last one before the question; null = none
	Protected []string                 `json:"protected"` // protected files that the phase touched
	Gone      []string                 `json:"gone"`      // test files of the base that are missing
	// Proofs says of each done phase what its "done" rests on, where the run
	// as a whole is judged.
	Proofs map[string]work.Proof `json:"proofs,omitempty"`
	// Records are the last proofs by phase, Doubts what is in doubt about them.
	Records map[string]work.ProofRecord `json:"records,omitempty"`
	Doubts  []work.Doubt                `json:"doubts,omitempty"`
}

// prove takes what is known of the proof of p, whose number is n.
func (e *Evidence) prove(n string, p *orchestrator.View) {
	if !p.Record.Known() {
		return
	}
	if e.Records == nil {
		e.Records = map[string]work.ProofRecord{}
	}
	e.Records[n] = p.Record
	for _, path := range p.Record.PutBack {
		if !slices.Contains(e.Protected, path) && !slices.Contains(e.Gone, path) {
			e.Protected = append(e.Protected, path)
		}
	}
}
