// Package companion is who is talked to about a piece of work: a model that reads
// with the tools of MCP, answers, and proposes changes that a person confirms.
package companion
