//go:build race

package e2e

// underRace: the race detector keeps a shadow of all memory.
const underRace = true
