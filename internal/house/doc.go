// Package house holds the rules of the house against the whole tree: which room
// imports which, what the documents name, which tests need real programs. It
// holds tests alone; they read files of all packages, so that nothing but
// their own results is lost when one of them changes.
package house
