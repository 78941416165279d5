package agent

import (
	"forge/internal/text"
	"forge/internal/work"
)

// execSteps is what a line of an agent tells that prints words and nothing else.
func execSteps(line []byte) []work.Step {
	if u := execUsage(line).Clean(); u != (work.Usage{}) {
		return spent(u)
	}
	line = append(line[:len(line):len(line)], '\n')
	return []work.Step{{Kind: work.StepSaid, Text: text.Cut(string(line[:min(len(line), stepBytes)]), stepBytes), Lines: 2, Part: true}}
}
