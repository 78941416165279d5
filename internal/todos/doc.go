// Package todos reads the todos of a job.
package todos
