package agent

import (
	"forge/internal/work"
)

// geminiSteps is what an event of Gemini tells of the conversation.
func geminiSteps(e event) []work.Step {
	switch e.text(geminiType) {
	case "message":
		if e.is(geminiRole, "assistant") {
			return e.says(work.StepSaid, e.find(geminiDelta).kind == 't', geminiContent)
		}
	case "tool_use":
		return []work.Step{{Kind: work.StepCall, ID: e.text(geminiToolID), Tool: e.text(geminiTool), At: e.at(geminiTime),
			About: e.text(geminiCommand, geminiFile, geminiPattern, geminiQuery, geminiPath)}}
	case "tool_result":
		s := work.Step{Kind: work.StepResult, ID: e.text(geminiToolID), Failed: e.is(geminiStatus, "error"), At: e.at(geminiTime)}
		s.Text, s.Lines = e.text(geminiOutput, geminiErrorMessage), e.find(geminiOutput, geminiErrorMessage).lines()
		return []work.Step{s}
	case "error":
		return notice(e.text(geminiMessage))
	case "result":
		out := spent(work.Usage{InputTokens: e.number(geminiIn), OutputTokens: e.number(geminiOut)})
		if e.is(geminiStatus, "error") {
			out = append(out, notice(e.text(geminiErrorMessage))...)
		}
		return out
	}
	return nil
}
