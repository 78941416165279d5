//go:build race

package main

// underRace: the race detector keeps a shadow of all memory.
const underRace = true
