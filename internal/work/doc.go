// Package work holds the nouns of Forge: plans, phases, iterations, changes,
// checkpoints and events. It validates values and does no I/O.
package work
