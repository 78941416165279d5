package gates

// StaleVerdict is what a phase does after an iteration.
type StaleVerdict string

// The verdicts.
const (
	StaleContinue StaleVerdict = "continue"
	StalePivot    StaleVerdict = "pivot"
	StaleStop     StaleVerdict = "stop"
	StaleAsk      StaleVerdict = "ask"
)

// DefaultPivotPrompt goes into the next iteration of a phase that pivots,
// unless autonomy.pivot_prompt replaces it.
const DefaultPivotPrompt = `The last several iterations brought this phase no further. Stop working on the current approach.
First write down the one root blocker: what exactly has kept the phase from moving, and how you know.
Then choose a fundamentally different approach that does not depend on that blocker, and carry it out. Do not repeat anything that the earlier iterations already tried.`

// StaleHandler counts the iterations of one phase that made no progress. It is
// a value: each phase has its own, made by NewStaleHandler and replaced by
// what Observe returns. Failed iterations are not observed.
type StaleHandler struct {
	Threshold int     `json:"threshold"` // iterations in a row; below 1 = off
	OnStale   OnStale `json:"on_stale"`  // anything but pivot_then_fail asks
	Count     int     `json:"count"`     // in a row, so far
	Pivoted   bool    `json:"pivoted"`   // the pivot was given in this phase
}

// NewStaleHandler is the handler of a phase that starts under p.
func NewStaleHandler(p Policy, threshold int) StaleHandler {
	return StaleHandler{Threshold: threshold, OnStale: p.StaleResponse()}
}

// Observe takes in one iteration and says what follows. Progress restarts the
// count, and so does every verdict but continue. With pivot_then_fail the
// first verdict of a phase is pivot and the second stop, whatever progress
// lies between them; with ask each one is ask. After stop the phase is over
// and there is nothing more to observe.
func (h StaleHandler) Observe(progress bool) (StaleHandler, StaleVerdict) {
	if progress || h.Threshold < 1 {
		h.Count = 0
		return h, StaleContinue
	}
	h.Count++
	if h.Count < h.Threshold {
		return h, StaleContinue
	}
	v := staleVerdict(h.OnStale, h.Pivoted)
	h.Count = 0
	h.Pivoted = h.Pivoted || v == StalePivot
	return h, v
}

// staleVerdict is the one answer to "no progress", for handler and strategy.
func staleVerdict(response OnStale, pivoted bool) StaleVerdict {
	switch {
	case response != PivotThenFail:
		return StaleAsk
	case pivoted:
		return StaleStop
	}
	return StalePivot
}

// ProgressTracker knows the best percentage that a phase has reported. The
// zero value is that of a phase that has reported nothing: a first report of 0
// is not above it and is no progress.
type ProgressTracker struct {
	Best float64 `json:"best"` // percent
}

// Observe says whether an iteration made progress: its tree differs from the
// one before, or it reported a percentage above the best so far. What is no
// percentage (outside 0 to 100, not a number) is passed over.
func (t ProgressTracker) Observe(changed bool, progress []float64) (ProgressTracker, bool) {
	for _, percent := range progress {
		if percent > t.Best && percent <= 100 {
			t.Best, changed = percent, true
		}
	}
	return t, changed
}
