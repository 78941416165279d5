//go:build !race

package pace

// Race says that the race detector watches. It keeps a shadow of all memory,
// and everything takes several times as long.
const Race = false
