// Package runs is the life of a run: what drives it on this machine, what its
// journal is held against when it is taken up, and what is tidied and told when
// it ends.
package runs
