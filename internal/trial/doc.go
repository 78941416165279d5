// Package trial measures the reviewers and the arbiter of a project: it asks
// them about the cases of internal/eval, within [cost], and stores each answer.
package trial
