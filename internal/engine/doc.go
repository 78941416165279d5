// Package engine says what drives a run: what an engine does, and what it is
// given to do it with.
package engine
