// Package draft has a project's agent draft its plan, and says what is wrong
// with the draft and what it may cost.
package draft
