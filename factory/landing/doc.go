// Package landing decides what becomes of the finished result of an issue: whether
// it is proven on its target, lands there, waits, or is gone on from by another run.
// It is a core like orchestrator: a fold over events, without I/O and clock.
package landing
