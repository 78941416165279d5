package agent

import (
	"forge/internal/work"
)

// scriptSteps is what an event of a scripted agent tells of the conversation.
// Its tools have no names: the one that began last ends first.
func scriptSteps(e event) []work.Step {
	switch e.text(scriptType) {
	case "text":
		return e.says(work.StepSaid, false, scriptText)
	case "tool":
		return []work.Step{{Kind: work.StepCall, Tool: "tool", About: e.text(scriptText)}}
	case "tool_end":
		return []work.Step{{Kind: work.StepResult}}
	case "usage":
		return spentMore(work.Usage{InputTokens: e.number(scriptInput), OutputTokens: e.number(scriptOutput), CostUSD: e.usd(scriptCost)})
	case "denied":
		return notice("not allowed: " + e.text(scriptText))
	case "outage":
		return notice("the script reports an outage")
	case "lost":
		return notice("the script has lost its session")
	case "failed":
		return notice(e.text(scriptText))
	}
	return nil
}
