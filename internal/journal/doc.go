// Package journal keeps what Forge must not lose, in one SQLite file and a
// folder of blobs: the append-only, hash-chained events of every run, leases
// that let one process append at a time, checkpoints with their answers, and
// rows that may be dropped and made again. docs/storage.md states the
// invariants.
package journal
