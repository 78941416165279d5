// Package narrate is events as sentences with their facts: what happened, and
// from what. Log, terminal and pages take their words from here.
package narrate
