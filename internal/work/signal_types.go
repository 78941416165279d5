package work

import "encoding/json"

// Signals are the tags found in an agent's words, in the order of their
// appearance.
type Signals struct {
	Promises             []string          `json:"promises"`
	Progress             []float64         `json:"progress"` // percent, 0 to 100
	Blockers             []string          `json:"blockers"`
	Pivots               []string          `json:"pivots"`
	SubPhases            []SubPhaseRequest `json:"subphases"`
	RequestDecomposition bool              `json:"request_decomposition"`
	Checkpoints          []json.RawMessage `json:"checkpoints,omitempty"`
	JobComplete          []json.RawMessage `json:"job_complete,omitempty"`
	// Problems are tags that could not be used, each in one line: they are
	// fed back to the agent and never guessed at.
	Problems []string `json:"problems,omitempty"`
}

// SubPhaseRequest is the body of <spawn-subphase>.
type SubPhaseRequest struct {
	Name      string `json:"name"`
	Promise   string `json:"promise"`
	Budget    int    `json:"budget"`
	Reasoning string `json:"reasoning,omitempty"`
}
