// Package report is what a person reads of a run, a job, a checkpoint and an
// issue: as values for JSON, as text for a terminal, and for the log of CI.
package report
