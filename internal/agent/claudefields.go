package agent

// What is read of Claude Code's events; everything else is skipped unseen.
const (
	claudeType field = 1 + iota
	claudeSubtype
	claudeSession
	claudeParent
	claudeError
	claudeMessageID
	claudeModel
	claudeInTokens
	claudeCacheWritten
	claudeCacheRead
	claudeOutTokens
	claudeBlock
	claudeBlockType
	claudeBlockText
	claudeBlockID
	claudeBlockTool
	claudeBlockCommand
	claudeBlockFile
	claudeBlockResultOf
	claudeResult
	claudeErrors
	claudeIsError
	claudeTerminal
	claudeStatus
	claudeAPIError
	claudeCost
	claudeResultIn
	claudeResultCacheWritten
	claudeResultCacheRead
	claudeResultOut
	claudeDenial
	claudeDeniedTool
	claudeDeniedCommand
	claudeDeniedFile
	claudeDelay
	claudeLimitStatus
	claudeLimitResets
	claudeBlockThought
	claudeBlockPattern
	claudeBlockQuery
	claudeBlockURL
	claudeBlockPath
	claudeBlockAbout
	claudeBlockResult
	claudeBlockResultText
	claudeBlockFailed
	claudeTime
	claudeCommand
	claudeState
	claudeReplay
	claudeOwnID
	claudeAsk
	claudeAskText
	claudeAskWhy
	claudeAskChoice
	claudeFieldCount
)

func claudeFields() map[string]field {
	return map[string]field{
		"type": claudeType, "subtype": claudeSubtype, "session_id": claudeSession,
		"parent_tool_use_id": claudeParent, "error": claudeError,
		"message.id": claudeMessageID, "message.model": claudeModel,
		"message.usage.input_tokens":                claudeInTokens,
		"message.usage.cache_creation_input_tokens": claudeCacheWritten,
		"message.usage.cache_read_input_tokens":     claudeCacheRead,
		"message.usage.output_tokens":               claudeOutTokens,
		"message.content[]":                         claudeBlock, "message.content[].type": claudeBlockType,
		"message.content[].text": claudeBlockText, "message.content[].id": claudeBlockID,
		"message.content[].name": claudeBlockTool, "message.content[].input.command": claudeBlockCommand,
		"message.content[].input.file_path": claudeBlockFile, "message.content[].tool_use_id": claudeBlockResultOf,
		"result": claudeResult, "errors[]": claudeErrors, "is_error": claudeIsError,
		"terminal_reason": claudeTerminal, "api_error_status": claudeStatus, "api_error": claudeAPIError,
		"total_cost_usd": claudeCost, "usage.input_tokens": claudeResultIn,
		"usage.cache_creation_input_tokens": claudeResultCacheWritten,
		"usage.cache_read_input_tokens":     claudeResultCacheRead, "usage.output_tokens": claudeResultOut,
		"permission_denials[]": claudeDenial, "permission_denials[].tool_name": claudeDeniedTool,
		"permission_denials[].tool_input.command":   claudeDeniedCommand,
		"permission_denials[].tool_input.file_path": claudeDeniedFile,
		"message.content[].thinking":                claudeBlockThought,
		"message.content[].input.pattern":           claudeBlockPattern,
		"message.content[].input.query":             claudeBlockQuery,
		"message.content[].input.url":               claudeBlockURL,
		"message.content[].input.path":              claudeBlockPath,
		"message.content[].input.description":       claudeBlockAbout,
		"message.content[].content":                 claudeBlockResult,
		"message.content[].content[].text":          claudeBlockResultText,
		"message.content[].is_error":                claudeBlockFailed,
		"timestamp":                                 claudeTime,
		"command_uuid":                              claudeCommand, "state": claudeState, "isReplay": claudeReplay, "uuid": claudeOwnID,
		"message.content[].input.questions[]":                 claudeAsk,
		"message.content[].input.questions[].question":        claudeAskText,
		"message.content[].input.questions[].header":          claudeAskWhy,
		"message.content[].input.questions[].options[].label": claudeAskChoice,
		"retry_delay_ms":         claudeDelay,
		"rate_limit_info.status": claudeLimitStatus, "rate_limit_info.resetsAt": claudeLimitResets,
	}
}
