// Package orchestrator decides about the phases of a run. It is pure: three
// functions over events, Decide says what follows from an input, Apply folds an
// event into the state, Pending says what is to be done now; and EffectOf makes
// a plain value of what carrying out a command takes.
package orchestrator
