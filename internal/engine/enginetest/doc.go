// Package enginetest is the conformance suite of engines, and what it takes to
// hold one against it: a journal in memory, processes, effects by a script.
package enginetest
