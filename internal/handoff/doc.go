// Package handoff moves a run between machines: its record at a remote, who
// works on it, and what a machine refuses of a run that began elsewhere.
package handoff
