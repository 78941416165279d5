// Package llm asks a model behind an OpenAI-compatible service for answers
// that are bound to a schema.
package llm
