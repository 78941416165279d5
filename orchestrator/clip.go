package orchestrator

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"forge/internal/work"
)

// maxOutput is how much of a failing command's output an event carries; the
// whole is in the log file.
const maxOutput = 6 << 10

// clipText keeps the first n bytes of valid text.
func clipText(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	cut := n
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// clipMiddle keeps the beginning and the end: the cause of a failure stands
// in one of them.
func clipMiddle(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	head, tail := n/3, len(text)-(n-n/3)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:head], tail-head, text[tail:])
}

func clipList(list []string, most, each int) []string {
	var out []string
	for i, text := range list {
		if i == most {
			return append(out, fmt.Sprintf("… and %d more", len(list)-most))
		}
		out = append(out, clipText(text, each))
	}
	return out
}

// clipSignals keeps an event within its size. Sub-phases are left out whole,
// never cut: a promise that lost its end would be another promise.
func clipSignals(sig work.Signals) work.Signals {
	sig.Promises = clipList(sig.Promises, 3, 300)
	sig.Blockers = clipList(sig.Blockers, 5, 300)
	sig.Pivots = clipList(sig.Pivots, 3, 300)
	sig.Problems = clipList(sig.Problems, 5, 200)
	sig.Checkpoints, sig.JobComplete = nil, nil
	if n := len(sig.Progress); n > 10 {
		sig.Progress = sig.Progress[n-10:]
	}
	var kept []work.SubPhaseRequest
	for _, r := range sig.SubPhases {
		if len(kept) == maxSubPhases || len(r.Name)+len(r.Promise)+len(r.Reasoning) > 700 {
			sig.Problems = append(sig.Problems, fmt.Sprintf("sub-phase %q left out: too many, or its texts have more than 700 bytes", clipText(r.Name, 60)))
			continue
		}
		kept = append(kept, r)
	}
	sig.SubPhases = kept
	return sig
}
