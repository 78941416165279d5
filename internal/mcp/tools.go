package mcp

import "slices"

// tools are all tools, in the order in which a client is told of them.
func tools() []tool {
	return slices.Concat(readTools(), codeTools(), askTools(), agentTools(), boardTools())
}
