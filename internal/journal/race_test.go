//go:build race

package journal

// underRace: the race detector slows SQLite down tenfold; what repeats itself
// repeats less.
const underRace = true
