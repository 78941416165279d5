// Package embedded drives runs in this process: with goroutines, under a lease,
// with answers from an inbox.
package embedded
