package cli

import (
	"slices"

	"forge/internal/work"
	"forge/orchestrator"
)

// prove takes what is known of the proof of p, whose number is n.
func (e *evidenceShown) prove(n string, p *orchestrator.Phase) {
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
