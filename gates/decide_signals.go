package gates

import "forge/internal/work"

// SignalsAnswer is the answer of DecideSignals: the tags in an agent's words,
// in the order of their appearance, without those that only a job knows.
type SignalsAnswer struct {
	Promises             []string               `json:"promises"`
	Progress             []float64              `json:"progress"` // percent
	Blockers             []string               `json:"blockers"`
	Pivots               []string               `json:"pivots"`
	SubPhases            []work.SubPhaseRequest `json:"subphases"`
	RequestDecomposition bool                   `json:"request_decomposition"`
}

// DecideSignals reads the tags in a text: {"text"} → SignalsAnswer.
func DecideSignals(in []byte) (any, error) {
	o, err := parseObject(in, "", "text")
	if err != nil {
		return nil, err
	}
	text, err := o.text("text")
	if err != nil {
		return nil, err
	}
	s := work.ParseSignals(text)
	return SignalsAnswer{
		Promises: listed(s.Promises), Progress: listed(s.Progress), Blockers: listed(s.Blockers),
		Pivots: listed(s.Pivots), SubPhases: listed(s.SubPhases), RequestDecomposition: s.RequestDecomposition,
	}, nil
}

// listed writes nothing as [], not as null.
func listed[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}
