package agent

import (
	"forge/internal/work"
)

// claudeSteps is what an event of Claude Code tells of the conversation.
func claudeSteps(e event) []work.Step {
	switch e.text(claudeType) {
	case "assistant":
		return claudeMessage(e)
	case "user":
		return claudeResults(e)
	case "system":
		if e.is(claudeSubtype, "api_retry") {
			return notice("trying again after: " + e.text(claudeError))
		}
	case "rate_limit_event":
		if e.is(claudeLimitStatus, "rejected") {
			return notice("the provider's limit is reached")
		}
	case "result":
		return claudeResultSteps(e)
	}
	return nil
}

// blocks are the blocks of a message, each as an event of its own.
func (e event) blocks(begins field) []event {
	var out []event
	for i, v := range e {
		switch {
		case v.field == begins && v.kind == '{':
			out = append(out, e[i+1:i+1])
		case len(out) > 0:
			last := &out[len(out)-1]
			*last = append(*last, v)
		}
	}
	return out
}

func claudeMessage(e event) []work.Step {
	if e.find(claudeError).kind == '"' || e.is(claudeModel, "<synthetic>") {
		// The program speaks, not the model.
		for _, b := range e.blocks(claudeBlock) {
			if b.is(claudeBlockType, "text") {
				return notice(b.text(claudeBlockText))
			}
		}
		return notice(e.text(claudeError))
	}
	aside := e.find(claudeParent).kind == '"'
	var out []work.Step
	for _, b := range e.blocks(claudeBlock) {
		var of []work.Step
		switch b.text(claudeBlockType) {
		case "text":
			of = b.says(work.StepSaid, false, claudeBlockText)
		case "thinking":
			of = b.says(work.StepThought, false, claudeBlockThought)
		case "tool_use", "server_tool_use":
			of = []work.Step{{Kind: work.StepCall, ID: b.text(claudeBlockID), Tool: b.text(claudeBlockTool), About: b.text(claudeBlockCommand,
				claudeBlockFile, claudeBlockPattern, claudeBlockQuery, claudeBlockURL, claudeBlockPath, claudeBlockAbout)}}
		}
		for _, s := range of {
			s.Aside, s.At = aside, e.at(claudeTime)
			out = append(out, s)
		}
	}
	return out
}

func claudeResults(e event) []work.Step {
	var out []work.Step
	for _, b := range e.blocks(claudeBlock) {
		if !b.is(claudeBlockType, "tool_result") {
			continue
		}
		result := b.find(claudeBlockResult)
		said, lines := b.text(claudeBlockResult), result.lines()
		if result.kind != '"' {
			said, lines = b.all(claudeBlockResultText)
		}
		out = append(out, work.Step{
			Kind: work.StepResult, ID: b.text(claudeBlockResultOf), Text: said, Lines: lines,
			Failed: b.find(claudeBlockFailed).kind == 't', Aside: e.find(claudeParent).kind == '"', At: e.at(claudeTime),
		})
	}
	return out
}

func claudeResultSteps(e event) []work.Step {
	out := spent(work.Usage{
		InputTokens:  e.sum(claudeResultIn, claudeResultCacheWritten, claudeResultCacheRead),
		OutputTokens: e.number(claudeResultOut), CostUSD: e.usd(claudeCost),
	})
	for _, d := range e.blocks(claudeDenial) {
		call := claudeCall{tool: d.text(claudeDeniedTool), about: d.text(claudeDeniedCommand, claudeDeniedFile)}
		out = append(out, notice("not allowed: "+call.String())...)
	}
	if e.find(claudeIsError).kind == 't' {
		why, _ := e.all(claudeErrors)
		if why == "" {
			why = e.text(claudeResult, claudeSubtype)
		}
		out = append(out, notice(why)...)
	}
	return out
}
