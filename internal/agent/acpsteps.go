package agent

import (
	acp "github.com/coder/acp-go-sdk"

	"forge/internal/work"
)

// acpSteps is what a message of an ACP server tells of the conversation.
func acpSteps(e event) []work.Step {
	if !e.is(acpMethod, acp.ClientMethodSessionUpdate) {
		return notice(e.text(acpErrorMessage))
	}
	switch e.text(acpUpdateKind) {
	case "agent_message_chunk":
		steps := e.says(work.StepSaid, true, acpText)
		for i := range steps {
			steps[i].Aside = e.find(acpParent).kind == '"'
		}
		return steps
	case "agent_thought_chunk":
		return e.says(work.StepThought, true, acpText)
	case "tool_call", "tool_call_update":
		return acpCall(e)
	case "usage_update":
		if e.is(acpCostCurrency, "USD") {
			return spent(work.Usage{CostUSD: e.usd(acpCostAmount)})
		}
	}
	return nil
}

// acpCall reads what a call has come to. Servers tell it as often as they like.
func acpCall(e event) []work.Step {
	s := work.Step{Kind: work.StepCall, ID: e.text(acpCallID), Tool: e.text(acpCallTitle, acpCallKind), About: e.text(acpCallCommand, acpCallFile)}
	if s.About == s.Tool {
		s.About = ""
	}
	switch e.text(acpCallStatus) {
	case "completed", "failed":
		s.Kind, s.Failed = work.StepResult, e.is(acpCallStatus, "failed")
		s.Text, s.Lines = e.all(acpCallResult)
		if s.Text == "" {
			s.Text, s.Lines = e.text(acpCallOutput), e.find(acpCallOutput).lines()
		}
	case "":
		if s.Tool == "" && s.About == "" {
			return nil
		}
	}
	return []work.Step{s}
}
