// Package jobs is a job's beginning and end here, and its documents.
package jobs
