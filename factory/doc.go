// Package factory is the board that does the work: which moves an issue may
// make and who may make them, the order within a column, what may be claimed,
// and where a finished run's issue goes. The rules are pure; Board carries a
// person's changes out on a store that it declares.
package factory
