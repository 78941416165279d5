package agent

import (
	"strings"

	"forge/internal/work"
)

// codexSteps is what an event of Codex tells of the conversation.
func codexSteps(e event) []work.Step {
	id, kind := e.text(codexItemID), codexItemKind(e.text(codexItemType))
	tool, about, isTool := codexTool(e.text)
	switch strings.ReplaceAll(e.text(codexType), "/", ".") {
	case "item.started":
		if isTool {
			return []work.Step{{Kind: work.StepCall, ID: id, Tool: tool, About: about}}
		}
	case "item.completed":
		switch {
		case kind == "agent_message":
			return e.says(work.StepSaid, false, codexItemText)
		case kind == "reasoning":
			return e.says(work.StepThought, false, codexItemText)
		case kind == "error":
			return notice(e.text(codexItemMessage))
		case isTool:
			return []work.Step{codexResult(e, id, tool, about)}
		}
	case "error":
		return notice(e.text(codexMessage))
	case "turn.completed", "thread.tokenUsage.updated":
		if why := e.text(codexFailure); why != "" {
			return notice(why)
		}
		return spent(work.Usage{InputTokens: e.number(codexInTokens), OutputTokens: e.number(codexOutTokens)})
	case "turn.failed":
		return notice(e.text(codexFailure))
	}
	return nil
}

func codexResult(e event, id, tool, about string) work.Step {
	s := work.Step{Kind: work.StepResult, ID: id, Tool: tool, About: about}
	out := e.find(codexItemOutput)
	s.Text, s.Lines = e.text(codexItemOutput), out.lines()
	if out.kind == 0 {
		s.Text, s.Lines = e.all(codexItemResult)
	}
	if why := e.text(codexItemError); why != "" {
		s.Text, s.Lines = why, 1
	}
	switch e.text(codexItemStatus) {
	case "failed", "declined":
		s.Failed = true
	}
	return s
}
