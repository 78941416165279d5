// Package factory is the board that does the work: which moves an issue may
// make and who may make them, the order within a column, what may be claimed,
// and where an issue goes when its run was left. The rules are pure; Board
// carries a person's changes out on a store that it declares, and Loop claims
// issues and brings them to done, or to a person.
package factory
