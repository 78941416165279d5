// Package eval says how good reviewers and the arbiter are: it reads cases
// whose right answer is known, holds what was said against it, and compares two
// of such trials. It asks nobody by itself and stores nothing.
package eval
