package agent

import (
	"cmp"

	"forge/internal/work"
)

// opencodeSteps is what an event of opencode tells of the conversation. A tool
// is told when it has ended, in one event.
func opencodeSteps(e event) []work.Step {
	switch e.text(opencodeType) {
	case "text":
		if e.find(opencodeSynthetic).kind == 't' {
			return nil
		}
		return e.says(work.StepSaid, false, opencodeText)
	case "reasoning":
		return e.says(work.StepThought, false, opencodeText)
	case "tool_use":
		s := work.Step{Kind: work.StepResult, ID: e.text(opencodeCall), Tool: e.text(opencodeTool), Failed: e.is(opencodeStatus, "error"),
			About: e.text(opencodeCommand, opencodeFile, opencodePattern), Text: e.text(opencodeOutput), Lines: e.find(opencodeOutput).lines()}
		if why := e.find(opencodeToolError); s.Failed && why.kind == '"' {
			s.Text, s.Lines = e.text(opencodeToolError), why.lines()
		}
		if began, ended := e.at(opencodeBegan), e.at(opencodeEnded); !began.IsZero() && ended.After(began) {
			s.Took = ended.Sub(began)
		}
		return []work.Step{s}
	case "step_finish":
		return spentMore(work.Usage{InputTokens: e.sum(opencodeIn, opencodeCacheRead, opencodeCacheWritten),
			OutputTokens: e.sum(opencodeOut, opencodeReasoning), CostUSD: e.usd(opencodeCost)})
	case "error":
		return notice(cmp.Or(e.text(opencodeErrorMessage), e.text(opencodeErrorSaid), e.text(opencodeErrorText), e.text(opencodeErrorName)))
	}
	return nil
}
