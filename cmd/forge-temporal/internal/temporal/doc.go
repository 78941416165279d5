// Package temporal drives runs on a Temporal server: one workflow for each run,
// which is the pure core and nothing else, and activities that do what it asks
// for. The journal stays the truth; the history of a workflow only schedules.
package temporal
