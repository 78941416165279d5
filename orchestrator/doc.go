// Package orchestrator drives the phases of a run. Its core is three pure
// functions over events: Decide says what follows from an input, Apply folds
// an event into the state, Pending says what is to be done now. The Driver
// carries the commands out and feeds the results back as inputs.
package orchestrator
