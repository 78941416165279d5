// Package mcp is Forge for other programs by the Model Context Protocol: a project,
// or one run of it, as tools and resources, within what a token allows.
package mcp
