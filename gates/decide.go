package gates

import (
	"bytes"
	"encoding/json"
	"fmt"

	"forge/internal/text"
)

// DecideError says why a line cannot be answered. As JSON it is the answer to
// that line.
type DecideError struct {
	Code    string `json:"error"` // one of the codes below
	Message string `json:"message"`
}

// The codes.
const (
	CodeUnknownKind  = "unknown_kind"
	CodeBadJSON      = "bad_json" // not one JSON object in UTF-8, or a field twice
	CodeUnknownField = "unknown_field"
	CodeMissingField = "missing_field"
	CodeBadValue     = "bad_value" // null, another type, or out of range
)

func (e *DecideError) Error() string { return e.Code + ": " + e.Message }

func decideError(code, format string, args ...any) error {
	return &DecideError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// DecideKinds lists the kinds of question that DecideLine answers, sorted.
func DecideKinds() []string {
	return []string{"advance", "checkpoint", "effective", "freeze", "level", "override", "resume", "signals", "stale", "subphase"}
}

// DecideLine answers one line of `forge decide <kind>`: a JSON object in, one
// out, without a line end. It asks the functions that a run uses, and reads
// nothing but the line. Errors are *DecideError.
func DecideLine(kind string, line []byte) ([]byte, error) {
	decide, ok := map[string]func([]byte) (any, error){
		"advance":    DecideAdvance,
		"checkpoint": DecideCheckpoint,
		"effective":  DecideEffective,
		"freeze":     DecideFreeze,
		"level":      DecideLevel,
		"override":   DecideOverride,
		"resume":     DecideResume,
		"signals":    DecideSignals,
		"stale":      DecideStale,
		"subphase":   DecideSubPhase,
	}[kind]
	if !ok {
		return nil, decideError(CodeUnknownKind, "unknown kind %q: %s", text.Clip(kind, mostQuoted), didYouMean(kind, DecideKinds()))
	}
	answer, err := decide(line)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // a promise with < in it reads as it was said
	if err := enc.Encode(answer); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// StaleAnswer is the answer of DecideStale.
type StaleAnswer struct {
	Decisions []StaleVerdict `json:"decisions"` // one per iteration, up to a stop
	Stopped   bool           `json:"stopped"`
	Pivots    int            `json:"pivots"`
}

// DecideStale runs the stale check over the iterations of one phase:
// {"threshold","mode","iterations":[{"changed","progress"?}]} → StaleAnswer.
// mode is autonomous or interactive; progress is a percentage.
func DecideStale(in []byte) (any, error) {
	o, err := parseObject(in, "", "threshold", "mode", "iterations")
	if err != nil {
		return nil, err
	}
	threshold, err := o.whole("threshold")
	if err != nil {
		return nil, err
	}
	if threshold < 0 {
		return nil, decideError(CodeBadValue, "threshold is %d: want 0 (off) or more", threshold)
	}
	mode, err := o.text("mode")
	if err != nil {
		return nil, err
	}
	h := StaleHandler{Threshold: threshold}
	switch mode {
	case "autonomous":
		h.OnStale = PivotThenFail
	case PresetInteractive:
		h.OnStale = AskOnStale
	default:
		return nil, decideError(CodeBadValue, "mode is %q: want autonomous or interactive", text.Clip(mode, mostQuoted))
	}
	iterations, err := o.list("iterations")
	if err != nil {
		return nil, err
	}
	type seen struct {
		changed  bool
		progress []float64
	}
	all := make([]seen, len(iterations)) // the whole line is read before any of it is judged
	for i, raw := range iterations {
		if all[i].changed, all[i].progress, err = parseIteration(raw, fmt.Sprintf("iterations[%d]", i)); err != nil {
			return nil, err
		}
	}

	answer := StaleAnswer{Decisions: []StaleVerdict{}}
	var tracker ProgressTracker
	for _, it := range all {
		var progress bool
		var v StaleVerdict
		tracker, progress = tracker.Observe(it.changed, it.progress)
		h, v = h.Observe(progress)
		answer.Decisions = append(answer.Decisions, v)
		if v == StalePivot {
			answer.Pivots++
		}
		if v == StaleStop {
			answer.Stopped = true
			break
		}
	}
	return answer, nil
}

func parseIteration(raw []byte, path string) (changed bool, progress []float64, err error) {
	o, err := parseObject(raw, path, "changed", "progress")
	if err != nil {
		return false, nil, err
	}
	if changed, err = o.boolean("changed"); err != nil || !o.has("progress") {
		return changed, nil, err
	}
	percent, err := o.number("progress")
	if err != nil {
		return false, nil, err
	}
	if percent < 0 || percent > 100 {
		return false, nil, decideError(CodeBadValue, "%s is %v: want a percentage from 0 to 100", o.at("progress"), percent)
	}
	return changed, []float64{percent}, nil
}

// SubPhaseAnswer is the answer of DecideSubPhase.
type SubPhaseAnswer struct {
	Decision string `json:"decision"` // approve or reject
}

// DecideSubPhase asks whether an unattended run spawns a sub-phase:
// {"requested","remaining"} → SubPhaseAnswer, both in iterations.
func DecideSubPhase(in []byte) (any, error) {
	o, err := parseObject(in, "", "requested", "remaining")
	if err != nil {
		return nil, err
	}
	var f SubPhaseFacts
	if f.Requested, err = o.whole("requested"); err != nil {
		return nil, err
	}
	if f.Remaining, err = o.whole("remaining"); err != nil {
		return nil, err
	}
	s := Autonomous{Policy{Gates: map[Point]Mode{PointSubPhase: Auto}}}
	if s.MaySpawn(f).Verdict == Go {
		return SubPhaseAnswer{"approve"}, nil
	}
	return SubPhaseAnswer{"reject"}, nil
}
