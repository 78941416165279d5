// Package triage says what an issue wants, what it touches and what is to be
// done about it, each inferred by a model and confirmed by the policy or by a
// person. One thread per issue and attempt is a fold over events: Decide,
// Apply and Pending do no I/O, and Driver carries out what is pending.
package triage
